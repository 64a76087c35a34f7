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
from typing import BinaryIO

from lm_eval_bias.usage import UsageError

try:
    import fcntl
except ImportError:  # Windows, where several processes that fetch the same file at once may spoil it; its checksum tells
    fcntl = None


class Unreachable(UsageError):
    """A file cannot be fetched now; its message names address and cause. absent: the server says
    that it has none."""

    absent = False


BLOCK = 1 << 16
SECONDS = 60
"""So long a server may say nothing."""
Told = Callable[[int, int | None], None]
"""Is called with the bytes that are there and, where the server says so, those that there will be.
"""


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


def noted(path: Path) -> Path:
    """Where the checksum is written that a file had when it was fetched, in the form of
    `sha256sum`, if none was known before."""
    return path.with_name(f"{path.name}.sha256")


def is_kept(path: Path, expected: str | None) -> bool:
    """Whether a file is there and is the expected one; the one that was fetched, where it is not
    known what to expect."""
    if expected is None:
        note = noted(path)
        expected = note.read_text(encoding="utf-8").partition(" ")[0] if note.is_file() else ""
    return has_checksum(path, expected)


def begun(path: Path) -> Path:
    """Where the first part of a file lies that is being fetched, or whose fetching was cut off."""
    return path.with_name(f"{path.name}.part")


def fetch(
    address: str, path: Path, expected: str | None, told: Told = lambda there, total: None
) -> None:
    """Fetch a file. It has its name when all of it is there and its checksum is the expected one,
    and not before.

    expected: None for a file whose checksum is not known. It has its name when so much is there as
    the server said, and its own checksum lies beside it (`noted`). A part of it is continued, since
    the address names a commit, of which nothing changes.

    What came until a run was cut off lies beside it under another name (`begun`); the next call
    asks the server for the rest alone, or for the whole where it does not send parts. Several
    processes may ask for the same file: one fetches it, the others wait. Raises OSError where the
    file cannot be written, Unreachable where it cannot be fetched, UsageError where it is another
    one.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone(begun(path)) as part:
        if is_kept(path, expected):  # another process was first
            begun(path).unlink(missing_ok=True)
            return
        kept = part.seek(0, os.SEEK_END)
        if expected is None:
            _receive(address, part, kept, told, length_needed=True)
            noted(path).write_text(f"{_sha256(part)}  {path.name}\n", encoding="utf-8")
        elif not (
            kept and _is(part, expected)
        ):  # it was cut off before it got its name, after all had come
            _receive(address, part, kept, told)
            if not _is(part, expected) and kept:  # perhaps it was begun with another file
                _receive(address, part, 0, told)
        if expected is not None and not _is(part, expected):
            begun(path).unlink(missing_ok=True)
            raise UsageError(
                f"{address} has another checksum than expected; do not use it, and run the command again"
            )
        os.fsync(part.fileno())
        if fcntl is None:
            part.close()  # Windows renames no open file
        begun(path).replace(path)


@contextmanager
def _alone(path: Path) -> Iterator[BinaryIO]:
    """A file to append to and to read, which no other process has open in this way meanwhile. It is
    removed if nothing came."""
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


def _locked(file: BinaryIO, path: Path) -> bool:
    """Waits until no other process has locked the file; whether it is still the one that has this
    name."""
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
    except OSError:  # a file system without locks
        return True


def _is(file: BinaryIO, expected: str) -> bool:
    return _sha256(file) == expected


def _sha256(file: BinaryIO) -> str:
    file.flush()
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()


def _receive(
    address: str, part: BinaryIO, kept: int, told: Told, length_needed: bool = False
) -> None:
    """Append what follows the bytes that are kept; from the beginning where there are none or the
    server sends no parts.

    length_needed: refuse an answer that does not say where it ends, since nothing else would tell a
    part from the whole.
    """
    try:
        ask = urllib.request.Request(
            address,
            headers={
                "Accept-Encoding": "identity",
                **({"Range": f"bytes={kept}-"} if kept else {}),
            },
        )
        answer = urllib.request.urlopen(ask, timeout=SECONDS)
    except urllib.error.HTTPError as error:
        # there is no such part: what is kept is no shorter than the file
        if error.code == 416 and kept:
            return _receive(address, part, 0, told, length_needed)
        raise _failed(address, error) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _failed(address, error) from error
    with answer:
        if answer.status != 206:
            kept = 0
        elif kept and _first(answer.headers.get("Content-Range")) != kept:
            return _receive(address, part, 0, told, length_needed)
        part.truncate(kept)
        total = _total(answer.headers, kept)
        # that of an answer in chunks is told by the last of them
        if length_needed and total is None and not answer.chunked:
            raise _failed(
                address, "the server does not say how long the file is, and no checksum is known"
            )
        told(kept, total)
        while True:
            try:
                block = answer.read(BLOCK)
            except (OSError, http.client.HTTPException) as error:
                raise _failed(address, error) from error
            if not block:
                break
            part.write(block)
            kept += len(block)
            told(kept, total)
    if total is not None and kept < total:
        raise _failed(address, f"broken off after {kept:,} of {total:,} bytes")


def _total(headers: Mapping[str, str], kept: int) -> int | None:
    """How long the whole file is, where an answer that is read behind the bytes kept says so; a
    part may end before the file does."""
    match = re.match(r"bytes \d+-\d+/(\d+)$", headers.get("Content-Range") or "")
    length = match[1] if match else headers.get("Content-Length")
    return int(length) + (0 if match else kept) if length and length.isdigit() else None


def _first(content_range: str | None) -> int | None:
    """Where a part begins that a server sends: "bytes 100-199/200" -> 100."""
    match = re.match(r"bytes (\d+)-", content_range or "")
    return int(match[1]) if match else None


def _failed(address: str, cause: object) -> Unreachable:
    """cause: a text, or an error with a `reason` or a text of its own."""
    failed = Unreachable(
        f"cannot download {address} ({getattr(cause, 'reason', cause) or type(cause).__name__})"
    )
    failed.absent = getattr(cause, "code", None) in (404, 410)
    return failed
