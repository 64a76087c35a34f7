"""Files that are fetched once, checked and kept."""

from __future__ import annotations

import hashlib
import http.client
import os
import tempfile
import urllib.request
from pathlib import Path

from lm_eval_bias.usage import UsageError

SECONDS = 60
"""How long a server may be silent."""


class Unreachable(UsageError):
    """A file cannot be fetched now. absent: the server does not have it."""

    absent = False


def cache_folder() -> Path:
    """`lm-eval-bias` in $XDG_CACHE_HOME, by default ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lm-eval-bias"


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_kept(path: Path, expected: str | None) -> bool:
    """Whether a file is there and has its checksum, if one is known."""
    return path.is_file() and expected in (None, sha256(path))


def fetch(address: str, path: Path, expected: str | None) -> None:
    """Fetch a file, which gets its name only when it is complete and its checksum right; None where
    no checksum is known. Raises OSError if the file cannot be written, Unreachable if it cannot be
    fetched, UsageError if its checksum is wrong.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with urllib.request.urlopen(address, timeout=SECONDS) as answer:
            content: bytes = answer.read()
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        failed = Unreachable(f"cannot download {address} ({reason})")
        failed.absent = getattr(error, "code", None) in (404, 410)
        raise failed from error
    if expected not in (None, hashlib.sha256(content).hexdigest()):
        raise UsageError(
            f"{address} has another checksum than expected; do not use it, and run the command "
            "again"
        )
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as folder:
        whole = Path(folder, path.name)
        whole.write_bytes(content)
        whole.replace(path)
