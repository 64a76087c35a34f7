"""The items, and that nobody changes what all tasks share."""

from types import MappingProxyType

import pytest

from lm_eval_bias.data import lexicons as items
from lm_eval_bias.data import schema as item_files
from lm_eval_bias.data.content import frozen


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


def test_frozen_data_are_a_copy_that_equals_what_it_was_made_of():
    data = {"a": [1, {"b": [None, "x"]}], "c": 2.5}
    copy = frozen(data)
    data["a"][1]["b"].append("y")
    assert copy == {"a": (1, {"b": (None, "x")}), "c": 2.5}


@pytest.mark.parametrize("line", ["x\t", "x\t y", "x\ty\tz", "x"])
def test_an_empty_padded_or_superfluous_field_is_told_with_its_line(line, monkeypatch, tmp_path):
    (tmp_path / "made_up.tsv").write_text(f"one\ttwo\na\tb\n{line}\n")
    monkeypatch.setattr(items, "shipped", lambda name: tmp_path / name)
    with pytest.raises(ValueError, match=r"items file made_up\.tsv, line 3"):
        items.table("made_up")
