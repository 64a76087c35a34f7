"""Files that are written whole or not at all."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from lm_eval_bias.usage import UsageError

BESIDE = ".lm-eval-bias-unfinished-"
"""How the folders of files begin that are not all written yet."""


def check(option: str, path: Path | None) -> None:
    """UsageError, before anything is computed, for a folder and for a file in no folder."""
    if path and path.is_dir():
        raise UsageError(f"{option} {path} is a folder; name a file")
    if path and not path.parent.is_dir():
        raise UsageError(f"{option} {path}: there is no folder {path.parent}")


def check_folder(path: Path) -> None:
    """UsageError for what cannot be replaced by a folder with its name."""
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is a file; name a folder")
    place, here = path.resolve(), Path.cwd()
    if place in (here, *here.parents) or os.path.ismount(place):
        raise UsageError(
            f"{path} is a mount point, or you are in it, so that it cannot be replaced; name a "
            f"folder in it, such as {path / 'new'}"
        )


def whole(path: Path, content: str | bytes) -> None:
    """Write a file, and its folder if that is missing. Raises UsageError."""
    together({path: content})


def together(files: Mapping[Path, str | bytes]) -> None:
    """Write files beside what is there, and rename them, in their order, once all are on the disk.
    A link and the permissions of a file stay. Raises UsageError.
    """
    with ExitStack() as stack:
        written: list[tuple[Path, Path]] = []
        beside = {}
        for path, content in files.items():
            place = path.resolve()
            with os_errors_as_usage_errors(path):
                if path.exists() and not path.is_file():  # such as /dev/stdout
                    path.write_bytes(encoded(content))
                    continue
                if place.parent not in beside:
                    place.parent.mkdir(parents=True, exist_ok=True)
                    beside[place.parent] = stack.enter_context(unfinished(place.parent))
                ready = beside[place.parent] / str(len(written))
                flushed(ready, content)
                if place.exists():
                    ready.chmod(place.stat().st_mode & 0o777)
            written.append((ready, place))
        for ready, place in written:
            with os_errors_as_usage_errors(place):
                ready.replace(place)
        for folder in beside:
            flush(folder)


@contextmanager
def unfinished(folder: Path) -> Iterator[Path]:
    """A new folder in a folder, removed at the end; one of a process that was killed stays."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=BESIDE, ignore_cleanup_errors=True) as new:
        yield Path(new)


def encoded(content: str | bytes) -> bytes:
    return content.encode(errors="backslashreplace") if isinstance(content, str) else content


def flushed(path: Path, content: str | bytes) -> None:
    """Write a new file to the disk. Raises OSError."""
    with path.open("xb") as file:
        file.write(encoded(content))
        file.flush()
        os.fsync(file)


def flush(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk, where the file system can."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def os_errors_as_usage_errors(path: Path) -> Iterator[None]:
    """Turns an OSError into a UsageError that names what could not be written."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error
