"""Files of items and groups, ours and those that a person puts in their place: read, checked, and
named in the results.

One reader for tab-separated and comma-separated tables, JSON lines and YAML, and a few shapes that
say what a file must hold. All problems of a file are told at once, each with its line, its field
and its cause. A run and `lm-eval-bias check` do the same.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import yaml

from lm_eval_bias.data.downloads import sha256
from lm_eval_bias.usage import UsageError

OPTIONS = ("items", "groups", "data")
"""What `--metadata` may name a file for."""
SHOWN = 40
"""So many problems are listed; of the others there is a number."""
Place = tuple[Any, ...]
"""Where something stands in a file: the keys and the numbers of the entries that lead there."""
Found = tuple[Place, str]
"""A place, and what is wrong there."""


class Content(NamedTuple):
    """What a file holds, read-only. data: rows, or a mapping, or None. lines: place -> its line.
    problems: what could not be read."""

    name: str
    data: Any
    lines: Mapping[Place, int]
    problems: Sequence[Found]

    def line(self, place: Place) -> int:
        """The line of a place, or of the nearest that is around it."""
        return next(
            (self.lines[place[:n]] for n in range(len(place), -1, -1) if place[:n] in self.lines), 1
        )

    def told(self, place: Place, cause: str) -> str:
        """A problem as a person reads it: file, line, field and cause."""
        fields = place[1:] if isinstance(self.data, tuple) else place
        field = " > ".join(
            f"entry {key + 1}" if isinstance(key, int) else str(key) for key in fields
        )
        return f"{self.name}, line {self.line(place)}{', ' if field else ''}{field}: {cause}"


def read(path: Path | Any, name: str | None = None) -> Content:
    """A file by its ending: .tsv (no quoting), .csv, .jsonl or .yaml. name: what messages call it.

    Cells of a table are texts; YAML keeps its types. Raises UsageError for a file that cannot be
    opened or is of another kind.
    """
    name = name or str(path)
    kind = name.rpartition(".")[2].lower()
    if kind not in _READERS:
        raise UsageError(f"{name}: expected a file that ends in .tsv, .csv, .jsonl or .yaml")
    try:
        return _parsed(name, kind, path.read_bytes())
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror or error}") from error


@lru_cache(maxsize=32)
def _parsed(name: str, kind: str, content: bytes) -> Content:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        return Content(name, None, {(): line}, [((), "not UTF-8; save the file as UTF-8")])
    lines: dict[Place, int] = {}
    problems: list[Found] = []
    return Content(name, frozen(_READERS[kind](text, lines, problems)), lines, problems)


def _delimited(
    text: str, lines: dict[Place, int], problems: list[Found], **dialect: Any
) -> list[dict[str, str]]:
    reader = csv.reader(io.StringIO(text, newline=""), **dialect)
    header = next(reader, [])
    lines[()] = 1
    rows: list[dict[str, str]] = []
    start = reader.line_num + 1
    for cells in reader:
        if cells:
            lines[len(rows),] = start
            if len(cells) != len(header):
                problems.append(
                    (
                        (len(rows),),
                        f"expected {len(header)} fields as in the header, found {len(cells)}",
                    )
                )
            rows.append(dict(zip(header, cells, strict=False)))
        start = reader.line_num + 1
    return rows


def _tsv(text: str, lines: dict[Place, int], problems: list[Found]) -> list[dict[str, str]]:
    return _delimited(text, lines, problems, delimiter="\t", quoting=csv.QUOTE_NONE)


def _csv(text: str, lines: dict[Place, int], problems: list[Found]) -> list[dict[str, str]]:
    # a spreadsheet writes semicolons where the comma is for decimals
    header = text.partition("\n")[0]
    return _delimited(
        text, lines, problems, delimiter=";" if ";" in header and "," not in header else ","
    )


def _jsonl(text: str, lines: dict[Place, int], problems: list[Found]) -> list[Any]:
    rows: list[Any] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            lines[len(rows),] = number
            try:
                rows.append(json.loads(line))
            except ValueError as error:
                problems.append(((len(rows),), f"not JSON: {error}"))
                rows.append({})
    return rows


def _yaml(text: str, lines: dict[Place, int], problems: list[Found]) -> Any:
    """Plain data; every key is a text, as it is written."""

    def built(loader: yaml.SafeLoader, node: yaml.Node, place: Place) -> Any:
        lines.setdefault(place, node.start_mark.line + 1)
        if isinstance(node, yaml.SequenceNode):
            return [built(loader, each, (*place, i)) for i, each in enumerate(node.value)]
        if not isinstance(node, yaml.MappingNode):
            return loader.construct_object(node)
        mapping: dict[str, Any] = {}
        for key, value in node.value:
            inner = (*place, str(key.value))
            if inner[-1] in mapping:
                problems.append(
                    (inner, f"stands here twice, the second time in line {key.start_mark.line + 1}")
                )
                continue
            lines[inner] = key.start_mark.line + 1
            mapping[inner[-1]] = built(loader, value, inner)
        return mapping

    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        return None if node is None else built(loader, node, ())
    except yaml.MarkedYAMLError as error:
        lines[()] = error.problem_mark.line + 1 if error.problem_mark else 1
        problems.append(((), f"not YAML: {error.problem or error.context}"))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        problems.append(((), f"not YAML: {error}"))
    return None


_READERS: dict[str, Callable[[str, dict[Place, int], list[Found]], Any]] = {
    "tsv": _tsv,
    "csv": _csv,
    "jsonl": _jsonl,
    "yaml": _yaml,
    "yml": _yaml,
}


def frozen(data: Any) -> Any:
    """Plain data that nobody can change: read-only mappings in place of dicts, tuples in place of
    lists."""
    if isinstance(data, Mapping):
        return MappingProxyType({key: frozen(value) for key, value in data.items()})
    return tuple(map(frozen, data)) if isinstance(data, (list, tuple)) else data


# ---- What a file must hold


class Shape:
    """What stands at one place of a file. `problems` yields all that is wrong below it."""

    def problems(self, data: Any, place: Place = ()) -> Iterator[Found]:
        raise NotImplementedError


class Text(Shape):
    """A text that is not empty, nor padded with spaces; one of `choices` if there are any. Numbers
    in a table count as texts."""

    def __init__(self, choices: Sequence[str] = ()) -> None:
        self.choices = choices

    def problems(self, data, place=()):
        if not isinstance(data, str):
            quote = "; write it in quotes" if isinstance(data, (bool, int, float)) else ""
            yield place, f"expected a text, found {_shown(data)}{quote}"
        elif not data or data != data.strip():
            yield place, "empty" if not data.strip() else f"{data!r} begins or ends with a space"
        elif self.choices and data not in self.choices:
            yield place, f"{data!r} is not one of {', '.join(self.choices)}"


class Flag(Shape):
    """true or false."""

    def problems(self, data, place=()):
        if not isinstance(data, bool):
            yield place, f"expected true or false, found {_shown(data)}"


class Several(Shape):
    """A list of so many entries at least, no two of which are the same."""

    def __init__(self, of: Shape, least: int = 1) -> None:
        self.of, self.least = of, least

    def problems(self, data, place=()):
        if not isinstance(data, tuple):
            yield place, f"expected a list, found {_shown(data)}"
            return
        if len(data) < self.least:
            yield place, f"expected {self.least} entries at least, found {len(data)}"
        for i, each in enumerate(data):
            yield from self.of.problems(each, (*place, i))
            if isinstance(each, str) and each in data[:i]:
                yield (*place, i), f"{each!r} stands in this list twice"


class Named(Shape):
    """A mapping whose keys the file chooses, so many at least, and at most."""

    def __init__(self, of: Shape, least: int = 1, most: int | None = None) -> None:
        self.of, self.least, self.most = of, least, most

    def problems(self, data, place=()):
        if not isinstance(data, Mapping):
            yield place, f"expected names, each with what it stands for, found {_shown(data)}"
            return
        if len(data) < self.least or (self.most is not None and len(data) > self.most):
            count = (
                f"{self.least} at least"
                if self.most is None
                else str(self.most)
                if self.most == self.least
                else f"{self.least} to {self.most}"
            )
            yield place, f"expected {count}, found {len(data)}"
        for key, value in data.items():
            yield from self.of.problems(value, (*place, key))


class Fields(Shape):
    """A mapping, or a row of a table, whose keys are given. optional: may be left out."""

    def __init__(self, optional: Mapping[str, Shape] | None = None, /, **required: Shape) -> None:
        self.required, self.optional = required, dict(optional or {})

    def problems(self, data, place=()):
        known = {**self.required, **self.optional}
        if not isinstance(data, Mapping):
            yield place, f"expected {', '.join(self.required or known)}, found {_shown(data)}"
            return
        for key in data:
            if key not in known:
                yield (*place, key), f"unknown; expected {', '.join(known)}"
        for key in self.required:
            if key not in data:
                yield place, f"{key} is missing"
        for key, shape in known.items():
            if key in data:
                yield from shape.problems(data[key], (*place, key))


class Rows(Shape):
    """A table, or a list of mappings: so many rows at least, each with these fields. unique: fields
    no two rows have alike."""

    def __init__(self, row: Fields, unique: Sequence[str] = (), least: int = 1) -> None:
        self.row, self.unique, self.least = row, unique, least

    def problems(self, data, place=()):
        if len(data) < self.least:
            yield place, f"expected {self.least} rows at least, found {len(data)}"
        for i, row in enumerate(data):
            yield from self.row.problems(row, (*place, i))
        seen: dict[tuple[Any, ...], int] = {}
        for i, row in enumerate(data):
            key = tuple(row.get(field) for field in self.unique) if isinstance(row, Mapping) else ()
            if key and None not in key and seen.setdefault(key, i) != i:
                yield (
                    (*place, i, self.unique[0]),
                    f"{', '.join(map(str, key))} stands in row {seen[key] + 1} too",
                )


class TextOr(Shape):
    """A text, or something longer in its place."""

    def __init__(self, longer: Shape) -> None:
        self.longer = longer

    def problems(self, data, place=()):
        yield from (self.longer if isinstance(data, Mapping) else Text()).problems(data, place)


def _shown(data: Any) -> str:
    if data is None:
        return "nothing"
    if isinstance(data, Mapping):
        return "names" if data else "nothing"
    return (
        "a list"
        if isinstance(data, tuple)
        else str(data).lower()
        if isinstance(data, bool)
        else repr(data)
    )


WHOLE = "all"
"""What the rows of everything are called in the tables of results."""


def not_the_whole(place: Place, name: str) -> Iterator[Found]:
    """A problem where a person's own group, category or axis has the name of the whole, which would
    stand in its place."""
    if name == WHOLE:
        yield place, f"{name!r} is what results call everything together; give it another name"


# ---- The files of a benchmark


@cache
def _items() -> Mapping[str, Path]:
    package = Path(__file__).parents[1]
    folders = [package / "data" / "items", *sorted(package.glob("benchmarks/*/items"))]
    return {path.name: path for folder in folders for path in sorted(folder.iterdir())}


def shipped(name: str) -> Path:
    """The items file of that name which this package ships. KeyError if there is none."""
    return _items()[name]


def shipped_names() -> list[str]:
    """The names of all items files that this package ships."""
    return sorted(_items())


class ItemFile(NamedTuple):
    """One of the files that a benchmark is made of.

    ours: the file in items/ that stands there by default. shape: what it must hold; `Rows` for a
    table, else a mapping. more: (its data, the data of the files before it) -> problems that no
    single field shows. holds: its data -> a name and a number of each thing it holds, for
    `lm-eval-bias check`.
    """

    ours: str | None
    shape: Shape
    more: Callable[[Any, Mapping[str, Any]], Iterable[Found]] | None = None
    holds: Callable[[Any], Mapping[str, int]] = lambda data: {
        "rows" if isinstance(data, tuple) else "names": len(data)
    }

    @property
    def is_table(self) -> bool:
        return isinstance(self.shape, Rows)

    def content(self, path: str | None) -> Content:
        """Of a person's own file, or of ours."""
        if path is None:
            if self.ours is None:
                raise UsageError("there are no items; give a file with --metadata items=FILE")
            return read(shipped(self.ours), self.ours)
        return read(Path(path))

    def problems(self, content: Content, others: Mapping[str, Any] | None) -> list[str]:
        """All that is wrong with a file, by line. others: the data of the files before it; None
        where one of them has a problem."""
        found = list(content.problems)
        if content.data is not None or not found:
            if isinstance(content.data, tuple) != self.is_table:
                kind = (
                    "rows: a table, JSON lines or a list in YAML"
                    if self.is_table
                    else "names: a mapping in YAML"
                )
                return [content.told((), f"expected {kind}")]
            data = self.data(content)
            unread = {place for place, _ in found}
            wrong = list(self.shape.problems(data))
            found += [
                (place, cause)
                for place, cause in wrong
                if not any(place[:n] in unread for n in range(1, len(place) + 1))
            ]
            if not found and self.more and others is not None:
                found += self.more(data, others)
        return [
            content.told(*each) for each in sorted(found, key=lambda each: content.line(each[0]))
        ]

    def data(self, content: Content) -> Any:
        """What a file holds; a number in a table is a text."""
        return _texts(content.data) if self.is_table else content.data


