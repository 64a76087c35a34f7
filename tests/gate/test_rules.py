"""Files of rules: what is read, and the line of everything that is not."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_bias.gate.rules import Rule, check, parse, read
from lm_eval_bias.measure import Metric
from lm_eval_bias.results.escape import visible
from lm_eval_bias.usage import UsageError

WHOLE = """\
# what a release keeps
confidence: 0.99
rules:
  - {task: mine, metric: gap, below: 2}
  - task: mine
    metric: gap
    group: "a b"
    unit: points
    within: .5
  - {task: mine, metric: gap, above: -1e1}
  - {task: mine, metric: gap, worse_than_baseline_by: 0}
  - {task: "*", unusable: 10}
"""


def test_a_file_of_rules():
    rules = parse(WHOLE, "bias.yaml")
    assert rules.confidence == 0.99
    assert list(rules.rules) == [
        Rule(4, "mine", "below", 2.0, "gap"),
        Rule(5, "mine", "within", 0.5, "gap", "a b", "points"),
        Rule(10, "mine", "above", -10.0, "gap"),
        Rule(11, "mine", "worse_than_baseline_by", 0.0, "gap"),
        Rule(12, "*", "unusable", 10.0),
    ]
    assert parse("rules:\n- {task: t, metric: m, below: 1}\n", "f").confidence == 0.95


def wrong(text):
    with pytest.raises(UsageError) as error:
        parse(text, "bias.yaml")
    return str(error.value).splitlines()


ONE = "rules:\n  - {task: t, metric: m, BOUND}\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "line 1: the file is empty"),
        ("# nothing\n", "line 1: the file is empty"),
        ("rules:\n", "line 1: `rules` must be a list, a dash before each rule; found nothing"),
        ("rules: []\n", "line 1: the list of rules is empty: it would let everything pass"),
        ("confidence: 0.95\n", "line 1: there are no rules"),
        ("- {task: t, metric: m, below: 1}\n", "line 1: the file must be keys and values (confidence, rules), found a list"),
        ("hello\n", "line 1: the file must be keys and values (confidence, rules), found 'hello'"),
        ("rule:\n  - a\n", "line 1: unknown key 'rule' in the file; did you mean rules?"),
        ("rules:\n  - below 2\n", "line 2: a rule must be keys and values"),
        ("rules: {task: t}\n", "line 1: `rules` must be a list, a dash before each rule; found keys and values"),
        ("rules:\n  - {task: t, metric: m, bellow: 2}\n", "line 2: unknown key 'bellow' in a rule; did you mean below?"),
        ("rules:\n  - {task: t, metric: m, below: 2, below: 3}\n", "line 2: the key 'below' stands twice in a rule, first in line 2"),
        ("rules: []\nrules:\n  - {task: t, metric: m, below: 2}\n", "line 2: the key 'rules' stands twice in the file, first in line 1"),
        ("rules:\n  - {task: t, metric: m}\n", "line 2: a rule has exactly one of below, above, within, worse_than_baseline_by, unusable; found none"),
        ("rules:\n  - {task: t, metric: m, below: 2, above: 1}\n", "found below and above"),
        ("rules:\n  - {metric: m, below: 2}\n", "line 2: a rule needs a task"),
        ("rules:\n  - {task: t, below: 2}\n", "line 2: a rule with `below` needs a number: `metric: NAME`"),
        ('rules:\n  - {task: "*", metric: m, below: 2}\n', "line 2: `task: \"*\"` stands in a cap (`unusable`) alone"),
        ("rules:\n  - {task: t, metric: m, unusable: 2}\n", "line 2: a cap on unusable answers is of the whole task, in percent: it takes no `metric`"),
        ("rules:\n  - {task: t, unusable: 110}\n", "line 2: unusable: 110 is no percentage"),
        ("rules:\n  - {task: t, unusable: -1}\n", "line 2: unusable: -1 is no percentage"),
        ("rules:\n  - {task: 1, metric: m, below: 2}\n", "line 2: task: expected a name, found '1'; put it in quotes"),
        ("rules:\n  - {task: t, metric: m, group: no, below: 2}\n", "line 2: group: expected a name, found 'no'; put it in quotes"),
        ("rules:\n  - {task: t, metric: [m], below: 2}\n", "line 2: metric: expected a name, found a list"),
        ("rules:\n  - {task: t, metric: '', below: 2}\n", "line 2: metric: expected a name, found nothing"),
        (ONE.replace("BOUND", "below: .nan"), "line 2: below: expected a number such as 2 or 0.5, found '.nan'"),
        (ONE.replace("BOUND", "below: .inf"), "found '.inf'"),
        (ONE.replace("BOUND", "below: 1e999"), "found '1e999'"),
        (ONE.replace("BOUND", "below: 1.0e+999"), "found '1.0e+999'"),
        (ONE.replace("BOUND", 'below: "2"'), "found '2'"),
        (ONE.replace("BOUND", "below: yes"), "found 'yes'"),
        (ONE.replace("BOUND", "below: 010"), "found '010'"),
        (ONE.replace("BOUND", "below: 1:30"), "found '1:30'"),
        (ONE.replace("BOUND", "below: 1_0"), "found '1_0'"),
        (ONE.replace("BOUND", "below: 0x10"), "found '0x10'"),
        (ONE.replace("BOUND", "below: 2 points"), "found '2 points'"),
        (ONE.replace("BOUND", "below: 2,5"), "unknown key '5' in a rule"),
        (ONE.replace("BOUND", "below:"), "found nothing"),
        (ONE.replace("BOUND", "below: [2]"), "found a list"),
        (ONE.replace("BOUND", "below: !!python/object/apply:os.system [ls]"), "line 2"),
        (ONE.replace("BOUND", "within: 0"), "line 2: within: 0 would never hold"),
        (ONE.replace("BOUND", "worse_than_baseline_by: -1"), "line 2: worse_than_baseline_by: -1; expected how much worse"),
        (ONE.replace("BOUND", "below: 2, unit: pints"), "line 2: unknown unit 'pints'; did you mean points?"),
        ("confidence: 95\n" + ONE.replace("BOUND", "below: 2"), "line 1: confidence: 95; expected a number from 0.95 to below 1"),
        ("confidence: 0.9\n" + ONE.replace("BOUND", "below: 2"), "line 1: confidence: 0.9; expected a number from 0.95 to below 1"),
        ("confidence: 1\n" + ONE.replace("BOUND", "below: 2"), "line 1: confidence: 1; expected"),
        (ONE.replace("BOUND", "below: 2") + "  - {task: t, metric: m, below: 3}\n", "line 3: the rule of line 2 says `below` of the same number; keep one of them"),
        ("rules:\n  - {task: t, metric: m, below: 2\n", "no YAML"),
        ("rules:\n\t- {task: t}\n", "line 2: no YAML"),
        ("rules: *a\n", "line 1: anchors (&name) and aliases (*name) are not read"),
        ("a: &a [x]\nb: [*a, *a]\n", "line 1: anchors (&name)"),
        ("rules: []\n---\nrules: []\n", "no YAML"),
        ("rules: " + "[" * 3000 + "]" * 3000, "line 1: lists within lists, too deep"),
        ("rules:\n- \x00\n", "line 2: no YAML (a character that must not stand there: \\x00)"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_line(text, told):
    lines = wrong(text)
    assert any(told in line for line in lines), lines
    assert all(re.match(r"bias\.yaml, line \d+: ", line) for line in lines)


def test_all_mistakes_are_told_at_once_in_their_order():
    lines = wrong(
        "rules:\n  - {task: t, metric: m, bellow: 2}\n  - {task: t, below: 1}\nconfidence: x\n"
    )
    assert [re.search(r"line (\d+)", line)[1] for line in lines] == ["2", "2", "3", "4"]


def test_a_bomb_of_aliases_is_not_opened():
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{b}: &{b} [{', '.join(['*' + a] * 9)}]\n"
        for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    assert "anchors" in wrong(bomb)[0]


@given(
    st.text(max_size=200)
    | st.from_regex(
        r"rules:\n( *- ?\{?(task|below|metric|unusable): ?[^\n]{0,20}\}?\n){1,4}", fullmatch=True
    )
)
def test_any_text_is_read_or_told(text):
    try:
        parse(text, "f")
    except UsageError as error:
        assert all(visible(line) == line for line in str(error).splitlines())


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "cannot read"),
        (b"rules:\n- \xff\n", "line 2: no UTF-8"),
        (b"#" * (1 << 21), "larger than 256 KiB"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path, content, told):
    path = tmp_path / "bias.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=told):
        read(path)


def test_a_mark_of_byte_order_is_none_of_the_rules(tmp_path):
    path = tmp_path / "bias.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + WHOLE.encode())
    assert len(read(path).rules) == 5


# ---- Against the tasks

METRICS = {
    "mine": (
        Metric("gap", "points", "", null_value=0),
        Metric("delta", "SD", "", null_value=0, stderr=False),
        Metric("delta_low", "SD", "", stderr=False, bounds="delta"),
        Metric("share", "%", "", null_value=50),
        Metric("odd", "nats", ""),
        Metric("part", "share", ""),
        Metric("p", "p", "", stderr=False),
    )
}
GROUPS = {"mine": {"gap": ["looks", "behaviour"], "share": []}}


def checked(*said, baseline=True):
    rules = parse("rules:\n" + "".join(f"  - {{{each}}}\n" for each in said), "bias.yaml")
    check(rules, METRICS, GROUPS, baseline)


def test_names_that_are_there():
    checked(
        "task: mine, metric: gap, below: 2",
        "task: mine, metric: delta, within: 1",
        "task: mine, metric: gap, group: looks, worse_than_baseline_by: 1, unit: points",
        "task: mine, metric: part, below: 0.5",
        "task: '*', unusable: 5",
    )


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "task: mina, metric: gap, below: 2",
            "no task 'mina', neither here nor in the runs; did you mean mine?",
        ),
        ("task: mina, unusable: 2", "no task 'mina'"),
        ("task: mine, metric: gup, below: 2", "mine has no number 'gup'; did you mean gap?"),
        (
            "task: mine, metric: delta_low, below: 2",
            "delta_low of mine has no interval, so no rule can hold it; it is an end of the interval of delta",
        ),
        (
            "task: mine, metric: p, below: 0.05",
            "p of mine has no interval, so no rule can hold it; a rule can hold gap, delta, share, odd, part",
        ),
        (
            "task: mine, metric: gap, group: look, below: 2",
            "gap of mine has no group 'look'; did you mean looks?",
        ),
        (
            "task: mine, metric: share, group: looks, below: 2",
            "share of mine is not split into groups",
        ),
        ("task: mine, metric: gap, unit: '%', below: 2", "unit: %, but gap of mine is in points"),
        ("task: mine, metric: odd, within: 2", "odd of mine has no null value"),
        (
            "task: mine, metric: odd, worse_than_baseline_by: 2",
            "odd of mine has no direction that is worse",
        ),
        (
            "task: mine, metric: part, below: 10",
            "below: 10 can never be met or never be missed: part is a share, from 0 to 1",
        ),
        (
            "task: mine, metric: share, above: 0",
            "above: 0 can never be met or never be missed: share is in %, from 0 to 100",
        ),
        ("task: mine, metric: share, within: 101", "within: 101 can never"),
    ],
)
def test_a_name_that_does_not_fit_is_told_with_the_nearest(said, told):
    with pytest.raises(UsageError) as error:
        checked("task: '*', unusable: 5", said)
    assert str(error.value).startswith("bias.yaml, line 3: ") and told in str(error.value)


def test_a_change_needs_a_baseline():
    with pytest.raises(
        UsageError,
        match="line 2: `worse_than_baseline_by` compares with an older run; add --baseline FOLDER",
    ):
        checked("task: mine, metric: gap, worse_than_baseline_by: 1", baseline=False)
