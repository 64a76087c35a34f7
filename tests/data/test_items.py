"""The items, and that nobody changes what all tasks share."""

from types import MappingProxyType

import pytest

from lm_eval_bias.data import lexicons as items, schema as item_files
from lm_eval_bias.data.content import read


def parts(data):
    """Everything in some data that holds something."""
    if isinstance(data, str | int | float | bool | None):
        return
    yield data
    for part in data.values() if hasattr(data, "values") else data:
        yield from parts(part)


@pytest.mark.parametrize(
    "name", [n for n in item_files.shipped_names() if n.endswith((".tsv", ".yaml"))]
)
def test_nobody_can_change_any_part_of_a_file(name):
    stem, _, kind = name.partition(".")
    read = {"tsv": items.table, "yaml": items.lexicon}[kind]
    assert read(stem) is read(stem) and len(read(stem)) > 0
    assert {type(part) for part in parts(read(stem))} <= {tuple, MappingProxyType}


@pytest.mark.parametrize("name", item_files.shipped_names())
def test_no_file_has_a_problem_or_an_empty_or_padded_cell(name):
    content = read(item_files.shipped(name), name)
    assert not content.problems
    if name.endswith(".tsv"):
        cells = [cell for row in content.data for cell in row.values()]
        assert cells and all(cell == cell.strip() != "" for cell in cells)
