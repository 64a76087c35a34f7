"""Files of rules: what is read, and the line of everything that is not."""

import re
from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st

from lm_eval_bias.gate.rules import Rule, check, read
from lm_eval_bias.measure import Metric
from lm_eval_bias.usage import UsageError
from tests.gate.judged import parse
from tests.mistakes import refused

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


def test_a_file_of_rules(tmp_path):
    path = tmp_path / "bias.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + WHOLE.encode())  # with a byte order mark
    rules = read(path)
    assert rules.confidence == 0.99
    assert list(rules.rules) == [
        Rule(4, "mine", "below", 2.0, "gap"),
        Rule(5, "mine", "within", 0.5, "gap", "a b", "points"),
        Rule(10, "mine", "above", -10.0, "gap"),
        Rule(11, "mine", "worse_than_baseline_by", 0.0, "gap"),
        Rule(12, "*", "unusable", 10.0),
    ]
    assert parse("rules:\n- {task: t, metric: m, below: 1}\n").confidence == 0.95


def wrong(text):
    with pytest.raises(UsageError) as error:
        parse(text)
    return str(error.value).splitlines()


# The second part of a case is a part of the message. NUMBER: "a number was expected, found ...".
MISTAKES = [
    ("", "line 1: expected rules, found nothing; write `rules:`"),
    ("rules: []\n", "line 1, rules: expected 1 rows at least, found 0"),
    ("confidence: 0.95\n", "line 1: rules is missing; write `rules:`"),
    ("- {task: t, metric: m, below: 1}\n", "line 1: expected rules, found a list"),
    ("rule:\n  - a\n", "line 1, rule: unknown; did you mean rules?"),
    ("rules:\n  - below 2\n", "line 2, rules > entry 1: expected task, found 'below 2'"),
    ("rules: {task: t}\n", "line 1, rules: expected a list, a dash before each entry; found names"),
    ("R{task: t, metric: m, bellow: 2}\n", "entry 1 > bellow: unknown; did you mean below?"),
    (
        "R{task: t, metric: m, below: 2, below: 3}\n",
        "line 2, rules > entry 1 > below: stands here twice, the second time in line 2",
    ),
    (
        "R{task: t, metric: m}\n",
        "a rule has exactly one of below, above, within, worse_than_baseline_by, "
        "worse_than_baseline, unusable; "
        "found none",
    ),
    ("R{task: t, metric: m, below: 2, above: 1}\n", "found below and above"),
    ("R{metric: m, below: 2}\n", "line 2, rules > entry 1: task is missing"),
    ("R{task: t, below: 2}\n", "below: a bound on which number? Add `metric: NAME`"),
    ('R{task: "*", metric: m, below: 2}\n', "task: `*` is for a cap (`unusable`) alone"),
    ("R{task: t, metric: m, unusable: 2}\n", "metric: a cap on unusable answers is on the whole"),
    ("R{task: t, unusable: 110}\n", "unusable: 110 is no percentage"),
    ("R{task: t, unusable: -1}\n", "unusable: -1 is no percentage"),
    ("R{task: t, metric: m, group: no, below: 2}\n", "group: expected a text, found false; write"),
    *(
        (f"Rbelow: {value}, task: t, metric: m}}\n".replace("R", "R{", 1), "expected a number")
        for value in (".nan", "1e999", '"2"', "yes", "1:30", "2 points", "")
    ),
    ("R{task: t, metric: m, below: 2,5}\n", "entry 1 > 5: unknown"),
    ("R{task: *, unusable: 10}\n", "not YAML: did not find expected alphabetic or numeric"),
    ("R{task: *, unusable: 10}\n", 'below: 2}` or `- {task: "*", unusable: 10}`'),
    (
        "R{task: t, metric: m, worse_than_baseline: 0.1}\n",
        "worse_than_baseline: 0.1 is not one of significantly",
    ),
    ("R{task: t, metric: m, below: 2, unit: pints}\n", "unit: 'pints' is not one of %, points"),
    ("confidence: 1\nR{task: t, metric: m, below: 2}\n", "line 1, confidence: 1; expected"),
    ("confidence: 0.9\nR{task: t, metric: m, below: 2}\n", "0.9; expected a number from 0.95"),
    (
        "R{task: t, metric: m, below: 2}\n  - {task: t, metric: m, below: 3}\n",
        "line 3, rules > entry 2 > below: the same number and condition as in line 2",
    ),
    ("R{task: t, metric: m, below: 2\n", "not YAML"),
]


