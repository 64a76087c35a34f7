"""The folder of a report: the files of an earlier report are replaced, nothing else is touched."""

import re
from hashlib import sha256
from pathlib import Path

from lm_eval_bias import writing
from lm_eval_bias.usage import UsageError

LIST = ".lm-eval-bias-report"
"""The file that names those which a report wrote, a line each, so that the next one knows them for
its own."""
_FIRST = "files of a report of lm-eval-bias"
_OURS = re.compile(
    r"((figures|tables)/)?[A-Za-z0-9_][A-Za-z0-9._-]*\.(html|svg|png|pdf|csv|tex|md|bib)"
)

DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.I)
"""Names that Windows takes for a device, whatever follows their first point."""


class Folder:
    """A report's files, which `finish` writes. UsageError for a folder that holds other things, and
    for what cannot be written."""

    def __init__(self, path: Path):
        self.path, self.earlier = path, _listed(path)
        self.files: dict[str, str | bytes] = {}
        self.stems = {"index"}

    def write(self, name: str, content: str | bytes) -> None:
        """name: "index.html", "figures/NAME.svg", ..."""
        path = self.path / name
        if name not in self.earlier and (path.exists() or path.is_symlink()):
            raise UsageError(
                f"{path} is there already and of no earlier report; move it, or name another folder"
            )
        self.files[name] = content

    def finish(self) -> None:
        """Write all files, and delete those of the earlier report that the new one has not."""
        names, file = [*self.files], self.path / LIST
        known = "\n".join([_FIRST, *names, *self.earlier, ""])
        writing.whole(file, known)  # a folder with this file alone is one of an earlier report
        writing.together({self.path / name: self.files[name] for name in names})
        with writing.os_errors_as_usage_errors(self.path):
            for name in self.earlier.difference(names):
                (self.path / name).unlink(missing_ok=True)
        writing.whole(file, "\n".join([_FIRST, *names, ""]))

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
    """The names of a report's files. UsageError for a file, and for a folder of other things."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; name a folder")
    if not (folder / LIST).is_file():
        names = (path.name for path in folder.glob("*"))
        if others := sorted(name for name in names if not name.startswith(writing.BESIDE)):
            named = ", ".join(others[:3]) + " and others" * (len(others) > 3)
            raise UsageError(
                f"{folder} holds other things ({named}); name a new folder, or one of an earlier "
                "report"
            )
        return set()
    first, *files = (folder / LIST).read_text("utf-8", errors="replace").split("\n")
    if first != _FIRST or any((folder / name).is_symlink() for name in ("figures", "tables")):
        raise UsageError(f"{folder} is no report as it was written; name a new folder")
    return set(filter(_OURS.fullmatch, files))
