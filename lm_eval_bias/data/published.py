"""The results that papers print, so that a new model stands among known ones:
`items/*_published.yaml` as plain named tuples.

A file holds one paper. Its keys:

- `paper`: its short name, as in the tasks' metadata. `models`: each model as the tables call it ->
  its full name in the paper, or null.
- `axes`: what the rows and columns of tables stand for beside models: axis -> name here -> as
  printed. The names are those of our results
files, where these have the number.
- `tasks`: name of a set -> our tasks that ask the same -> `comparable` (true or false), `why` (one
  sentence; of a comparable one, what
differs still), `options` (those with which the task must be run to be comparable) and `only` (axis
-> names, for a task that asks a part of the table). `{axis}` in a task's name stands for the cell's
name on that axis, in small letters.
- `tables`: name of the table or section -> `section` (which has it or tells of it), `caption`,
  `note` (what is odd in it), `axes`, `row`,
`tasks` (a set), `numbers`, `values`, and `printed`, which is shaped as `values` and has what the
paper prints where that is no plain number.
- A number has a `unit` (one of `measure.UNITS`) and, where a task of ours reports it, its place in
  the task's results: `metric`, one or
several of the table `numbers`, and `group`, the axis whose name is that table's group; or `table`
and `column`, in the row that has the cell's names, and what the table's `row` adds. `{axis}` in a
metric or a column is as in a task's name; that axis is none of the row's names then. It may have a
set of `tasks` of its own. A number that is null is not read.
- `values`: by model, then by axis, then by number. Each level is a mapping by name, which may lack
  some, or a list in the order of the
names; where there is but one number, it stands alone. A text is the key of the values at the top of
the file. "<.001" is a bound.

So values that are nested in this order need a description alone: with `tables: {Table 13: {...,
axes: [dimension], values: table_13}}` a file that has `table_13: {MODEL: {DIMENSION: {NUMBER:
0.1}}}` is read, too. A file without `tables` is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.data.schema import shipped_names

ENDING = "_published"
Names = Mapping[str, str]
"""Axis -> name on it."""


class Comparison(NamedTuple):
    """A task of ours that asks what a cell is about. comparable: whether its number compares with
    the cell, if the task was run whole and with `options`. why: one sentence; of a comparable one,
    what differs still."""

    task: str
    comparable: bool
    why: str
    options: Mapping[str, Any]


class Place(NamedTuple):
    """A cell of a table of our results files: the rows in which each column of `row` has that
    value, and one more column."""

    table: str
    column: str
    row: Mapping[str, Any]


class PaperCell(NamedTuple):
    """One number that a paper prints.

    names: where it stands, beside its model and its number. value: in the number's unit; of a
    bound, that bound. bound: "<" or ">", else "". printed: what the paper prints, where that is no
    plain number, or is misprinted; else None. metrics and group: the rows of the table `numbers` of
    our results that are the same number; place: where else it is. comparisons: with which tasks of
    ours.
    """

    model: str
    names: Names
    number: str
    unit: str
    value: float
    bound: str
    printed: str | None
    metrics: tuple[str, ...]
    group: str | None
    place: Place | None
    comparisons: tuple[Comparison, ...]


class PaperTable(NamedTuple):
    """A table of a paper, or what one of its sections tells in numbers.

    section: which has it or tells of it. note: what is odd in it, None if nothing is. axes: axis ->
    name here -> as printed. numbers: their names and units, in the order of print. models: in the
    order of print -> full name.
    """

    paper: str
    name: str
    section: str
    caption: str
    note: str | None
    axes: Mapping[str, Names]
    numbers: Mapping[str, str]
    models: Mapping[str, str]
    cells: tuple[PaperCell, ...]


def papers() -> list[str]:
    """The names of the files in items/, without `_published.yaml`."""
    found = [
        name.removesuffix(".yaml") for name in shipped_names() if name.endswith(f"{ENDING}.yaml")
    ]
    return [name.removesuffix(ENDING) for name in found if "tables" in lexicon(name)]


@cache
def tables(name: str) -> tuple[PaperTable, ...]:
    """The tables of one of the `papers`, in the order of the file."""
    return tables_of(lexicon(f"{name}{ENDING}"))


def of_task(task: str) -> Iterator[tuple[str, PaperTable, PaperCell, Comparison]]:
    """All that papers print of what a task asks: file, table, cell, and how the cell compares."""
    for name in papers():
        for table in tables(name):
            for cell in table.cells:
                for comparison in cell.comparisons:
                    if comparison.task == task:
                        yield name, table, cell, comparison


def tables_of(file: Mapping[str, Any]) -> tuple[PaperTable, ...]:
    """The tables of a file's content. ValueError, KeyError for a name that the file does not
    explain."""
    return tuple(_table(file, name, table) for name, table in file["tables"].items())


def _table(file: Mapping[str, Any], name: str, table: Mapping[str, Any]) -> PaperTable:
    axes = {axis: file["axes"][axis] for axis in table.get("axes", ())}
    values = file[table["values"]] if isinstance(table["values"], str) else table["values"]
    numbers = table["numbers"]
    try:
        cells = [
            _cell(file, table, path, value)
            for path, value in _leaves(
                values, [list(values), *map(list, axes.values()), list(numbers)]
            )
            if numbers[path[-1]] is not None
        ]
    except ValueError as error:
        raise ValueError(f"{file['paper']}, {name}: {error}") from error
    return PaperTable(
        paper=file["paper"],
        name=name,
        section=table["section"],
        caption=table["caption"],
        note=table.get("note"),
        axes=MappingProxyType(axes),
        numbers=MappingProxyType(
            {number: about["unit"] for number, about in numbers.items() if about is not None}
        ),
        models=MappingProxyType({model: file["models"][model] or model for model in values}),
        cells=tuple(cells),
    )


def _leaves(values: Any, names: Sequence[Sequence[str]]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """(name on each level, value) of nested values. names: those of each level."""
    if not names:
        yield (), values
        return
    if isinstance(values, Mapping):
        unknown = [key for key in values if key not in names[0]]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is none of {', '.join(names[0])}")
        found = list(values.items())
    elif isinstance(values, (tuple, list)):
        if len(values) != len(names[0]):
            raise ValueError(
                f"expected {len(names[0])} values, for {', '.join(names[0])}, found {len(values)}: {values}"
            )
        found = list(zip(names[0], values, strict=True))
    elif len(names) == 1 == len(names[0]):
        found = [(names[0][0], values)]
    else:
        raise ValueError(f"expected values for {', '.join(names[0])}, found {values!r}")
    for name, below in found:
        for path, value in _leaves(below, names[1:]):
            yield (name, *path), value


def _cell(
    file: Mapping[str, Any], table: Mapping[str, Any], path: tuple[str, ...], value: Any
) -> PaperCell:
    model, *on_axes, number = path
    about = table["numbers"][number]
    names = dict(zip(table.get("axes", ()), on_axes, strict=True))
    bound, figure = _read(value)
    printed: Any = table.get("printed", {})
    for name in path:
        printed = printed.get(name, {})
    metrics = about.get("metric", ())
    metrics = (metrics,) if isinstance(metrics, str) else tuple(metrics)
    column = about.get("column", "")
    row = {
        **table.get("row", {}),
        **{axis: name for axis, name in names.items() if f"{{{axis}}}" not in column},
    }
    tasks = about.get("tasks", table.get("tasks"))
    return PaperCell(
        model=model,
        names=MappingProxyType(names),
        number=number,
        unit=about["unit"],
        value=figure,
        bound=bound,
        printed=printed or (value if bound else None),
        metrics=tuple(_filled(metric, names) for metric in metrics),
        group=names[about["group"]] if "group" in about else None,
        place=Place(about["table"], _filled(column, names), MappingProxyType(row))
        if "table" in about
        else None,
        comparisons=() if tasks is None else tuple(_comparisons(file["tasks"][tasks], names)),
    )


def _read(value: Any) -> tuple[str, float]:
    """(bound, value) of 0.1 and of "<.001"."""
    if isinstance(value, str):
        read = re.fullmatch(r"([<>])\s*(-?\d*\.?\d+)", value)
        if read is None:
            raise ValueError(f"{value!r} is neither a number nor a bound such as '<.001'")
        return read[1], float(read[2])
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{value!r} is no number")
    return "", float(value)


def _comparisons(tasks: Mapping[str, Any], names: Names) -> Iterator[Comparison]:
    for pattern, about in tasks.items():
        if all(names[axis] in allowed for axis, allowed in about.get("only", {}).items()):
            yield Comparison(
                _filled(pattern, names),
                about["comparable"],
                about["why"],
                about.get("options", MappingProxyType({})),
            )


def _filled(pattern: str, names: Names) -> str:
    """A pattern with the names on the axes, in small letters, in the place of `{axis}`."""
    return pattern.format(**{axis: name.lower() for axis, name in names.items()})
