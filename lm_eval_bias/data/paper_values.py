"""The results that papers print, to compare a new model with.

`items/*_paper_values.yaml` holds those of one paper:

- `paper`: its short name. `models`: as the tables call them -> full name, or null.
- `axes`: axis of a table -> name here -> as printed.
- `tasks`: name of a set -> our tasks that ask the same -> the fields of `Comparison`, and `only`
  (axis -> names). `{axis}` in a task's name, a metric or a column is the cell's name on that axis,
  in small letters.
- `tables`: name -> `axes`, `row`, `tasks` (a set, or one for each model), `numbers`, `values`, and
  `printed`: what the paper prints where that is no plain number.
- A number has a `unit` and its place in our results: `metric` and `group`, an axis; or `table` and
  `column`, in the row with the cell's names and the table's `row`. A null is not read.
- `values`: by model, axis, number; a mapping, a list in the order of the names, or one number.
- A text in the place of a list or mapping says where that stands: "tasks/all/hbb".
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.data.schema import Data, shipped_names
from lm_eval_bias.usage import Options

ENDING = "_paper_values"
Names = Mapping[str, str]
"""Axis -> name on it."""


class Comparison(NamedTuple):
    """A task that asks what a cell is about, and whether their numbers compare if it ran whole and
    with these settings. options: a tuple allows either value; generation: any of these settings."""

    task: str
    comparable: bool
    why: str
    options: Options = MappingProxyType({})
    generation: Sequence[Options] = ()
    system: str | None = None
    template: bool = False


class ResultCell(NamedTuple):
    """A column in our results files, in the rows with the values of `row`."""

    table: str
    column: str
    row: Data


class PaperCell(NamedTuple):
    """One number that a paper prints.

    value: in the number's unit; of a bound such as "<.001", that bound. printed: what the paper
    prints, if that is no plain number or a misprint. metric, group: the row of our table `numbers`
    with the same number; place: where else it is.
    """

    model: str
    names: Names
    number: str
    unit: str
    value: float
    printed: str | None
    metric: str | None
    group: str | None
    place: ResultCell | None
    comparisons: Sequence[Comparison]


class PaperTable(NamedTuple):
    """axes: axis -> name here -> as printed. numbers: name -> unit. models: name -> full name."""

    paper: str
    name: str
    axes: Mapping[str, Names]
    numbers: Mapping[str, str]
    models: Mapping[str, str]
    cells: Sequence[PaperCell]


def papers() -> list[str]:
    ending = f"{ENDING}.yaml"
    return [name.removesuffix(ending) for name in shipped_names() if name.endswith(ending)]


@cache
def tables(name: str) -> tuple[PaperTable, ...]:
    return tables_of(lexicon(f"{name}{ENDING}"))


def of_task(task: str) -> Iterator[tuple[str, PaperTable, PaperCell, Comparison]]:
    """File, table, cell and comparison, of what papers print of what a task asks."""
    for name in papers():
        for table in tables(name):
            for cell in table.cells:
                for comparison in cell.comparisons:
                    if comparison.task == task:
                        yield name, table, cell, comparison


def tables_of(file: Data) -> tuple[PaperTable, ...]:
    return tuple(_table(file, name, table) for name, table in file["tables"].items())


def _table(file: Data, name: str, table: Data) -> PaperTable:
    parts = {key: _at(file, table.get(key, ())) for key in ("axes", "numbers", "values")}
    axes = {axis: file["axes"][axis] for axis in parts["axes"]}
    values, numbers = parts["values"], parts["numbers"]
    cells = [
        _cell(file, {**table, **parts}, path, value)
        for path, value in _leaves(file, values, [values, *axes.values(), numbers])
        if numbers[path[-1]] is not None
    ]
    return PaperTable(
        paper=file["paper"],
        name=name,
        axes=axes,
        numbers={n: about["unit"] for n, about in numbers.items() if about is not None},
        models={model: file["models"][model] or model for model in values},
        cells=cells,
    )


def _at(file: Data, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    entry = file
    for key in value.split("/"):
        entry = entry[int(key)] if isinstance(entry, tuple) else entry[key]
    return entry


def _leaves(
    file: Data, values: Any, names: Sequence[Collection[str]]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """(name on each level, value). names: of each level."""
    if not names:
        yield (), values
        return
    if isinstance(values, str) and values[:1] not in "<>":
        values = _at(file, values)
    if not isinstance(values, Mapping):
        listed = values if isinstance(values, tuple | list) else [values]
        values = dict(zip(names[0], listed, strict=True))
    for name, below in values.items():
        for path, value in _leaves(file, below, names[1:]):
            yield (name, *path), value


def _cell(file: Data, table: Data, path: tuple[str, ...], value: Any) -> PaperCell:
    model, *on_axes, number = path
    about = table["numbers"][number]
    names = dict(zip(table["axes"], on_axes, strict=True))
    is_bound = isinstance(value, str)
    printed = table.get("printed", {})
    for name in path:
        printed = printed.get(name, {})
    column = about.get("column", "")
    row = {
        **table.get("row", {}),
        **{axis: name for axis, name in names.items() if f"{{{axis}}}" not in column},
    }
    tasks = about.get("tasks", table.get("tasks"))
    if isinstance(tasks, Mapping):
        tasks = tasks[model]
    return PaperCell(
        model=model,
        names=names,
        number=number,
        unit=about["unit"],
        value=float(value[1:] if is_bound else value),
        printed=printed or (value if is_bound else None),
        metric=about.get("metric"),
        group=names[about["group"]] if "group" in about else None,
        place=ResultCell(about["table"], _filled(column, names), row) if "table" in about else None,
        comparisons=() if tasks is None else tuple(_comparisons(file, tasks, names)),
    )


def _comparisons(file: Data, tasks: str, names: Names) -> Iterator[Comparison]:
    for pattern, value in file["tasks"][tasks].items():
        about = dict(_at(file, value))
        only = about.pop("only", {})
        if all(names[axis] in allowed for axis, allowed in only.items()):
            yield Comparison(_filled(pattern, names), **about)


def _filled(pattern: str, names: Names) -> str:
    """A pattern with names, in small letters, for each `{axis}`."""
    return pattern.format(**{axis: name.lower() for axis, name in names.items()})
