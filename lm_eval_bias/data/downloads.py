"""Files that are fetched once, checked and kept."""

import hashlib
import os
import threading
from pathlib import Path
from queue import Empty, SimpleQueue

from lm_eval_bias import writing
from lm_eval_bias.data.bounds import opened
from lm_eval_bias.usage import UsageError

SECONDS = 60
"""How long a server may be silent."""
WHOLE = 600
"""Seconds that a transfer may take, if nothing else is said."""


class Unreachable(UsageError):
    """A file cannot be fetched now. absent: the server does not have it."""

    absent = False


def cache_folder() -> Path:
    """`lm-eval-bias` in $XDG_CACHE_HOME, by default ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lm-eval-bias"


def sha256(path: Path) -> str:
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_kept(path: Path, expected: str) -> bool:
    """expected: its sha256."""
    return path.is_file() and sha256(path) == expected


def fetch(address: str, path: Path, expected: str, size: int, seconds: float = WHOLE) -> None:
    """Fetch a file, which gets its name only when it is complete and its checksum right.

    expected: its sha256. size: in bytes. seconds: that the whole transfer may take. Raises
    Unreachable if it cannot be fetched, UsageError if it is another or cannot be written.
    """
    content = _content(address, size, seconds)
    if len(content) > size or hashlib.sha256(content).hexdigest() != expected:
        raise UsageError(
            f"{address} has another size or checksum than expected; do not use it, and run "
            "the command again"
        )
    if path.is_symlink():
        path.unlink()
    writing.whole(path, content)


def _content(address: str, size: int, seconds: float) -> bytes:
    """At most one byte more than `size`. In a thread: no timeout of a socket ends a server that
    sends a byte now and then."""
    answers: SimpleQueue[bytes | Exception] = SimpleQueue()

    def get() -> None:
        from http.client import IncompleteRead  # email, ssl: half the time of a help text
        from urllib.request import urlopen

        try:
            with urlopen(address, timeout=min(SECONDS, seconds)) as answer:
                content = answer.read(size + 1)
                if len(content) <= size and (more := getattr(answer, "length", 0)):
                    raise IncompleteRead(content, more)
            answers.put(content)
        except Exception as error:
            answers.put(error)

    threading.Thread(target=get, daemon=True).start()
    try:
        answer = answers.get(timeout=seconds)
    except Empty:
        answer = TimeoutError(f"not whole within {seconds:g} seconds")
    if isinstance(answer, bytes):
        return answer
    reason = getattr(answer, "reason", None) or answer
    failed = Unreachable(f"cannot download {address} ({' '.join(str(reason).split())})")
    failed.absent = getattr(answer, "code", None) in (404, 410)
    raise failed from answer
