"""What a file of items or groups must hold."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from os.path import isfile
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from lm_eval_bias.data.content import Content, Place, Problem, read
from lm_eval_bias.data.downloads import sha256
from lm_eval_bias.usage import Options, UsageError, nearest

OPTIONS = ("items", "groups", "data")
"""What `--metadata` may name a file for."""
SHOWN, COUNTED = 40, 10_000
"""Problems that are listed; the others are counted, up to so many in a file."""
GREATEST = 1e300
"""Beyond it a difference of two numbers may not be finite."""
WHOLE = "all"
"""What the rows of everything are called in the tables of results."""
Problems = Iterator[Problem]
Data = Mapping[str, Any]
"""What a file of names holds, or several files by option."""
Row = Mapping[str, str]
"""Of a table."""


# ---- What a file must hold


class Shape:
    def problems(self, data: Any, place: Place) -> Problems:
        raise NotImplementedError


@dataclass
class Text(Shape):
    """Neither empty nor padded; one of `choices`, if any."""

    choices: Sequence[str] = ()

    def problems(self, data: Any, place: Place) -> Problems:
        if self.choices:
            if data not in self.choices:
                yield place, f"{_kind(data)} is not one of {', '.join(self.choices)}"
        elif not isinstance(data, str):
            quote = "; write it in quotes" if isinstance(data, bool | int | float) else ""
            yield place, f"expected a text, found {_kind(data)}{quote}"
        elif data != data.strip() or not data:
            yield place, f"{data!r} begins or ends with a space" if data.strip() else "empty"


class Figure(Shape):
    def problems(self, data: Any, place: Place) -> Problems:
        number = isinstance(data, int | float) and not isinstance(data, bool)
        if not (number and abs(data) <= GREATEST):
            yield place, f"expected a number such as 2 or 0.5, found {_kind(data)}"


class Flag(Shape):
    def problems(self, data: Any, place: Place) -> Problems:
        if not isinstance(data, bool):
            yield place, f"expected true or false, found {_kind(data)}"


@dataclass
class Several(Shape):
    """At least so many entries, all different."""

    of: Shape
    least: int = 1

    def problems(self, data: Any, place: Place) -> Problems:
        if not isinstance(data, tuple):
            yield place, f"expected a list, found {_kind(data)}"
            return
        if len(data) < self.least:
            yield place, f"expected {self.least} entries at least, found {len(data)}"
        before = set()
        for i, entry in enumerate(data):
            yield from self.of.problems(entry, (*place, i))
            if isinstance(entry, str):
                if entry in before:
                    yield (*place, i), f"{entry!r} stands in this list twice"
                before.add(entry)


@dataclass
class Named(Shape):
    """A mapping whose keys the file chooses. least, most: how many."""

    of: Shape
    least: int = 1
    most: int | None = None

    def problems(self, data: Any, place: Place) -> Problems:
        if not isinstance(data, Mapping):
            yield place, f"expected names, each with what it stands for, found {_kind(data)}"
            return
        if not self.least <= len(data) <= (self.most or len(data)):
            count = f"{self.least} at least"
            if self.most is not None:
                count = " to ".join(dict.fromkeys([str(self.least), str(self.most)]))
            yield place, f"expected {count}, found {len(data)}"
        for key, value in data.items():
            yield from self.of.problems(value, (*place, key))


class Fields(Shape):
    """A mapping, or a table's row, with these keys. optional: keys that may be missing."""

    def __init__(self, optional: Mapping[str, Shape] | None = None, /, **required: Shape) -> None:
        self.required, self.optional = required, dict(optional or {})

    def problems(self, data: Any, place: Place) -> Problems:
        known = {**self.required, **self.optional}
        if not isinstance(data, Mapping):
            yield place, f"expected {', '.join(self.required or known)}, found {_kind(data)}"
            return
        for key in data:
            if key not in known:
                comma = "; numbers have a point" * str(key).isdigit()
                yield (*place, key), f"unknown; {nearest(key, known)}{comma}"
        for key in self.required:
            if key not in data:
                yield place, f"{key} is missing"
        for key, shape in known.items():
            if key in data:
                yield from shape.problems(data[key], (*place, key))


@dataclass
class Rows(Shape):
    """A table or list of mappings. unique: fields no two rows have alike."""

    row: Fields
    unique: Sequence[str] = ()
    least: int = 1

    def problems(self, data: Any, place: Place) -> Problems:
        if not isinstance(data, tuple):
            yield place, f"expected a list, a dash before each entry; found {_kind(data)}"
            return
        if len(data) < self.least:
            yield place, f"expected {self.least} rows at least, found {len(data)}"
        for i, row in enumerate(data):
            yield from self.row.problems(row, (*place, i))
        seen: dict[tuple[Any, ...], int] = {}
        for i, row in enumerate(data):
            key = tuple(row.get(field) for field in self.unique) if isinstance(row, Mapping) else ()
            if key and None not in key and seen.setdefault(key, i) != i:
                names = ", ".join(map(str, key))
                yield (*place, i, self.unique[0]), f"{names} stands in row {seen[key] + 1} too"


@dataclass
class TextOr(Shape):
    longer: Shape

    def problems(self, data: Any, place: Place) -> Problems:
        yield from (self.longer if isinstance(data, Mapping) else Text()).problems(data, place)


def _kind(data: Any) -> str:
    if data is None or (isinstance(data, Mapping) and not data):
        return "nothing"
    if isinstance(data, Mapping):
        return "names"
    if isinstance(data, tuple):
        return "a list"
    return str(data).lower() if isinstance(data, bool) else repr(data)


