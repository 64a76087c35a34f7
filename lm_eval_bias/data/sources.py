"""The authors' released data: fetched from a pinned commit, checked, and kept. Nothing of it is
part of this package."""

from __future__ import annotations

import os
import urllib.parse
from pathlib import Path
from typing import NamedTuple

from lm_eval_bias.data import downloads
from lm_eval_bias.data.downloads import cache_folder, has_checksum, is_kept
from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.usage import UsageError

SERVER = "https://raw.githubusercontent.com"
ADDRESS = "{server}/{repository}/{commit}/{path}"
LOCAL = "LM_EVAL_BIAS_DATA"
MIRROR = "LM_EVAL_BIAS_MIRROR"


class File(NamedTuple):
    """One file of a release. path: in the repository. bytes: its size. Size and checksum are None
    where the file was never seen here."""

    path: str
    bytes: int | None
    sha256: str | None


class Source(NamedTuple):
    """One release. files: by the name under which each is kept."""

    name: str
    repository: str
    commit: str
    files: dict[str, File]

    def address(self, file: str) -> str:
        """Where a file is fetched: the server at which it was published, or the one that
        $LM_EVAL_BIAS_MIRROR names."""
        server = (os.environ.get(MIRROR) or SERVER).rstrip("/")
        path = urllib.parse.quote(self.files[file].path)
        return ADDRESS.format(
            server=server, repository=self.repository, commit=self.commit, path=path
        )

    def folder(self) -> Path:
        """Where its files are looked for: $LM_EVAL_BIAS_DATA/NAME if that is set, and there alone,
        else the cache."""
        if local := os.environ.get(LOCAL):
            return Path(local, self.name)
        return cache_folder() / "official" / self.name / self.commit


def names() -> list[str]:
    """All releases, in the order of `items/sources.yaml`."""
    return list(lexicon("sources"))


def source(name: str) -> Source:
    """The release that `items/sources.yaml` has under a name."""
    entry = lexicon("sources")[name]
    files = {f["name"]: File(f["path"], f.get("bytes"), f.get("sha256")) for f in entry["files"]}
    return Source(name, entry["repository"], entry["commit"], files)


def official_file(name: str, file: str, told: downloads.Told = lambda there, total: None) -> Path:
    """A file of a release, its checksum verified; fetched into the cache when it is not there and
    $LM_EVAL_BIAS_DATA is not set.

    Where no checksum is known, the file is what the server sent, all of it, or what lies in the
    folder: who reads it checks its layout. told: is called while it is fetched (`downloads.fetch`).
    Raises UsageError, which says what to do, if the file cannot be had or is another one than
    expected.
    """
    release = source(name)
    kept, sha256 = release.folder() / file, release.files[file].sha256
    if os.environ.get(LOCAL):
        if not kept.is_file():
            raise UsageError(
                f"{kept} is missing; {LOCAL} must be a folder with {name}/{file} in it, or be unset"
            )
        if sha256 is not None and not has_checksum(kept, sha256):
            raise UsageError(
                f"{kept} is not the file that the authors released at commit {release.commit[:8]}: its checksum differs"
            )
    elif not is_kept(kept, sha256):
        try:
            downloads.fetch(release.address(file), kept, sha256, told)
        except downloads.Unreachable as error:
            again = "check the network and run the command again, which goes on where it stopped, or put the file"
            how = "put a copy of it" if error.absent else again
            raise UsageError(
                f"{error}; {how} into a folder as {name}/{file} and set {LOCAL} to that folder"
            ) from error
        except OSError as error:
            raise UsageError(
                f"cannot keep {kept}: {error.strerror or error}; XDG_CACHE_HOME names another folder for it"
            ) from error
    return kept
