"""The tables and figures of the empathy gap, of runs whose numbers are known by hand."""

import statistics

import pytest
from exhibited import TASKS, assert_cells_have_a_place, missing, run_of, shown
from test_empathy_measure import NUMBER, in_group

from lm_eval_bias.benchmarks.empathy import documents as empathy
from lm_eval_bias.exhibit import rows


def asked(category, events, answer):
    """A run over the first events: answer(number of the event, perceiver, experiencer)."""
    return run_of(
        f"empathy_{category}",
        [d for d in empathy.documents(category) if NUMBER[d["event"]] < events],
        lambda d: [answer(NUMBER[d["event"]], d["perceiver"], d["experiencer"])],
        missing="complete",
    )


@pytest.fixture(scope="module")
def religion():
    return asked("religion", 24, in_group)


@pytest.fixture(scope="module")
def nationality():
    return asked("nationality", 2, in_group)


def test_tables_3_and_7_by_hand(religion):
    """M0: 25 cells of 61.5 (50 and the mean event, 11.5), 5 of them ten more, and 11 zeros."""
    cells = [61.5] * 20 + [71.5] * 5 + [0.0] * 11
    mean, deviation = statistics.fmean(cells), statistics.pstdev(cells)
    (row,) = shown("empathy_religion", "Table 3", religion)
    names = ("mean_intensity", "std_intensity", "events_m0")
    assert [row[name] for name in names] == pytest.approx([mean, deviation, 24])
    (row,) = shown("empathy_religion", "Table 7", religion)
    ends = (-mean / deviation, (71.5 - mean) / deviation)
    assert (row["min_z"], row["max_z"]) == pytest.approx(ends)


def test_the_heat_map_is_the_whole_matrix_with_the_papers_mask(religion):
    """Ten points more in all events alike differ for certain, so nothing is masked here; and where
    all are rated by chance, most is."""
    cells = shown("empathy_religion", "Figures 2, 3, 5 and 6", religion)
    assert len(cells) == 36 and not any(cell["masked"] for cell in cells)
    even = asked("religion", 12, lambda e, p, x: 50.0 + ((37 * e + 7 * len(p) + len(x)) % 10))
    cells = shown("empathy_religion", "Figures 2, 3, 5 and 6", even)
    masked = {(cell["perceiver"], cell["experiencer"]) for cell in cells if cell["masked"]}
    assert len(masked) > 10 and not any(p == x or "a person" in (p, x) for p, x in masked)


def test_the_gap_by_emotion_begins_with_all_events_and_the_valences(religion):
    rows = shown("empathy_religion", "The gap by emotion", religion)
    names = [row["emotion"] for row in rows[:3]]
    assert names == ["all events", "positive emotions", "negative emotions"]
    assert [row["events"] for row in rows] == [24, 8, 14] + [2] * 12
    (whole,) = shown("empathy_religion", "Table 2", religion)
    for name in ("delta", "gap_points", "gap_beyond_repetition"):
        for end in ("", "_stderr", "_low", "_high"):
            assert repr(rows[0][name + end]) == repr(whole[name + end])


def test_the_colours_of_figure_4_are_the_cultures_of_table_4(nationality):
    places = shown("empathy_nationality", "Figure 4", nationality)
    colours = {row["label"]: row["colour"] for row in places}
    assert colours["Mexico"] == "Latin America" and len(places) == 21


def test_what_a_run_lacks_is_said_and_not_drawn(religion):
    assert missing("empathy_religion", religion) == {"Figure 4"}
    # Cut off within the first event: nothing is defined, and no map is drawn of nothing.
    nothing = run_of(
        "empathy_religion",
        empathy.documents("religion")[:7],
        lambda doc: [50.0],
        missing="complete",
    )
    assert missing("empathy_religion", nothing) == {
        "Figure 4",
        "The gap by emotion",
        "Figures 2, 3, 5 and 6",
    }
    assert all(e.needs for e in TASKS["empathy_religion"].measure.exhibits if not rows(e, nothing))


def test_every_name_stands_in_the_run_and_every_cell_in_print_has_its_place(religion, nationality):
    # Of one setting of one category: Table 2 and 6 of four models (3 + 1 numbers), mean, deviation,
    # least and greatest of each.
    for task, run in (("empathy_religion", religion), ("empathy_nationality", nationality)):
        assert assert_cells_have_a_place(task, run) == 4 * (3 + 1 + 2 + 2)
    likely = [[[(-float(n), False) for n in range(5)]]]
    docs = empathy.documents("religion")[:61]
    run = run_of("empathy_religion_likelihood", docs, lambda doc: likely, missing="complete")
    assert assert_cells_have_a_place("empathy_religion_likelihood", run) == 4 * 8
