"""No reader's time grows faster than its text: found in its patterns, without a clock.

A long repeat, such as `[^\\n]*`, is slow if a match may begin, or an earlier long repeat may end,
at many places of what it matches, and what follows may fail. Texts have no long runs of SIGNS.
"""

import importlib.util
import re
import string
import sys
from functools import cache
from re import _compiler, _constants as sre, _parser
from re._constants import (
    ANY,
    ASSERT,
    ASSERT_NOT,
    AT,
    AT_BOUNDARY,
    BRANCH,
    GROUPREF,
    IN,
    LITERAL,
    MAX_REPEAT,
    MIN_REPEAT,
    NOT_LITERAL,
    POSSESSIVE_REPEAT,
)

import pytest
import score

from lm_eval_bias import answers
from lm_eval_bias.answers import choice, intensity
from lm_eval_bias.answers.filters import Affect
from lm_eval_bias.answers.text import rewritten

SAMPLE = frozenset(string.printable + "é中½★’—\u200b")
WORD, SIGNS = (frozenset(re.findall(p, "".join(SAMPLE))) for p in (r"\w", r"[\W_]"))
SINGLE = (ANY, IN, LITERAL, NOT_LITERAL)
REPEATS = (MAX_REPEAT, MIN_REPEAT, POSSESSIVE_REPEAT)
LOOKS = (ASSERT, ASSERT_NOT)


@cache
def matched(node):
    tree = _parser.SubPattern(_parser.State(), [eval(node, vars(sre))])
    return set(filter(_compiler.compile(tree, re.I | re.U).match, SAMPLE))


def branches(code, value):
    return value[1] if code is BRANCH else value[-1:]


def letters(tree):
    """The characters that stand in what a tree matches."""
    found = set()
    for node in tree:
        if node[0] in SINGLE:
            found |= matched(repr(node))
        elif node[0] not in (AT, GROUPREF, *LOOKS):
            found.update(*map(letters, branches(*node)))
    return found


def fits(tree, span):
    """Whether a tree may match a part of a long run of these characters."""
    for code, value in tree:
        if code in SINGLE:
            fit = letters([(code, value)]) & span
        elif code is AT:
            fit = span & WORD and span - WORD if value is AT_BOUNDARY else "\n" in span
        elif code is ASSERT_NOT:
            fit = len(value[1]) > 1 or span - letters(value[1])
        else:
            optional = code is GROUPREF or (code in REPEATS and not value[0])
            fit = optional or any(fits(part, span) for part in branches(code, value))
        if not fit:
            return False
    return True


def walk(tree, before, fails, slow):
    """Add a tree's slow repeats to `slow`, and return its long ones with the trees behind them.

    before: what earlier ones match, and the trees since.
    """
    start = len(before)
    for i, (code, value) in enumerate(tree):
        inside, span = [], letters(tree[i : i + 1])
        if code not in (*SINGLE, AT, GROUPREF):
            may_fail = fails or any(c not in REPEATS or v[0] for c, v in tree[i + 1 :])
            is_long = code in REPEATS and value[1] > 500 and not span <= SIGNS
            for other, since in before if is_long and may_fail else ():
                slow += [value] * bool(span & other and fits(since, span & other))
            for part in branches(code, value):
                again = list(part) * (1 + (code in REPEATS and value[1] > 1))
                inside += walk(again, before, may_fail or code in LOOKS, slow)
            inside = [] if code in LOOKS else inside + [(span, [])] * is_long
        before = [(other, [*since, (code, value)]) for other, since in before] + inside
    return before[start:]


def slow_repeats(pattern, flags=0):
    slow = []
    walk(_parser.parse(pattern, flags), [(SAMPLE, [])], False, slow)
    return slow


SLOW = [  # which the readers had, and one that none had
    r"\bis to\b[^\n]*\bis to\b",
    r"(?m)^([^\n:]+)(:[^\n]*::[^\n]*)\n\1:[^\n]*",
    r"\d+(?:[.,]\d+)*%",
    r"[^\W\d_]+?(?=n't\b)|[^\W\d_]+",
    r"^(?:[a-z]+ ?)+:",
]
FAST = [r"[*_#>\"]*\d", r"\b\w+ly\b", r"(?<![a-z])[a-z]+:", r"(?m)^[^\n:]*:[^\n]*", r"[^\n]{0,9}is"]


@pytest.mark.parametrize("pattern", SLOW + FAST)
def test_the_rule_finds_slow_patterns(pattern):
    assert bool(slow_repeats(pattern)) == (pattern in SLOW)


@pytest.mark.slow
def test_no_pattern_of_a_reader_has_a_slow_repeat(monkeypatch):
    """Recorded while a copy of the readers is imported and reads."""
    seen, compiled = set(), re._compile

    def recorded(pattern, flags):
        if sys._getframe(2).f_globals["__name__"].startswith("copy_of_answers"):
            seen.add((pattern, flags))
        return compiled(pattern, flags)

    monkeypatch.setattr(re, "_compile", recorded)
    spec = importlib.util.spec_from_file_location("copy_of_answers", answers.__file__)
    monkeypatch.setitem(sys.modules, spec.name, importlib.util.module_from_spec(spec))
    copy = importlib.import_module("copy_of_answers.filters")
    filters = {name: getattr(copy, read.__name__) for name, read in score.FILTERS.items()}
    monkeypatch.setattr(score, "FILTERS", filters)
    for path in score.Path(__file__).parent.glob("*.yaml"):
        for case in score.cases(path)[:40]:
            score.answer_of(score.parser_of(path), case)
    seen -= {(role.pattern, 0) for role, _ in intensity._ROLES}  # of 21 words at most
    assert len(seen) > 300
    assert [pattern for pattern, flags in seen if slow_repeats(pattern, flags)] == []


def test_a_reader_sees_no_long_run_of_signs_or_of_one_letter(monkeypatch):
    monkeypatch.setattr(Affect, "read", lambda self, text, document: text)
    read = Affect().answer("a" * 900 + "|---|" * 900 + "\n" + "_" * 900 + "b", {})
    assert read == "a" * 100 + "|---|" * 16 + "\n" + "_" * 20 + "b"
    assert rewritten("<br> <|end|>\n" * 900, choice._CLEAN) == "\n"