def _texts(rows: Sequence[Any]) -> tuple[Any, ...]:
    """Rows whose numbers are texts, as in a table."""

    def text(value: Any) -> Any:
        return (
            str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value
        )

    return tuple(
        MappingProxyType({key: text(value) for key, value in row.items()})
        if isinstance(row, Mapping)
        else row
        for row in rows
    )


def load(known: Mapping[str, ItemFile], **paths: str | None) -> dict[str, Any]:
    """What the files of a benchmark hold, by option; read-only.

    known: option -> its file, in the order in which one may refer to another. paths: option -> a
    person's own file; None is ours. Raises UsageError that lists the problems of all files.
    """
    loaded: dict[str, Any] = {}
    problems: list[str] = []
    for option, file in known.items():
        path = paths.get(option)
        if path is not None and not isinstance(path, str):
            raise UsageError(f"{option}={path!r} in --metadata: expected the path of a file")
        content = file.content(path)
        problems += file.problems(content, None if problems else loaded)
        loaded[option] = None if problems else file.data(content)
    if len(problems) == 1:
        raise UsageError(problems[0])
    if problems:
        rest = len(problems) - SHOWN
        listed = [f"  {problem}" for problem in problems[:SHOWN]] + (
            [f"  ... and {rest} more"] if rest > 0 else []
        )
        raise UsageError("\n".join([f"{len(problems)} problems:", *listed]))
    return loaded


