"""Files that are fetched once, checked and kept."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


def cache_folder() -> Path:
    """Where fetched files are kept: `lm-eval-bias` in $XDG_CACHE_HOME, by default ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lm-eval-bias"


def sha256(path: Path) -> str:
    """The checksum of a file, in hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as f:
        while block := f.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def has_checksum(path: Path, expected: str) -> bool:
    """Whether a file is there and is the expected one."""
    return path.is_file() and sha256(path) == expected
