"""Files that are fetched once, in parts if need be, checked and kept."""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path

from lm_eval_bias.usage import UsageError

try:
    import fcntl
except ImportError:  # Windows: processes that fetch a file at once may spoil it; its checksum shows
    fcntl = None  # type: ignore[assignment]


class Unreachable(UsageError):
    """A file cannot be fetched now. absent: the server does not have it."""

    absent = False


BLOCK = 1 << 16
SECONDS = 60
"""How long a server may be silent."""
Progress = Callable[[int, int | None], None]
"""Called with the bytes so far, and the total where known."""


def cache_folder() -> Path:
    """`lm-eval-bias` in $XDG_CACHE_HOME, by default ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lm-eval-bias"


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return _sha256(file)


def has_checksum(path: Path, expected: str) -> bool:
    return path.is_file() and sha256(path) == expected


def noted(path: Path) -> Path:
    """Where the checksum of a fetched file is noted if none was known before."""
    return path.with_name(f"{path.name}.sha256")


def is_kept(path: Path, expected: str | None) -> bool:
    """Whether a file has the expected checksum; None: the noted one."""
    if expected is None:
        note = noted(path)
        expected = note.read_text(encoding="utf-8").partition(" ")[0] if note.is_file() else ""
    return has_checksum(path, expected)


def begun(path: Path) -> Path:
    """Where the first part of a file is kept until it is complete."""
    return path.with_name(f"{path.name}.part")


def no_progress(there: int, total: int | None) -> None:
    """A `Progress` that shows nothing."""


def fetch(address: str, path: Path, expected: str | None, progress: Progress = no_progress) -> None:
    """Fetch a file, which gets its name only when it is complete and its checksum right.

    expected: its checksum; if None, its own is noted beside it (`noted`). Goes on where an
    interrupted call stopped (`begun`). One of several processes fetches, the others wait. Raises
    OSError if the file cannot be written, Unreachable if it cannot be fetched, UsageError if its
    checksum is wrong.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone(begun(path)) as part:
        if is_kept(path, expected):  # another process was first
            begun(path).unlink(missing_ok=True)
            return
        kept = part.seek(0, os.SEEK_END)
        if expected is None:
            _receive(address, part, kept, progress, length_needed=True)
            noted(path).write_text(f"{_sha256(part)}  {path.name}\n", encoding="utf-8")
        elif not kept or _sha256(part) != expected:  # all may have come before the name
            _receive(address, part, kept, progress)
            if _sha256(part) != expected and kept:  # perhaps it was begun with another file
                _receive(address, part, 0, progress)
        if expected is not None and _sha256(part) != expected:
            begun(path).unlink(missing_ok=True)
            raise UsageError(
                f"{address} has another checksum than expected; do not use it, and run the command "
                "again"
            )
        os.fsync(part.fileno())
        if fcntl is None:
            part.close()  # Windows renames no open file
        begun(path).replace(path)


@contextmanager
def _alone(path: Path) -> Iterator[BufferedIOBase]:
    """A file to append to and to read, locked, and removed if it stays empty."""
    while True:
        with path.open("a+b") as file:
            if not _locked(file, path):
                continue  # it got its name, or was removed, while this process waited
            try:
                yield file
            finally:
                if not file.closed and file.seek(0, os.SEEK_END) == 0:
                    path.unlink(missing_ok=True)
            return


def _locked(file: BufferedIOBase, path: Path) -> bool:
    """Waits for the lock; whether the file still has this name then."""
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
    except OSError:  # a file system without locks
        return True


def _sha256(file: BufferedIOBase) -> str:
    file.flush()
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()


def _receive(
    address: str, part: BufferedIOBase, kept: int, progress: Progress, length_needed: bool = False
) -> None:
    """Append what follows the kept bytes; from the beginning if the server sends no parts.
    length_needed: refuse an answer of unknown length, which may be incomplete.
    """
    headers = {"Accept-Encoding": "identity"}
    if kept:
        headers["Range"] = f"bytes={kept}-"
    try:
        request = urllib.request.Request(address, headers=headers)
        answer = urllib.request.urlopen(request, timeout=SECONDS)
    except urllib.error.HTTPError as error:
        # there is no such part: what is kept is not shorter than the file
        if error.code == 416 and kept:
            return _receive(address, part, 0, progress, length_needed)
        raise _failed(address, error) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _failed(address, error) from error
    with answer:
        first, total = _first_and_total(answer.headers)
        if answer.status != 206:
            kept = 0
        elif kept and first != kept:
            return _receive(address, part, 0, progress, length_needed)
        part.truncate(kept)
        # of an answer in chunks the last one shows the end
        if length_needed and total is None and not answer.chunked:
            raise _failed(address, "the length of the file is unknown, and so is its checksum")
        progress(kept, total)
        while True:
            try:
                block = answer.read(BLOCK)
            except (OSError, http.client.HTTPException) as error:
                raise _failed(address, error) from error
            if not block:
                break
            part.write(block)
            kept += len(block)
            progress(kept, total)
    if total is not None and kept < total:
        raise _failed(address, f"broken off after {kept:,} of {total:,} bytes")


def _first_and_total(headers: Mapping[str, str]) -> tuple[int | None, int | None]:
    """Where an answer begins in the file, and the file's length, if the headers tell."""
    length = headers.get("Content-Length") or ""
    total = int(length) if length.isdigit() else None
    match = re.match(r"bytes (\d+)-\d+/(\d+)?", headers.get("Content-Range") or "")
    if match is None:
        return None, total
    first = int(match[1])
    return first, int(match[2]) if match[2] else total and first + total


def _failed(address: str, cause: object) -> Unreachable:
    reason = getattr(cause, "reason", cause) or type(cause).__name__
    failed = Unreachable(f"cannot download {address} ({reason})")
    failed.absent = getattr(cause, "code", None) in (404, 410)
    return failed