def checked(known: Mapping[str, ItemFile], **paths: str | None) -> dict[str, str]:
    """What a results file says of a person's own files: option -> path, and option_sha256. Raises
    UsageError as `load` does."""
    load(known, **paths)
    named: dict[str, str] = {}
    for option, path in paths.items():
        if path is not None:
            named |= {option: path, f"{option}_sha256": sha256(Path(path))}
    return named


def marks(options: Mapping[str, Any]) -> dict[str, str]:
    """What a record says of a person's own files: {"items_file": "FILE sha256:0123456789ab"};
    nothing where the items are ours."""
    return {
        f"{o}_file": f"{options[o]} sha256:{options[f'{o}_sha256'][:12]}"
        for o in OPTIONS
        if options.get(f"{o}_sha256")
    }


def located(metadata: Mapping[str, Any], yaml_file: str | Path | None) -> dict[str, Any]:
    """Metadata whose files are found from the working directory.

    A path is relative to the working directory or, as a YAML of one's own names it, to the folder
    of that YAML. UsageError where both have such a file, and they differ.
    """
    found = dict(metadata)
    for option in OPTIONS:
        path = metadata.get(option)
        if not isinstance(path, str) or yaml_file is None or Path(path).is_absolute():
            continue
        here, beside = Path(path), Path(yaml_file).parent / path
        if not beside.is_file():
            continue
        if here.is_file() and here.read_bytes() != beside.read_bytes():
            raise UsageError(
                f"{option}={path}: the working directory and {beside.parent} have one each, and they differ; give its full path"
            )
        if not here.is_file():
            inside = beside.resolve().is_relative_to(Path.cwd())
            found[option] = str(beside.resolve().relative_to(Path.cwd()) if inside else beside)
    return found
