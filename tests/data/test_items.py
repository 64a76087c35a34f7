"""The items, and that nobody changes what all tasks share."""

from types import MappingProxyType

import pytest

from lm_eval_bias.data import lexicons as items
from lm_eval_bias.data import schema as item_files


def parts(data):
    """Everything in some data that holds something."""
    if isinstance(data, (str, int, float, bool)) or data is None:
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
