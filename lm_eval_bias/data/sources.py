"""The authors' released data: fetched from a pinned commit, checked, and kept outside this
package."""

import os
import urllib.parse
from pathlib import Path
from typing import NamedTuple

from lm_eval_bias.data import downloads
from lm_eval_bias.data.downloads import cache_folder, is_kept
from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.usage import UsageError

SERVER = "https://raw.githubusercontent.com"
LOCAL = "LM_EVAL_BIAS_DATA"
MIRROR = "LM_EVAL_BIAS_MIRROR"


class File(NamedTuple):
    """path: in the repository. bytes: its size."""

    path: str
    bytes: int
    sha256: str


class Source(NamedTuple):
    """files: by local name."""

    name: str
    repository: str
    commit: str
    files: dict[str, File]

    def address(self, file: str) -> str:
        """Where to fetch a file: from $LM_EVAL_BIAS_MIRROR, if set, else from GitHub."""
        server = (os.environ.get(MIRROR) or SERVER).rstrip("/")
        path = urllib.parse.quote(self.files[file].path)
        return f"{server}/{self.repository}/{self.commit}/{path}"

    def folder(self) -> Path:
        """$LM_EVAL_BIAS_DATA/NAME if that is set, else the cache."""
        if local := os.environ.get(LOCAL):
            return Path(local, self.name)
        return cache_folder() / "official" / self.name / self.commit


def names() -> list[str]:
    return list(lexicon("sources"))


def source(name: str) -> Source:
    entry = lexicon("sources")[name]
    files = {f["name"]: File(f["path"], f["bytes"], f["sha256"]) for f in entry["files"]}
    return Source(name, entry["repository"], entry["commit"], files)


def official_file(name: str, file: str) -> Path:
    """A file of a release, checked; fetched into the cache if it is missing and $LM_EVAL_BIAS_DATA
    is not set. Raises UsageError if it cannot be had or is another one."""
    release = source(name)
    kept, about = release.folder() / file, release.files[file]
    if os.environ.get(LOCAL):
        if not kept.is_file():
            raise UsageError(
                f"{kept} is missing; {LOCAL} must be a folder with {name}/{file} in it, or be unset"
            )
        if not is_kept(kept, about.sha256):
            raise UsageError(
                f"{kept} is not the file that the authors released at commit "
                f"{release.commit[:8]}: its checksum differs"
            )
    elif not is_kept(kept, about.sha256):
        try:
            downloads.fetch(release.address(file), kept, about.sha256, about.bytes)
        except downloads.Unreachable as error:
            again = "check the network and run the command again, or put the file"
            how = "put a copy of it" if error.absent else again
            raise UsageError(
                f"{error}; {how} into a folder as {name}/{file} and set {LOCAL} to that folder"
            ) from error
        except UsageError as error:
            if isinstance(error.__cause__, OSError):
                raise UsageError(f"{error}; set XDG_CACHE_HOME to another folder") from error
            raise
    return kept
