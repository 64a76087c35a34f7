"""`lm-eval-bias check`."""

import pytest
import yaml

GROUPS = {
    "groups": {
        "A": {"domain": "d", "side": "a", "identifiers": ["x"]},
        "B": {"domain": "d", "side": "b", "identifiers": ["y"]},
    },
    "attributes": {"q": {"positive": ["good"], "negative": ["bad"]}},
}


@pytest.fixture
def folder(here):
    (here / "groups.yaml").write_text(yaml.safe_dump(GROUPS, sort_keys=False))
    return here


def test_a_file_without_problems_is_summed_up(folder, command):
    # 50 samples x 1 pair x 1 dimension x 3 templates
    expected = (
        "groups.yaml: groups of mist_wabt: 2 groups, 1 pairs, 2 identifiers, 1 dimensions, 0 "
        "neutral words\n150 documents\n"
    )
    assert command("check", "groups.yaml", "--for", "mist_wabt") == (0, expected, "")


@pytest.mark.parametrize(
    "arguments, message",
    [
        # which mist_wabt does not need
        ("groups.yaml --for mist_aat", "bias: groups.yaml, line 1: neutral_words is missing"),
        ("groups.yaml --for mist_wabbt", "no task 'mist_wabbt'; did you mean mist_wabt?"),
        (
            "rows.tsv --for mist_wabt",
            "rows.tsv holds a table, but mist_wabt takes groups, names in YAML",
        ),
        (
            "groups.yaml groups.yaml --for hbb",
            "stand for the same option; give one file for each of groups, items",
        ),
        ("empty.yaml --for hbb", "empty.yaml is empty"),
        ("broken.yaml --for hbb", "broken.yaml, line 2: not YAML:"),
        ("groups.yaml --for bare --include_path mine", "bare takes no file of items or groups"),
    ],
)
def test_mistakes_end_with_one_line(folder, command, arguments, message):
    (folder / "rows.tsv").write_text("a\tb\n1\t2\n")
    (folder / "empty.yaml").write_text("")
    (folder / "broken.yaml").write_text("a: [\n")
    (folder / "mine").mkdir()
    (folder / "mine" / "bare.yaml").write_text("task: bare\n")
    status, out, said = command("check", *arguments.split())
    assert status == 1 and not out and message in said and len(said.splitlines()) == 1