def not_the_whole(place: Place, name: str) -> Problems:
    """A problem if a person's group, category or axis has the name of the whole."""
    if name == WHOLE:
        yield place, f"{name!r} is what results call everything together; give it another name"


def one_of_groups(place: Place, value: str, known: Collection[str], what: str) -> Problems:
    """A problem where items name an axis, domain or emotion that the groups lack."""
    if value not in known:
        yield place, f"{value!r} is not one of the groups' {what} ({', '.join(known)})"


# ---- The files of a benchmark


@cache
def _items() -> Mapping[str, Path]:
    package = Path(__file__).parents[1]
    folders = [package / "data" / "items", *sorted(package.glob("benchmarks/*/items"))]
    return {path.name: path for folder in folders for path in sorted(folder.iterdir())}


def shipped(name: str) -> Path:
    return _items()[name]


def shipped_names() -> list[str]:
    return sorted(_items())


def _holds(data: Any) -> dict[str, int]:
    """Rows of a table; entries of each part of names."""
    if isinstance(data, tuple):
        return {"rows": len(data)}
    return {name: len(part) for name, part in data.items() if not isinstance(part, str)}


class ItemFile(NamedTuple):
    """One of the files that a benchmark is made of.

    default: its name in items/. shape: `Rows` for a table, else a mapping. more: (its data, data of
    the files before it) -> problems that no single field shows. holds: its data -> what and how
    many, for `lm-eval-bias check`.
    """

    default: str
    shape: Shape
    more: Callable[[Any, Data], Iterable[Problem]] | None = None
    holds: Callable[[Any], Mapping[str, int]] = _holds

    @property
    def is_table(self) -> bool:
        return isinstance(self.shape, Rows)

    def content(self, path: str | None) -> Content:
        if path is not None:
            return read(Path(path))
        return read(shipped(self.default), self.default)

    def problems(self, content: Content, others: Data | None) -> list[str]:
        """All problems, by line. others: data of the files before it; None if one is wrong."""
        problems = list(content.problems)
        if content.data is not None or not problems:
            if isinstance(content.data, tuple) != self.is_table:
                rows = "rows: a table, JSON lines or a list in YAML"
                expected = rows if self.is_table else "names: a mapping in YAML"
                return [content.message((), f"expected {expected}")]
            data = self.data(content)
            unread = {place for place, _ in problems}
            unlike = (
                (place, cause)
                for place, cause in self.shape.problems(data, ())
                if not any(place[:n] in unread for n in range(1, len(place) + 1))
            )
            problems += islice(unlike, COUNTED)
            if not problems and self.more and others is not None:
                problems += self.more(data, others)
        problems.sort(key=lambda problem: content.line(problem[0]))
        return [content.message(*problem) for problem in problems[:COUNTED]]

    def data(self, content: Content) -> Any:
        """A number in a table becomes a text."""
        return tuple(map(_texts, content.data)) if self.is_table else content.data


def _texts(row: Any) -> Any:
    if not isinstance(row, Mapping):
        return row
    return MappingProxyType(
        {k: str(value) if type(value) in (int, float) else value for k, value in row.items()}
    )


def load(known: Mapping[str, ItemFile], **paths: str | None) -> dict[str, Any]:
    """The content of a benchmark's files, by option; read-only.

    known: option -> its file; one may refer to those before it. paths: option -> a person's own
    file; None is the default. Raises UsageError with the problems of all files.
    """
    loaded: dict[str, Any] = {}
    problems: list[str] = []
    for option, file in known.items():
        content = file.content(paths.get(option))
        problems += file.problems(content, None if problems else loaded)
        loaded[option] = None if problems else file.data(content)
    if len(problems) == 1:
        raise UsageError(problems[0])
    if problems:
        listed = [f"{len(problems)} problems:", *(f"  {problem}" for problem in problems[:SHOWN])]
        if len(problems) > SHOWN:
            listed.append(f"  ... and {len(problems) - SHOWN} more")
        raise UsageError("\n".join(listed))
    return loaded


def checked(known: Mapping[str, ItemFile], **paths: str | None) -> dict[str, str]:
    """For a results file: a person's own files as option -> path, and option_sha256. Raises
    UsageError as `load` does."""
    load(known, **paths)
    named: dict[str, str] = {}
    for option, path in paths.items():
        if path is not None:
            named |= {option: path, f"{option}_sha256": sha256(Path(path))}
    return named


def file_fingerprints(options: Options) -> dict[str, str]:
    """For a record: {"items_file": "FILE sha256:0123456789ab"}."""
    return {
        f"{o}_file": f"{options[o]} sha256:{options[f'{o}_sha256'][:12]}"
        for o in OPTIONS
        if options.get(f"{o}_sha256")
    }


def with_resolved_paths(metadata: Options, yaml_file: str | Path | None) -> dict[str, Any]:
    """Metadata whose files are found from the working directory.

    A path is relative to it or to the YAML's folder. UsageError if both have such a file, and they
    differ.
    """
    result = dict(metadata)
    for option in OPTIONS:
        path = metadata.get(option)
        if not isinstance(path, str) or yaml_file is None or Path(path).is_absolute():
            continue
        here, beside = Path(path), Path(yaml_file).parent / path
        if not isfile(beside):
            continue
        if not isfile(here):
            inside = beside.resolve().is_relative_to(Path.cwd())
            result[option] = str(beside.resolve().relative_to(Path.cwd()) if inside else beside)
        elif sha256(here) != sha256(beside):
            raise UsageError(
                f"{option}={path}: the working directory and {beside.parent} have one each, and "
                "they differ; give its full path"
            )
    return result
