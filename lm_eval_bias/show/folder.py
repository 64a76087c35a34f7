"""The folder of a report: an earlier report is replaced as a whole, nothing else is touched."""

from __future__ import annotations

import re
import shutil
from hashlib import sha256
from pathlib import Path

from lm_eval_bias import writing
from lm_eval_bias.usage import UsageError

LIST = ".lm-eval-bias-report"
"""The file that names those which a report wrote, a line each, so that the next one knows them for
its own."""
_FIRST = "files of a report of lm-eval-bias"
_OURS = re.compile(r"((figures|tables)/)?[A-Za-z0-9_][A-Za-z0-9._-]*\.(html|svg|png|pdf|csv|tex)")

DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.I)
"""Names that Windows takes for a device, whatever follows their first point."""


class Folder:
    """A report's files, which replace an earlier report once all are on the disk; what else its
    folder holds is kept. UsageError for a folder that holds other things, and for what cannot be
    written."""

    def __init__(self, path: Path) -> None:
        writing.check_folder(path)
        self.path, self.place = path, path.resolve()
        self.new, self.old = (
            self.place.with_name(f".{self.place.name}.lm-eval-bias-{end}") for end in ("new", "old")
        )
        with writing.told(path):
            _listed(path)
            self._settle()
            self.earlier = _listed(path)
        self.names: list[str] = []
        self.stems: set[str] = {"index"}

    def __enter__(self) -> Folder:
        with writing.told(self.path):
            self.new.mkdir(parents=True)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        with writing.told(self.path):
            try:
                if kind is None:
                    self._swap()
            finally:
                self._settle()

    def _swap(self) -> None:
        writing.flushed(self.new / LIST, "\n".join([_FIRST, *self.names, ""]))
        for entry in (*self.new.iterdir(), self.new):
            writing.flush(entry)
        if self.place.exists():
            shutil.copymode(self.place, self.new)
            self.place.rename(self.old)
        self.new.rename(self.place)
        writing.flush(self.place.parent)

    def _settle(self) -> None:
        """End a swap, which may have been cut off: the earlier report comes back if no new one is
        there."""
        shutil.rmtree(self.new, ignore_errors=True)
        if not self.old.exists():
            return
        if not self.place.exists():
            self.old.rename(self.place)
            return
        own = {*_listed(self.old), LIST, "figures", "tables"}
        for entry in [*self.old.iterdir(), *self.old.glob("figures/*"), *self.old.glob("tables/*")]:
            name = entry.relative_to(self.old).as_posix()
            if name not in own:
                (self.place / name).parent.mkdir(exist_ok=True)
                entry.rename(self.place / name)
        self.old.rename(self.new)  # its list must not go before its files
        shutil.rmtree(self.new, ignore_errors=True)

    def write(self, name: str, content: str | bytes) -> None:
        """name: "index.html", "figures/NAME.svg", ..."""
        path = self.path / name
        if not _OURS.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a report's file")
        if name not in self.earlier and (path.exists() or path.is_symlink()):
            raise UsageError(
                f"{path} is there already and of no earlier report; move it, or name another folder"
            )
        with writing.told(path):
            (self.new / name).parent.mkdir(exist_ok=True)
            writing.flushed(self.new / name, content)
        self.names.append(name)

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


def _listed(folder: Path) -> set[str]:
    """The names of a report's files. UsageError for a folder of other things."""
    if not (folder / LIST).is_file():
        others = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
        if others:
            named = ", ".join(others[:3]) + (" and others" if len(others) > 3 else "")
            raise UsageError(
                f"{folder} holds other things ({named}); name a new folder, or one of an "
                "earlier report"
            )
        return set()
    first, *names = (folder / LIST).read_text(encoding="utf-8", errors="replace").splitlines() or [
        ""
    ]
    if first != _FIRST:
        raise UsageError(f"{folder / LIST} is no list of a report's files; name a new folder")
    for name in ("figures", "tables"):
        if (folder / name).is_symlink() or (folder / name).is_file():
            raise UsageError(
                f"{folder / name} is no folder, as a report writes it; name a new folder"
            )
    return set(filter(_OURS.fullmatch, names))
