"""`lm-eval-bias data`: the data that the authors of the papers released, fetched before a run,
listed, and checked."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lm_eval_bias.commands import declare
from lm_eval_bias.commands.tasks import aligned
from lm_eval_bias.data import downloads, sources
from lm_eval_bias.usage import UsageError, nearest

ACTIONS = ("fetch", "list", "verify")
UNVERIFIED = "unverified: no checksum is known"


def add(commands: Any) -> None:
    parser = declare(
        commands,
        "data",
        "fetch, list or verify the data that authors released",
        "The tasks with `official` in their name ask what the authors of a paper released. A run "
        "fetches it when it is missing; this command does so before, for example for a machine "
        "without a network.\n\n"
        "  fetch   get what is missing from the pinned commit and check it; continues an earlier call\n"
        "  list    the files of each source, their sizes, and where they are kept\n"
        "  verify  compare the checksums; the exit status is 1 if a file differs or is missing\n\n"
        "A file whose checksum is unknown is fetched last, kept with the checksum that it has, and "
        "called unverified. Files are kept in the folder lm-eval-bias of $XDG_CACHE_HOME, by "
        "default ~/.cache. $LM_EVAL_BIAS_DATA names a folder with SOURCE/FILE in it that is used "
        "instead; $LM_EVAL_BIAS_MIRROR a server that has the same files at the same paths.",
    )
    parser.add_argument("action", metavar="ACTION", choices=ACTIONS, help=", ".join(ACTIONS))
    parser.add_argument(
        "sources",
        metavar="SOURCE",
        nargs="*",
        help="of these only, such as hbb; all if none is named",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    known = sources.names()
    for name in arguments.sources:
        if name not in known:
            raise UsageError(f"no source {name!r}; {nearest(name, known)}")
    chosen = [
        sources.source(name) for name in known if name in arguments.sources or not arguments.sources
    ]
    return {"fetch": fetch, "list": listing, "verify": verify}[arguments.action](chosen)


def fetch(chosen: list[sources.Source]) -> int:
    """Fetches what is missing, one file after the other. UsageError at the first that cannot be
    had; what there is of it is kept."""
    if local := os.environ.get(sources.LOCAL):
        raise UsageError(
            f"{sources.LOCAL} is set, so the tasks read the files in {local} and nothing is fetched; unset it to fetch them"
        )
    files = [(release, file, about) for release in chosen for file, about in release.files.items()]
    # Nobody here has seen those without a checksum: that one of them cannot be had is to keep
    # nobody from the others.
    for release, file, about in sorted(files, key=lambda each: each[2].sha256 is None):
        there = downloads.is_kept(release.folder() / file, about.sha256)
        try:
            with bar(f"{release.name}/{file}", about.bytes) as told:
                kept = sources.official_file(release.name, file, told)
        except KeyboardInterrupt:
            raise UsageError(
                "interrupted; run the command again, which goes on where it stopped"
            ) from None
        done = "is there already" if there else "fetched"
        unverified = "" if about.sha256 else f", {UNVERIFIED}"
        print(
            f"{release.name}/{file}: {done}, {kept.stat().st_size:,} bytes, {kept}{unverified}",
            flush=True,
        )
    return 0


@contextmanager
def bar(name: str, size: int | None) -> Iterator[downloads.Told]:
    """A progress bar on a terminal, from the first byte that comes until the end."""
    from tqdm import tqdm

    bars: list[Any] = []

    def told(there: int, total: int | None) -> None:
        if not bars:
            bars.append(
                tqdm(
                    desc=name,
                    total=size,
                    unit="B",
                    unit_scale=True,
                    initial=there,
                    disable=None,
                    leave=False,
                )
            )
        bars[0].total = total or size
        bars[0].update(there - bars[0].n)

    try:
        yield told
    finally:
        for each in bars:
            each.close()


def listing(chosen: list[sources.Source]) -> int:
    """Prints each source, where its files are looked for, and each file with its size and whether
    it is there."""
    for release in chosen:
        missing = sum(not (release.folder() / file).is_file() for file in release.files)
        size = sum(about.bytes or 0 for about in release.files.values())
        unknown = sum(about.bytes is None for about in release.files.values())
        print(
            f"{release.name}: {release.repository} on GitHub, commit {release.commit[:8]}; {count(len(release.files))}, {size:,} bytes"
            + (f" and {count(unknown)} of unknown size" if unknown else "")
        )
        print(f"  {release.folder()}" + (f": {missing} missing" if missing else ""))
        rows = [
            (
                f"  {file}",
                "?" if about.bytes is None else f"{about.bytes:,}",
                state(release.folder() / file, about),
            )
            for file, about in release.files.items()
        ]
        print(aligned(rows, right={1}))
    return 0


def state(path: Path, about: sources.File) -> str:
    """Whether a file is there, judged by its size alone."""
    if path.is_file():
        size = path.stat().st_size
        if about.bytes is None:
            return f"kept, {size:,} bytes, {UNVERIFIED}"
        return "kept" if size == about.bytes else f"has {size:,} bytes: not this file"
    begun = downloads.begun(path)
    if not os.environ.get(sources.LOCAL) and begun.is_file() and (size := begun.stat().st_size):
        return f"begun, {size:,} bytes"
    return "missing"


def verify(chosen: list[sources.Source]) -> int:
    """Prints for each file whether it is the released one; 1 if any is not."""
    rows, wrong = [], 0
    for release in chosen:
        for file, about in release.files.items():
            path = release.folder() / file
            found, right = compared(path, about)
            wrong += not right
            own = f", sha256 {downloads.sha256(path)}" if found == UNVERIFIED else ""
            rows.append((f"{release.name}/{file}", found, f"{path}{own}"))
    print(aligned(rows))
    if wrong:
        cure = (
            f"put them into {os.environ[sources.LOCAL]}"
            if os.environ.get(sources.LOCAL)
            else "run: lm-eval-bias data fetch"
        )
        print(f"{wrong} of {count(len(rows))} missing or another than released; {cure}")
    return 1 if wrong else 0


def compared(path: Path, about: sources.File) -> tuple[str, bool]:
    """What the checksum of a file says, and whether it may be used."""
    if not path.is_file():
        return "missing", False
    if about.sha256 is not None:
        right = downloads.has_checksum(path, about.sha256)
        return "ok" if right else "differs", right
    if os.environ.get(sources.LOCAL) or downloads.is_kept(path, None):
        return UNVERIFIED, True
    return "differs from what was fetched", False


def count(files: int) -> str:
    """A number of files in words."""
    return f"{files} file{'' if files == 1 else 's'}"
