"""What a data file holds, with the line of every value: .tsv, .csv, .jsonl and .yaml."""

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import yaml

from lm_eval_bias.data.bounds import DEEPEST, DIGITS, TOO_DEEP, TOO_MANY, VALUES, content_of, loads
from lm_eval_bias.usage import UsageError

Place = tuple[Any, ...]
"""Where a value stands: the keys and the numbers of the entries that lead there."""
Lines = dict[Place, int]
"""Where a place begins."""
Problem = tuple[Place, str]
"""A place, and what is wrong there."""


class Content(NamedTuple):
    """data: rows, names or None, read-only. lines: place -> line. problems: what could not be
    read."""

    name: str
    data: Any
    lines: Mapping[Place, int]
    problems: Sequence[Problem]

    def line(self, place: Place) -> int:
        """Of a place, or of the nearest around it."""
        around = (place[:n] for n in range(len(place), -1, -1))
        return next((self.lines[outer] for outer in around if outer in self.lines), 1)

    def message(self, place: Place, cause: str) -> str:
        fields = place[1:] if isinstance(self.data, tuple) else place
        field = " > ".join(f"entry {k + 1}" if isinstance(k, int) else str(k) for k in fields)
        return f"{self.name}, line {self.line(place)}{', ' if field else ''}{field}: {cause}"


def read(path: Path, name: str | None = None, kind: str | None = None) -> Content:
    """A file. Cells of a table are texts; JSON and YAML keep their types.

    name: what messages call it. kind: by default its ending. Raises UsageError for a file that
    cannot be opened or has another ending.
    """
    name = name or str(path)
    kind = kind or name.rpartition(".")[2].lower()
    if kind not in _READERS:
        raise UsageError(f"{name}: expected a file that ends in .tsv, .csv, .jsonl or .yaml")
    return parsed(name, kind, content_of(path))


@lru_cache(maxsize=32)
def parsed(name: str, kind: str, content: bytes) -> Content:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        return Content(name, None, {(): line}, [((), "not UTF-8; save the file as UTF-8")])
    lines: Lines = {}
    problems: list[Problem] = []
    return Content(name, frozen(_READERS[kind](text, lines, problems)), lines, problems)


def frozen(data: Any) -> Any:
    """A read-only copy: mapping proxies for dicts, tuples for lists."""
    if isinstance(data, Mapping):
        return MappingProxyType({key: frozen(value) for key, value in data.items()})
    return tuple(map(frozen, data)) if isinstance(data, list | tuple) else data


# ---- Tables and JSON lines


_SEPARATOR = re.compile(r'"?sep=([,;\t|])[",;\t |]*(?:\r\n?|\n)', re.I)
"""The first line with which spreadsheets tell each other the sign between fields."""
_QUOTES = {"“": "“”", "„": "“”", "”": "”", "«": "»", "»": "«", "‘": "’", "‚": "‘’", '"': '"'}
"""A mark that opens, and those that may close it. They are quotes to people alone; a straight one
is no quote in a .tsv, and does not reach the rows of a .csv."""


def _delimited(
    text: str, lines: Lines, problems: list[Problem], delimiter: str, **dialect: Any
) -> list[dict[str, str]]:
    """Columns without a title and rows without text, which spreadsheets leave, do not count."""
    before = 0
    if separator := _SEPARATOR.match(text):
        text, delimiter, before = text[separator.end() :], separator[1], 1
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, **dialect)
    rows: list[dict[str, str]] = []
    lines[()] = start = before + 1
    try:
        header = [title if title.strip() else "" for title in next(reader, [])]
        while header and not header[-1]:
            header.pop()
        if twice := {title for title in header if title and header.count(title) > 1}:
            problems.append(((), f"two columns are called {', '.join(sorted(twice))}"))
        problems += (((), cause) for title in header if (cause := _quoted(title)))
        start = before + reader.line_num + 1
        for cells in reader:
            if len(rows) == VALUES:
                raise csv.Error(TOO_MANY)
            if any(map(str.strip, cells)):
                place = (len(rows),)
                lines[place] = start
                while len(cells) > len(header) and not cells[-1].strip():
                    cells.pop()
                if len(cells) != len(header):
                    fields = f"expected {len(header)} fields as in the header, found {len(cells)}"
                    if any(cell.lstrip()[:1] in {*_QUOTES} - {'"'} for cell in cells):
                        fields += _STRAIGHT
                    problems.append((place, fields))
                pairs = [*zip(header, cells, strict=False)]
                if any(cell.strip() for title, cell in pairs if not title):
                    problems.append((place, "a field stands in a column without a title"))
                row = {title: cell for title, cell in pairs if title}
                problems += (
                    ((*place, name), cause)
                    for name, cell in row.items()
                    if (cause := _quoted(cell))
                )
                rows.append(row)
            start = before + reader.line_num + 1
    except csv.Error as error:  # a field of more than 131,072 characters, too
        lines[len(rows),] = start
        quote = _CLOSED if "expected" in str(error) else ""
        problems.append(((len(rows),), f"not a table: {error}{quote}"))
    return rows


