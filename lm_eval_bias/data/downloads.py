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
from pathlib import Path
from typing import IO

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
"""Called with the bytes that are there and, where known, those that there will be."""


def cache_folder() -> Path:
    """Where fetched files are kept: `lm-eval-bias` in $XDG_CACHE_HOME, by default ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lm-eval-bias"


def sha256(path: Path) -> str:
    """The checksum of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return _sha256(file)


def has_checksum(path: Path, expected: str) -> bool:
    """Whether a file is there and is the expected one."""
    return path.is_file() and sha256(path) == expected


def noted(path: Path) -> Path:
    """Where the checksum of a file is noted when it is fetched and none was known before."""
    return path.with_name(f"{path.name}.sha256")


def is_kept(path: Path, expected: str | None) -> bool:
    """Whether a file is there and has the expected checksum; None for the noted one."""
    if expected is None:
        note = noted(path)
        expected = note.read_text(encoding="utf-8").partition(" ")[0] if note.is_file() else ""
    return has_checksum(path, expected)


def begun(path: Path) -> Path:
    """Where the first part of a file is kept until all of it is there."""
    return path.with_name(f"{path.name}.part")


def no_progress(there: int, total: int | None) -> None:
    """A `Progress` that shows nothing."""


def fetch(address: str, path: Path, expected: str | None, progress: Progress = no_progress) -> None:
    """Fetch a file. It gets its name only when all of it is there and its checksum is right.

    expected: its checksum; None where unknown, then that of the file is noted beside it (`noted`).

    A part that an interrupted call left (`begun`) is continued, where the server sends parts.
    Several processes may ask for the same file: one fetches it, the others wait. Raises OSError
    where the file cannot be written, Unreachable where it cannot be fetched, UsageError where its
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
        elif not (
            kept and _sha256(part) == expected
        ):  # it was cut off before it got its name, after all had come
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
def _alone(path: Path) -> Iterator[IO[bytes]]:
    """A file to append to and to read, which no other process opens in this way meanwhile. It is
    removed if it stays empty."""
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


def _locked(file: IO[bytes], path: Path) -> bool:
    """Waits for the lock of a file; whether the file still has this name then."""
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
    except OSError:  # a file system without locks
        return True


def _sha256(file: IO[bytes]) -> str:
    file.flush()
    file.seek(0)
    digest = hashlib.sha256()
    while block := file.read(1 << 20):
        digest.update(block)
    return digest.hexdigest()


def _receive(
    address: str, part: IO[bytes], kept: int, progress: Progress, length_needed: bool = False
) -> None:
    """Append what follows the bytes that are kept; from the beginning where the server sends no
    parts. length_needed: refuse an answer of unknown length, which might be a part."""
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
        if answer.status != 206:
            kept = 0
        elif kept and _first(answer.headers.get("Content-Range")) != kept:
            return _receive(address, part, 0, progress, length_needed)
        part.truncate(kept)
        total = _total(answer.headers, kept)
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


def _total(headers: Mapping[str, str], kept: int) -> int | None:
    """How long the whole file is, where the answer says so."""
    match = re.match(r"bytes \d+-\d+/(\d+)$", headers.get("Content-Range") or "")
    length = match[1] if match else headers.get("Content-Length")
    return int(length) + (0 if match else kept) if length and length.isdigit() else None


def _first(content_range: str | None) -> int | None:
    """Where a part begins: "bytes 100-199/200" -> 100."""
    match = re.match(r"bytes (\d+)-", content_range or "")
    return int(match[1]) if match else None


def _failed(address: str, cause: object) -> Unreachable:
    reason = getattr(cause, "reason", cause) or type(cause).__name__
    failed = Unreachable(f"cannot download {address} ({reason})")
    failed.absent = getattr(cause, "code", None) in (404, 410)
    return failed
