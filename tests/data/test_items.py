"""The items, and that nobody changes what all tasks share."""

import pytest

from lm_eval_bias.data import lexicons as items
from lm_eval_bias.data import schema as item_files
from lm_eval_bias.data.content import frozen

NAMES = {
    suffix: sorted(
        name.removesuffix(suffix) for name in item_files.shipped_names() if name.endswith(suffix)
    )
    for suffix in (".tsv", ".yaml")
}


def parts(data):
    """Everything in some data that holds something."""
    if isinstance(data, (str, int, float, bool)) or data is None:
        return
    yield data
    for part in data.values() if hasattr(data, "values") else data:
        yield from parts(part)


@pytest.mark.parametrize("name", NAMES[".tsv"])
def test_nobody_can_change_a_table(name):
    table = items.table(name)
    assert items.table(name) is table and len(table) > 0
    with pytest.raises(TypeError):
        table[0] = {}
    for row in table:
        with pytest.raises(TypeError):
            row[next(iter(row))] = "other"
        with pytest.raises(TypeError):
            row["more"] = "other"


@pytest.mark.parametrize("name", NAMES[".yaml"])
def test_nobody_can_change_any_part_of_a_lexicon(name):
    lexicon = items.lexicon(name)
    assert items.lexicon(name) is lexicon
    for part in parts(lexicon):
        with pytest.raises(TypeError):
            part[next(iter(part)) if hasattr(part, "keys") else 0] = "other"


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
