"""`lm-eval-bias data`: fetch the data that the papers' authors released."""

import argparse
import os

from lm_eval_bias.data import downloads, sources
from lm_eval_bias.usage import UsageError, nearest

DESCRIPTION = """Fetch the data of tasks with `official` in their name, which a paper's authors
released. A run fetches missing data itself, unless the machine has no network.

What is missing or differs from the pinned commit is fetched and checked; a line says where each
file is.

Files are kept in $XDG_CACHE_HOME/lm-eval-bias, by default ~/.cache/lm-eval-bias.
$LM_EVAL_BIAS_DATA names a folder with SOURCE/FILE to use instead, $LM_EVAL_BIAS_MIRROR a server
with the same files at the same paths."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", metavar="fetch", choices=["fetch"], help="the only action")
    parser.add_argument(
        "sources", metavar="SOURCE", nargs="*", help="such as hbb; all if none is named"
    )


def run(arguments: argparse.Namespace) -> int:
    known = sources.names()
    for name in arguments.sources:
        if name not in known:
            raise UsageError(f"no source {name!r}; {nearest(name, known)}")
    wanted = arguments.sources or known
    releases = [sources.source(name) for name in known if name in wanted]
    fetch(releases)
    return 0


def fetch(releases: list[sources.Source]) -> None:
    """Fetch what is missing. UsageError at the first that fails; what there is of it is kept."""
    if local := os.environ.get(sources.LOCAL):
        raise UsageError(
            f"{sources.LOCAL} is set, so the tasks read the files in {local} and nothing is "
            "fetched; unset it to fetch them"
        )
    for release in releases:
        for file, about in release.files.items():
            there = downloads.is_kept(release.folder() / file, about.sha256)
            kept = sources.official_file(release.name, file)
            done = "is there already" if there else "fetched"
            size = f"{kept.stat().st_size:,} bytes"
            print(f"{release.name}/{file}: {done}, {size}, {kept}", flush=True)
