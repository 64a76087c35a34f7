"""The authors' released data: fetched from a pinned commit, checked, and kept. Nothing of it is part of this package."""

from __future__ import annotations

import os
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import NamedTuple

from lm_eval_bias.downloads import cache_folder, has_checksum
from lm_eval_bias.items import lexicon
from lm_eval_bias.usage import UsageError

ADDRESS = "https://raw.githubusercontent.com/{repository}/{commit}/{path}"
LOCAL = "LM_EVAL_BIAS_DATA"


class Source(NamedTuple):
    """One release. files: the name of each file -> its path in the repository and its sha256."""

    name: str
    repository: str
    commit: str
    files: dict[str, tuple[str, str]]


def source(name: str) -> Source:
    """The release that `items/sources.yaml` has under a name."""
    entry = lexicon("sources")[name]
    return Source(name, entry["repository"], entry["commit"], {f["name"]: (f["path"], f["sha256"]) for f in entry["files"]})


def official_file(name: str, file: str) -> Path:
    """A file of a release, its checksum verified.

    Looked for in $LM_EVAL_BIAS_DATA/NAME/ if that is set, and there alone; else in the cache, to which it is downloaded when missing.
    Raises UsageError, which says what to do, if it cannot be had or is another one than expected.
    """
    release = source(name)
    path, sha256 = release.files[file]
    if folder := os.environ.get(LOCAL):
        local = Path(folder, name, file)
        if not local.is_file():
            raise UsageError(f"{local} is missing; {LOCAL} must be a folder with {name}/{file} in it, or be unset")
        if not has_checksum(local, sha256):
            raise UsageError(f"{local} is not the file that the authors released at commit {release.commit[:8]}: its checksum differs")
        return local
    kept = cache_folder() / "official" / name / release.commit / file
    if has_checksum(kept, sha256):
        return kept
    address = ADDRESS.format(repository=release.repository, commit=release.commit, path=urllib.parse.quote(path))
    try:
        with urllib.request.urlopen(address, timeout=60) as response:
            content = response.read()
    except (urllib.error.URLError, OSError) as error:
        raise UsageError(
            f"cannot download {address} ({getattr(error, 'reason', error)}); check the network, or put the file into a folder "
            f"as {name}/{file} and set {LOCAL} to that folder"
        ) from error
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
        fetched = Path(folder, file)
        fetched.write_bytes(content)
        if not has_checksum(fetched, sha256):
            raise UsageError(f"{address} has another checksum than expected; do not use it, and run the command again")
        fetched.replace(kept)
    return kept
