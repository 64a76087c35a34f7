"""The folder of a report: an earlier report's files are replaced, nothing else is touched."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path
from types import TracebackType

from lm_eval_bias.usage import UsageError

LIST = ".lm-eval-bias-report"
"""The file that names those which a report wrote, a line each, so that the next one knows them for
its own."""
_FIRST = "files of a report of lm-eval-bias"
_OURS = re.compile(r"((figures|tables)/)?[A-Za-z0-9_][A-Za-z0-9._-]*\.(html|svg|png|csv|tex)")

DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.I)
"""Names that Windows takes for a device, whatever follows their first point."""


class Folder:
    """Files are written as they come, and listed before, so that a report that was cut off can be
    replaced, too. Raises UsageError for a path that is a file or holds other things, and what
    cannot be written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stems: set[str] = {"index"}

    def __enter__(self) -> Folder:
        try:
            if self.path.exists() and not self.path.is_dir():
                raise UsageError(f"{self.path} is a file; name a folder")
            self.path.mkdir(parents=True, exist_ok=True)
            self._clear()
            for name in ("figures", "tables"):
                (self.path / name).mkdir(exist_ok=True)
            self.list = (self.path / LIST).open("w", encoding="utf-8")
            self.list.write(f"{_FIRST}\n")
        except OSError as error:
            raise UsageError(f"cannot write {self.path}: {error.strerror or error}") from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.list.close()

    def _clear(self) -> None:
        """Take away what an earlier report wrote."""
        others = sorted(path.name for path in self.path.iterdir() if path.name != LIST)
        if not (self.path / LIST).is_file():
            if others:
                named = ", ".join(others[:3]) + (" and others" if len(others) > 3 else "")
                raise UsageError(
                    f"{self.path} holds other things ({named}); name a new folder, or one of an "
                    "earlier report"
                )
            return
        first, *names = (self.path / LIST).read_text(
            encoding="utf-8", errors="replace"
        ).splitlines() or [""]
        if first != _FIRST:
            raise UsageError(
                f"{self.path / LIST} is no list of a report's files; name a new folder"
            )
        for name in ("figures", "tables"):
            if (self.path / name).is_symlink():
                raise UsageError(
                    f"{self.path / name} is a link, which a report never writes; name a new folder"
                )
        for name in names:
            if _OURS.fullmatch(name):
                (self.path / name).unlink(missing_ok=True)

    def write(self, name: str, content: str | bytes) -> None:
        """name: "index.html", "figures/NAME.svg", ..."""
        path = self.path / name
        if not _OURS.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a report's file")
        if path.exists() or path.is_symlink():
            raise UsageError(
                f"{path} is there already and of no earlier report; move it, or name another folder"
            )
        try:
            self.list.write(f"{name}\n")
            self.list.flush()
            path.write_bytes(
                content.encode("utf-8", errors="backslashreplace")
                if isinstance(content, str)
                else content
            )
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror or error}") from error

    def stem(self, name: str) -> str:
        """A part of a file's name: plain letters, and of no other text, whatever the case."""
        plain = re.sub(r"[^A-Za-z0-9_.]+", "-", name).strip("-._")
        short = plain[:80] or "x"
        if DEVICE.fullmatch(short):
            short = f"x-{short}"
        if plain != short or short.lower() in self.stems:
            short = f"{short}-{sha256(name.encode(errors='surrogatepass')).hexdigest()[:8]}"
        while short.lower() in self.stems:  # the same text again
            short += "-2"
        self.stems.add(short.lower())
        return short
