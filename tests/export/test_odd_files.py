"""Results files in which anything may stand: what is read of them reaches every format, or is told;
nothing else happens."""

import copy
import itertools
import json
import tempfile
import warnings
from math import inf, nan
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lm_eval_bias.export import card as export_card
from lm_eval_bias.export import hub as export_hub
from lm_eval_bias.export import records as export_records
from lm_eval_bias.export.hub import Source
from lm_eval_bias.export.numbers import chosen
from lm_eval_bias.report import leaderboard_files
from lm_eval_bias.report.leaderboard import board
from lm_eval_bias.usage import UsageError
from tests.export.test_records import VALID
from tests.gate.judged import found as runs_in
from tests.gate.judged import run_of

ODD = [
    None,
    True,
    0,
    -1,
    1e308,
    -1e308,
    10**400,
    nan,
    inf,
    -inf,
    "",
    ".",
    "..",
    "/",
    "\x00",
    "\x1b[2J",
    "\ud800",
    "a" * 500,
    "\u202e",
    "1/2",
    "1/0",
    [],
    {},
    [[]],
    [{}],
    [None],
    {"": ""},
    "=1+1",
    "../../x",
    "org/name@rev",
    "@",
    "//",
    "%",
    "lower",
    "score",
    "\n",
]
VALUES = {
    "gap": (-6.0, 2.0, 0, None),
    "share": (12.5, 2.0, None, "lower"),
    "lost": (nan, nan, 0, None),
}


def content():
    folder = Path(tempfile.mkdtemp())
    path = run_of(
        folder,
        "org/model",
        VALUES,
        ends={"gap": (-9.0, -3.0)},
        metadata={"order": "both"},
        date=1.0,
        lm_eval_version="0.4.13",
    )
    return json.loads(path.read_text())


CONTENT = content()


def places(value, path=()):
    """Every place in nested mappings and lists, as the way to it."""
    if path:
        yield path
    for key, below in (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    ):
        yield from places(below, (*path, key))


PLACES = list(places(CONTENT))
changes = st.lists(
    st.tuples(
        st.sampled_from(PLACES), st.sampled_from(["set", "drop", "name"]), st.sampled_from(ODD)
    ),
    min_size=1,
    max_size=3,
)


def changed(changes):
    found = copy.deepcopy(CONTENT)
    for path, how, odd in changes:
        at = found
        try:
            for key in path[:-1]:
                at = at[key]
            if how == "set":
                at[path[-1]] = copy.deepcopy(odd)
            else:
                value = at.pop(path[-1])
                if how == "name":
                    at[str(odd)] = value
        except (
            KeyError,
            IndexError,
            TypeError,
            AttributeError,
        ):  # an earlier change has taken the place away
            continue
    return found


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(changes)
def test_no_results_file_breaks_what_is_made_of_it(changes):
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of numpy, for infinite numbers
        path = Path(name) / "results_2026-01-31T10-11-12.123456.json"
        path.write_text(json.dumps(changed(changes)))
        try:
            found = runs_in(Path(name))
        except UsageError:
            return
        if not found.runs:
            return
        made = board(found)
        for write in leaderboard_files.WRITERS.values():
            write(made).encode()
        results, left = chosen(found.runs)
        "\n".join(left).encode()
        entries, _ = export_hub.entries(results, Source("org/bench"))
        assert (
            export_hub.merged(export_hub.merged("", entries), entries).encode()
            == export_hub.text(entries).encode()
        )
        models, _ = export_card.eval_results(results, Source())
        if models:
            card = export_card.merged("# text\n", "m", models)
            assert export_card.merged(card, "m", models).encode() == card.encode()
        for path, record in export_records.records(
            results, Source(), export_records.Evaluator(), 1, "x"
        )[0]:
            json.dumps(record, allow_nan=False)
            assert VALID.is_valid(record) and ".." not in path.parts


def test_no_two_models_are_shown_under_one_name(tmp_path):
    """Of two paths that differ by a slash no part differs; and a part of one may be the whole name
    of a third."""
    sets = [
        ("a", "./a"),
        ("/a/b", "/a//b", "a/b"),
        ("x/a", "/x/a"),
        ("./a", "a", "/x/a"),
        ("a/b", "/a/b", "/a/b/"),
    ]
    for i, order in enumerate(order for names in sets for order in itertools.permutations(names)):
        for j, name in enumerate(order):
            run_of(tmp_path / str(i), name, {"x": (float(j), 1.0)}, minutes=j)
        shown = [run.model for run in runs_in(tmp_path / str(i)).runs]
        assert len(set(shown)) == len(order), (order, shown)
        assert all(
            run.model == run.identity or run.model not in order
            for run in runs_in(tmp_path / str(i)).runs
        )