_CLOSED = """; a " is not closed, or closed within a field"""
_STRAIGHT = """; quotes around a field are straight ("), others are part of the text"""


def _quoted(cell: str) -> str:
    """What is wrong with a cell in quotes that no .csv or .tsv knows."""
    cell = cell.strip()
    closing = _QUOTES.get(cell[:1], "")
    inside = {*cell[1:-1].replace('""', "")}  # doubled by a spreadsheet
    if len(cell) < 2 or cell[-1] not in closing or inside & {cell[0], *closing}:
        return ""
    return (
        f"{cell[0]} and {cell[-1]} around the whole field would be asked as part of it; leave them "
        "out, or write the file as .jsonl to keep them"
    )


def _csv(text: str, lines: Lines, problems: list[Problem]) -> list[dict[str, str]]:
    # a spreadsheet writes semicolons where the comma is for decimals
    header = re.split(r"[\r\n]", text, maxsplit=1)[0]
    delimiter = next((d for d in ",;\t" if d in header), ",")
    return _delimited(text, lines, problems, delimiter, strict=True)


def _jsonl(text: str, lines: Lines, problems: list[Problem]) -> list[Any]:
    rows: list[Any] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            lines[len(rows),] = number
            if len(rows) == VALUES:
                problems.append(((VALUES,), TOO_MANY))
                break
            try:
                rows.append(loads(line, strict=True))
            except ValueError as error:
                problems.append(((len(rows),), str(error)))
                rows.append({})
    return rows


# ---- YAML


_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # of C ten times as fast


class PlainLoader(_SafeLoader):
    """YAML without deep nesting, anchors and aliases, by which a few lines stand for billions of
    values."""

    def __init__(self, text: str):
        if odd := yaml.reader.Reader.NON_PRINTABLE.search(text):
            mark: Any = yaml.Mark("", 0, text.count("\n", 0, odd.start()), 0, None, 0)
            raise yaml.MarkedYAMLError(None, None, f"the character {odd[0]!a} is not allowed", mark)
        depth = 0
        for number, event in enumerate(yaml.parse(text, _SafeLoader)):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            wrong = ""
            if getattr(event, "anchor", None) is not None:
                wrong = "anchors (&name) and aliases (*name) are not read; write the value out"
            elif depth > DEEPEST:
                wrong = TOO_DEEP
            elif number == VALUES:
                wrong = TOO_MANY
            if wrong:
                mark = event.start_mark
                raise yaml.MarkedYAMLError(None, None, wrong, mark)
        super().__init__(text)


def plain(text: str, loader: Any = PlainLoader) -> Any:
    """Raises ValueError that says what is wrong, with the line."""
    try:
        return yaml.load(text, loader)
    except (yaml.YAMLError, ValueError) as error:
        raise ValueError("line {}: {}".format(*_wrong(error))) from None


def _wrong(error: Exception) -> tuple[int, str]:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    cause = getattr(error, "problem", None) or getattr(error, "context", None) or error
    return mark.line + 1 if mark else 1, f"not YAML: {cause}"


class Loader(PlainLoader):
    """Only plain decimal numbers are numbers; 010, 1:30, 1_0 and dates are texts."""


_TAG = "tag:yaml.org,2002:"
Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag in (_TAG + "null", _TAG + "bool")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_NUMBER = r"[-+]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][-+]?\d+)?$"
_INTEGER = rf"[-+]?(0|[1-9]\d{{0,{DIGITS - 1}}})$"
Loader.add_implicit_resolver(_TAG + "int", re.compile(_INTEGER), list("-+0123456789"))
Loader.add_implicit_resolver(_TAG + "float", re.compile(_NUMBER), list("-+.0123456789"))


def _yaml(text: str, lines: Lines, problems: list[Problem]) -> Any:
    """Every key is a text, as written."""

    def built(loader: Loader, node: yaml.Node, place: Place) -> Any:
        lines.setdefault(place, node.start_mark.line + 1)
        if isinstance(node, yaml.SequenceNode):
            return [built(loader, entry, (*place, i)) for i, entry in enumerate(node.value)]
        if not isinstance(node, yaml.MappingNode):
            return loader.construct_object(node)
        mapping = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                problems.append((place, f"a key in line {line} is no text"))
                continue
            inner = (*place, key.value)
            if key.value in mapping:
                problems.append((inner, f"stands here twice, the second time in line {line}"))
                continue
            lines[inner] = line
            mapping[key.value] = built(loader, value, inner)
        return mapping

    lines[()] = 1
    try:
        loader = Loader(text)
        node = loader.get_single_node()
        return None if node is None else built(loader, node, ())
    except (yaml.YAMLError, ValueError) as error:
        lines[()], cause = _wrong(error)
        problems.append(((), cause))
    return None


_READERS: dict[str, Callable[[str, Lines, list[Problem]], Any]] = {
    "tsv": partial(_delimited, delimiter="\t", quoting=csv.QUOTE_NONE),
    "csv": _csv,
    "jsonl": _jsonl,
    "yaml": _yaml,
    "yml": _yaml,
}