def test_a_mistake_names_its_line():
    failed = []
    for text, message in MISTAKES:
        lines = wrong(re.sub("^R", "rules:\n  - ", text, flags=re.M))
        if not any(message in line for line in lines) or not all(
            re.match(r"bias\.yaml, line \d+[:,] ", line) for line in lines
        ):
            failed.append((text, message, lines))
    assert not failed


def test_all_mistakes_of_a_kind_are_listed_in_their_order():
    for text in (
        "rules:\n  - {task: t, metric: m, bellow: 2}\n  - {below: 1}\nconfidence: x\n",
        "rules:\n  - {task: t, metric: m}\n  - {task: t, below: 1}\nconfidence: 2\n",
    ):
        assert [re.search(r"line (\d+)", line)[1] for line in wrong(text)] == ["2", "3", "4"]


@given(
    st.text(max_size=200)
    | st.from_regex(
        r"rules:\n( *- ?\{?(task|below|metric|unusable): ?[^\n]{0,20}\}?\n){1,4}", fullmatch=True
    )
)
def test_any_text_gives_rules_or_a_message(text):
    try:
        parse(text)
    except UsageError as error:
        assert str(error).startswith("bias.yaml, line ")


def test_a_file_that_cannot_be_read(tmp_path):
    path = tmp_path / "bias.yaml"
    with refused("cannot read"):
        read(path)
    path.write_bytes(b"rules:\n- \xff\n")
    with refused("line 2: not UTF-8"):
        read(path)


# ---- Against the tasks

METRICS = (
    Metric("gap", "points", "", null_value=0),
    Metric("delta", "SD", "", null_value=0),
    Metric("share", "%", "", null_value=50),
    Metric("odd", "nats", ""),
    Metric("part", "share", ""),
    Metric("p", "p", "", stderr=False),
)
TASKS = dict.fromkeys(("mine", "other"), SimpleNamespace(measure=SimpleNamespace(metrics=METRICS)))
GROUPS = ["looks", "behaviour"]
RUN = SimpleNamespace(task="mine", metrics=METRICS, by_group=lambda name: GROUPS * (name == "gap"))


def checked(*rows):
    rules = parse("rules:\n" + "".join(f"  - {{{row}}}\n" for row in rows))
    check(rules, [RUN], TASKS, [RUN])


def test_names_that_exist():
    checked(
        "task: mine, metric: gap, below: 2",
        "task: mine, metric: delta, within: 1",
        "task: mine, metric: gap, group: looks, worse_than_baseline_by: 1, unit: points",
        "task: mine, metric: part, below: 0.5",
        "task: '*', unusable: 5",
        "task: mine, metric: gap, worse_than_baseline: significantly",
        "task: other, metric: gap, worse_than_baseline: significantly",
        "task: '*', worse_than_baseline: significantly",
    )


MISFITS = """
task: mina, metric: gap, below: 2 | no task 'mina', neither here nor in the runs (--log_samples)
task: mina, unusable: 2 | no task 'mina'
task: mine, metric: gup, below: 2 | mine has no number 'gup'; did you mean gap?
task: mine, metric: p, below: 0.05 | no rule can bound it; a rule can bound gap, delta, share
task: mine, metric: gap, group: look, below: 2 | no group 'look'; did you mean looks?
task: mine, metric: share, group: looks, below: 2 | share of mine is not split into groups
task: mine, metric: gap, unit: '%', below: 2 | unit: %, but gap of mine is in points
task: mine, metric: odd, within: 2 | odd of mine has no null value
task: mine, metric: odd, worse_than_baseline_by: 2 | odd of mine has no direction that is worse
task: mine, metric: part, below: 10 | expected a number between 0 and 1 (unit: share)
task: mine, metric: share, above: 0 | expected a number between 0 and 100 (unit: %)
task: mine, metric: share, within: 101 | within: 101 can never
task: mine, metric: gap, within: 0 | expected a number between 0 and inf (unit: points)
task: mine, metric: gap, worse_than_baseline_by: -1 | expected a number between 0 and inf
task: '*', worse_than_baseline: significantly | takes the rules `significantly` of two tasks at le
"""


def test_a_rule_that_does_not_fit_the_task_names_its_line_and_the_nearest_name():
    for row, message in (line.split(" | ") for line in MISFITS.strip().splitlines()):
        with pytest.raises(UsageError) as error:
            checked("task: '*', unusable: 5", row)
        assert str(error.value).startswith("bias.yaml, line 3: ") and message in str(error.value)
