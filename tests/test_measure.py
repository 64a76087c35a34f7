"""A measure: what of it is shown, and that each measure of this project keeps what it declares."""

import json
import pkgutil
import random
import re
from functools import cache
from importlib import import_module
from math import inf, isnan, log, nan

import numpy as np
import pytest
from exhibit_slips import slips
from lm_eval.evaluator import evaluate as ask
from overt_rows import rows as overt_rows
from scipy.stats import beta

from lm_eval_bias import benchmarks, catalogue
from lm_eval_bias.exhibit import Column, Exhibit, Numbers, Rows
from lm_eval_bias.harness.dataset import CustomDataset
from lm_eval_bias.harness.task import BiasTask
from lm_eval_bias.measure import (
    UNITS,
    Counted,
    Measure,
    Metric,
    Number,
    Summary,
    TableRow,
    clusters_of,
    first_seen,
    mean,
    number,
    numbers,
    percentage,
    problems,
    rows,
    summarise,
    tables,
    widened_to_cover,
)
from lm_eval_bias.usage import read_options
from tests.mistakes import refused
from tests.rule_model import RuleLM


def metric(name, **changes):
    return Metric(name, "%", "Something.", primary=True, **changes)


def mean_of_x(rows, total):
    return {"x": (total(rows["x"]) / total(1), total(1))}


MEAN = Counted(lambda records, **_: {"": records}, {"": mean_of_x})


# ---- Rows


def test_primary_metrics_come_first_and_behind_them_the_groups_of_those_that_fit():
    """Seven metrics and the four groups of the first are 11 rows; four more of the second are too
    many, one of the third is not."""
    metrics = [
        metric("a", by="four"),
        Metric("hidden", "%", "Something.", by="one"),
        metric("b", by="four"),
        metric("c", by="one"),
        *(metric(f"m{i}") for i in range(4)),
    ]
    groups = {"four": ["Dark red", "x", "y", "z"], "one": ["o"]}
    shown = rows(metrics, groups.__getitem__)
    names = ["a", "b", "c", "m0", "m1", "m2", "m3", "a_dark_red", "a_x", "a_y", "a_z", "c_o"]
    assert [row.name for row in shown] == names
    assert shown[0] == TableRow("a", metrics[0]) and shown[7] == TableRow(
        names[7], metrics[0], "Dark red"
    )


def task_of(measure, *documents):
    config = {
        "task": "colours",
        "custom_dataset": CustomDataset(lambda: list(documents)),
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "{{text}}",
        "measure": measure,
    }
    return BiasTask(config)


@pytest.mark.parametrize(
    "colours, split", [(["red", "blue", "red"], ["share_red", "share_blue"]), (["red", "red"], [])]
)
def test_a_task_splits_only_where_there_are_several_groups(colours, split):
    """A subset of one gender has no rows for that gender beside those of the whole."""
    measure = TOY._replace(metrics=[metric("share", by="colour", better="lower")])
    task = task_of(measure, *({"text": "x", "colour": colour} for colour in colours))
    assert task.higher_is_better() == dict.fromkeys(["share", *split], False)


# ---- Numbers and tables

TOY = Measure(
    record=lambda doc, results: {},
    counted=Counted(lambda records: {}, {}),
    metrics=[
        metric("share", by="colour", better="lower", null_value=0, cell="Table 1"),
        Metric("count", "count", "Things.", stderr=False, by="colour"),
    ],
)
SHARE = Number(40.0, 2.0, 35.0, 45.0, 12)
RED = Number(50.0, 3.0, 40.0, 60.0, 5)
FOUND = Summary({"share": SHARE, "count": Number(5.0)}, {"share": {"red": RED}})


def test_numbers_are_flat_rows_of_all_that_is_declared_whole_and_by_group():
    declared = {
        "unit": "%",
        "better": "lower",
        "null_value": 0,
        "question": None,
        "cell": "Table 1",
    }
    share, red, count = numbers(TOY, FOUND)
    assert share == {"metric": "share", "group": None, **SHARE._asdict(), **declared}
    assert red == {"metric": "share", "group": "red", **RED._asdict(), **declared}
    assert count["value"] == 5 and count["stderr"] is None and isnan(count["low"])


def test_the_interval_is_students_on_the_clusters_within_the_scale():
    """t of 11 degrees of freedom is 2.20099 at 97.5 % (a table)."""
    made = number((50, 4), 12)
    assert made.high - 50 == 50 - made.low == pytest.approx(4 * 2.20099, rel=1e-5)
    assert number((1, 4), 12, "points").low < 0
    assert number((1, 4), 12, "points", (0, 100)).low == 0
    # agreement of all clusters is no certainty, and nine clusters are too few
    for undefined in (number((5, 0), 12), number((5, nan), 12), number((5, 1), 9)):
        assert isnan(undefined.low) and isnan(undefined.high) and undefined.value == 5


def test_the_interval_of_a_share_is_korn_and_graubards():
    """An error of 4 is, with Student's quantile for 1.96, one of 4.492: .3 x .7 / .04492^2 = 104.1
    independent answers, of which 30 % are 31.2. At 3 % they would be 3 of 100, fewer than ten; so
    each of the 12 clusters is one answer."""
    n = 0.3 * 0.7 / (0.04 * 2.20099 / 1.95996) ** 2
    assert n == pytest.approx(104.1, abs=0.1)
    ends = beta.ppf(0.025, 0.3 * n, 0.7 * n + 1), beta.ppf(0.975, 0.3 * n + 1, 0.7 * n)
    for made, of in ((number((30, 4), 12, "%"), 100), (number((0.3, 0.04), 12, "share"), 1)):
        assert made[2:4] == pytest.approx([of * end for end in ends], rel=1e-4)
    low, high = number((3, 1.5), 12, "%")[2:4]
    ends = beta.ppf(0.025, 0.36, 12.64), beta.ppf(0.975, 1.36, 11.64)
    assert (low, high) == pytest.approx([100 * end for end in ends])


def test_the_error_is_of_clusters_and_counts_systematic_errors_but_on_items_of_other_people():
    """Of 24 clusters of two, 12 of each side, each number has the error of their means. A spread of
    half a deviation makes interval and error √(1 + clusters / 4) times as long."""
    docs = [{"cluster": i % 24, "side": "ab"[i % 2], "x": float(i % 5)} for i in range(48)]
    plain = Metric("x", "points", "", primary=True, by="side")
    toy = Measure(lambda doc, _: doc, MEAN, [plain], clusters=[("cluster",)])
    own = summarise(toy, docs, {})
    means = np.array([doc["x"] for doc in docs]).reshape(2, 24).mean(axis=0)
    for gap, x in ((own.values["x"], means), (own.groups["x"]["a"], means[::2])):
        assert gap[:2] == pytest.approx((x.mean(), x.std(ddof=1) / len(x) ** 0.5))
        assert gap[4:] == (len(x), 2 * len(x))
    counting = toy._replace(metrics=[plain._replace(systematic=((0.0, 0.5),))])
    for narrow, wider in (
        (own.values["x"], summarise(counting, docs, {"items": None}).values["x"]),
        (own.groups["x"]["a"], summarise(counting, docs, {}).groups["x"]["a"]),
    ):
        times = (1 + narrow.clusters / 4) ** 0.5
        assert wider.value == narrow.value
        assert wider.stderr == pytest.approx(times * narrow.stderr)
        assert wider.high - wider.value == pytest.approx(times * (narrow.high - narrow.value))
    assert summarise(counting, docs, {"items": "theirs.csv"}) == own


def test_a_record_has_a_cluster_or_one_for_each_of_its_parts():
    """Words are drawn within a kind; None is no word."""
    record = {"scene": 1, "kind": ["noun", "verb", "noun"], "word": ["run", "run", None]}
    assert clusters_of(record, ("scene",)) == [(1,)]
    assert clusters_of(record, ("kind", "word")) == [("noun", "run"), ("verb", "run")]
    with refused("no usable value in column 'scenes'"):
        clusters_of(record, ("scenes",))


def test_what_a_measure_declares_is_checked():
    exhibit = Exhibit("Table 1", "A.", Numbers(["other"]), [Column("other", "O", "kg")], "R.", "C.")
    wrong = Metric("share", "kilo", "Something.", by="color")
    measure = TOY._replace(metrics=[*TOY.metrics, wrong], exhibits=[exhibit])
    assert list(problems(TOY, ["colour"])) == []
    assert list(problems(measure, ["colour", "text"])) == [
        "metric share is declared twice",
        "metric share is split by 'color', which is no column of the documents; these have "
        "colour, text",
        "exhibit Table 1 shows 'other', no metric of the measure",
        f"metric share: unknown unit 'kilo'; units are {', '.join(UNITS)}",
        f"exhibit Table 1, column other: unknown unit 'kg'; units are {', '.join(UNITS)}",
    ]


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"clusters": (("scenes",),)}, "no usable value in column 'scenes'"),
        (
            {"metrics": [metric("x"), metric("other")]},
            "metric other is declared, but the summary has no value",
        ),
        (
            {"exhibits": [Exhibit("T1", "A.", Rows("own"), [Column("b", "B")], "R.", "C.")]},
            "exhibit T1 shows column 'b', which its rows lack; they have a",
        ),
    ],
)
def test_a_wrong_declaration_is_a_sentence(changes, message):
    """Before the first request, or in the results if only records show it."""
    counted = MEAN._replace(tables=lambda *_: {"own": [{"a": 1}]})
    measure = Measure(lambda *_: {"x": 1, "colour": "red"}, counted, [metric("x")])
    task = task_of(measure._replace(**changes), {"text": "x", "colour": "red"})
    lm = RuleLM(say=lambda _: "red")
    results = ask(lm, {"tasks": {"colours": task}}, limit=1, bootstrap_iters=0)
    assert re.search(message, results["configs"]["colours"]["error"])


@pytest.mark.parametrize(
    "table, message",
    [
        (
            [{"a": 1, "b": 2}, {"a": 1}],
            r"table own: a row has the columns \['a'\], the first one \['a', 'b'\]",
        ),
        (
            [{"a": 1}, {"a": [1, 2]}],
            r"table own, column a: expected a number, a text or a truth value, found \[1, 2\]",
        ),
    ],
)
def test_a_table_that_is_none_is_an_error(table, message):
    with refused(message):
        tables(TOY, FOUND._replace(tables={"own": table}))


def test_a_mean_is_of_what_is_there_and_of_nothing_there_is_none():
    assert mean([1.0, None, 2.0]) == 1.5 and isnan(mean([None])) and isnan(mean([]))
    assert percentage(1, 4) == 25 and isnan(percentage(0, 0))


# ---- Every measure


def likelihoods(n, of_tokens=False):
    """Of n answers that exclude one another; now and then one that is no number. of_tokens: with
    the number of tokens of each."""

    def made(doc, rng):
        found = [
            (rng.choice([nan, inf]) if rng.random() < 0.02 else -log(n) - 5 * rng.random(), False)
            for _ in range(n)
        ]
        return [(*each, rng.choice([1, 2, 3])) for each in found] if of_tokens else found

    return made


def one_of(*answers):
    return lambda doc, rng: [rng.choice(answers)]


def word_groups(doc, rng):
    return rng.choice(
        ["refused", "unparsed", [0] * len(doc["words"])]
        + [[rng.randrange(2) for _ in doc["words"]] for _ in range(4)]
    )


def sentences_of_emotion(doc, rng):
    """More emotion in one's own group, more or less surely; now and then no number at all."""
    rise = (1 if doc["perceiver"] == doc["experiencer"] else -1) + rng.random()
    broken = rng.random() < 0.0006
    return [[[(nan if broken else -9 + n * rise - rng.random(), False) for n in range(5)]]]


def joint_likelihoods(doc, rng):
    """Of the two sentences of a pair; now and then one that is no number."""
    return [(nan if rng.random() < 0.01 else rng.gauss(-60, 1), False) for _ in range(2)]


def ten_answers(doc, rng):
    """About the one identity mostly a, about others mostly b; now and then none of both."""
    kinds = ["a", "b", "refused", "another", "unparsed", "cut off"]
    return rng.choices(
        kinds,
        [6, 3, 0.3, 0.2, 0.2, 0.1]
        if doc["identity"] == doc["identities"][0]
        else [3, 6, 0.3, 0.2, 0.2, 0.1],
        k=10,
    )


def filled_in(doc, rng):
    """Ratings around a place of the group's own, with keywords; now and then a line is left out, or
    all refused."""
    if rng.random() < 0.02:
        return [rng.choice(["refused", "unparsed", "cut off"])]
    place = random.Random(doc["group"] + doc["part"])
    of = {dimension: 2 + 2 * place.random() for dimension, _ in doc["scales"].values()}
    ratings = {
        item: min(5, max(1, round(of[dimension] + rng.gauss(0, 0.7))))
        for item, (dimension, _) in doc["scales"].items()
        if rng.random() < 0.98
    }
    content = [
        ["caring", "written", [["sociability", 1]]],
        ["friendlier", "lemma", [["morality", rng.choice([1, -1])]]],
        ["odd", None, []],
    ]
    return [
        {"ratings": ratings, "keywords": [keyword for keyword, *_ in content], "content": content}
    ]


# Of each measure: a task, how many of its documents, what a model might answer to one, and options.
ASKED = {
    "bistereo.NLI": ("bistereo_nli", 300, likelihoods(3)),
    "bistereo.NLI_GENERATED": (
        "bistereo_nli_generate",
        600,
        one_of("entailment", "neutral", "contradiction", "refused", "unparsed"),
    ),
    "bistereo.ANALOGY": ("bistereo_analogy", 603, likelihoods(2, True)),
    "bistereo.ANALOGY_GENERATED": (
        "bistereo_analogy_generate",
        1203,
        lambda doc, rng: [rng.choice([*doc["options"] * 9, "refused", "unparsed"])],
    ),
    "bistereo.PAIRS": ("bistereo_pairs", 601, joint_likelihoods),
    "hbb.HBB": ("hbb", 12 * 156, likelihoods(2)),
    "hbb.HBB_GENERATE": ("hbb_generate", 12 * 156, ten_answers, {"order": "both"}),
    "hbb.HBB_SG": ("hbb_sg", 12 * 78, likelihoods(8, True)),
    "stereoset.SENTENCES": ("stereoset_intersentence", 48, likelihoods(3, True)),
    **{
        f"stereoset.{part.upper()}_CHOICE": (f"stereoset_{part}_choice", 48 * 6 - 1, likelihoods(3))
        for part in ("intrasentence", "intersentence")
    },
    "mist.WABT": (*("mist_wabt", 360, lambda doc, rng: [word_groups(doc, rng)]), {"samples": 4}),
    "mist.WABT_LIKELIHOOD": ("mist_wabt_likelihood", 359, likelihoods(20), {"samples": 4}),
    "mist.AAT": ("mist_aat", 600, one_of("comedy", "tragedy", "neutrality", "refused", "unparsed")),
    "mist.AAT_LIKELIHOOD": (
        "mist_aat_likelihood",
        600,
        lambda doc, rng: [["A description.", likelihoods(2)(doc, rng)]],
    ),
    "empathy.GENERATED": (
        "empathy_race",
        (19**2 + 8**2) * 14 + 5,
        lambda doc, rng: [
            rng.choice(["refused", "unparsed"])
            if rng.random() < 0.0006
            else rng.randrange(81) + 20.0 * (doc["perceiver"] == doc["experiencer"])
        ],
    ),
    "empathy.LIKELIHOOD": (
        "empathy_race_likelihood",
        (19**2 + 8**2) * 14 + 5,
        sentences_of_emotion,
    ),
}
for part in ("original", "extended", "structure", "emotion", "behavior"):
    name, task = f"stereomap.{part.upper()}", f"stereomap_{part}"
    ASKED[name] = (task, None, filled_in, {"rounds": 2, "groups": "fiske"})
    # The last rating of the last group lacks its falling scale.
    ASKED[f"{name}_LIKELIHOOD"] = (f"{task}_likelihood", -1, likelihoods(5), {"groups": "fiske"})
TASKS = catalogue.by_name()
MODULES = [
    import_module(name)
    for name in sorted(
        info.name
        for info in pkgutil.walk_packages(benchmarks.__path__, "lm_eval_bias.benchmarks.")
        if "measure" in info.name
    )
]
EVERY = {
    f"{module.__name__.split('.')[2]}.{name}": found
    for module in MODULES
    for name, found in vars(module).items()
    if isinstance(found, Measure)
}
every_measure = pytest.mark.parametrize("name", EVERY)


def recorded(name, docs):
    answer, rng = ASKED[name][2], random.Random(name)
    records = [EVERY[name].record(doc, answer(doc, rng)) for doc in docs]
    return [{**record, "in_form": i % 4 > 0} for i, record in enumerate(records)]


@cache
def asked(name):
    """Documents as the harness hands them out, their records, and their summary; made once, also
    for tests/benchmarks/test_each_n.py."""
    task_name, n, _, *given = ASKED[name]
    task, given = TASKS[task_name], dict(*given)
    options = read_options(task_name, given, task.options)
    if task.builder:
        docs = task.builder(**task.arguments(given))["test"]
        docs = [doc for doc in docs if not doc.get("check")]
    else:
        docs = task.config["process_docs"].load()(overt_rows(task.config["dataset_name"]))
    docs = docs[:n]
    records = recorded(name, docs)
    return docs, records, summarise(EVERY[name], records, options)


def test_the_answers_above_are_to_every_measure():
    assert set(ASKED) == set(EVERY) and len(EVERY) >= 9


@every_measure
def test_what_a_measure_declares_can_be_read(name):
    declared = EVERY[name].metrics
    assert 1 <= sum(m.primary for m in declared) <= 13
    for m in declared:
        # the harness shows x_stderr as the standard error of x
        assert re.fullmatch(r"[a-z][a-z0-9_]*(?<!_stderr)", m.name)
        one_sentence = re.findall(r"[.!?](?=\s|$)", m.description) == ["."]
        assert one_sentence and m.description == " ".join(m.description.split()), m.name
        assert m.description.endswith("."), m.name


@every_measure
def test_a_declaration_has_no_problems(name):
    assert list(problems(EVERY[name], asked(name)[0][0])) == []


@every_measure
def test_every_row_of_the_table_has_a_name_of_its_own(name):
    docs, _, summary = asked(name)
    shown = rows(EVERY[name].metrics, lambda column: first_seen(docs, column))
    assert len({row.name for row in shown}) == len(shown) <= 13
    assert all(
        isinstance(summary.number((row.metric.name, row.group)).value, float) for row in shown
    )


@every_measure
def test_every_declared_number_is_in_the_summary_and_within_the_scale_of_its_unit(name):
    summary = asked(name)[2]
    for m in (m for m in EVERY[name].metrics if m.name != "responds"):  # test_attention.py
        whole = summary.values[m.name]
        assert not isnan(whole.value), m.name
        enough = (whole.clusters or 0) >= 10
        known = whole.stderr >= 0 or whole.low < whole.high
        assert not enough or known == m.stderr, m.name
        assert not whole.stderr > 0 or whole.low <= whole.value <= whole.high, m.name
        least, most = m.unit_range
        for shown in (whole, *summary.groups.get(m.name, {}).values()):
            ends = shown.value, shown.low, shown.high
            assert all(least <= end <= most or isnan(end) for end in ends), (m.name, shown)


def test_what_only_placebos_show_is_no_evidence():
    """All labels of skin are equal, those of hair are not: [-26, -18] becomes [-26, 0]. Where both
    leave 0 out on one side, so does the whole."""
    assert widened_to_cover(Number(-22, 2, -26, -18), Number(0, 0))[2:4] == (-26, 0)
    assert widened_to_cover(Number(5, 1, 3, 7), Number(9, 1, 7, 11))[2:4] == (3, 11)
    assert widened_to_cover(Number(5, 1, 3, 7), Number(-9, 1, -11, -7))[2:4] == (-11, 7)
    assert isnan(widened_to_cover(Number(5), Number(9, 1, 7, 11)).low)


def test_an_interval_covers_what_answers_that_were_not_shown_may_change():
    """The mean of 1 to 10 is 5.5; if 10 is hidden and 0, it is 4.5. Both have a standard error of
    0.9574, and an interval of 2.262 of it (Student's t of 9 degrees of freedom)."""

    m = Metric("x", "points", "", primary=True, by="group")
    measure = Measure(lambda doc, results: {}, MEAN, [m], clusters=(("c",),))
    read = {"group": "a", "seen_mass": 0.5, "first_token": False}
    records = [{**read, "x": x, "c": x} for x in range(1, 11)]
    records[-1]["without_unseen"] = {**records[-1], "x": 0}
    found = summarise(measure, records, {})
    arm = 2.262 * 0.9574
    for of in (found.values["x"], found.groups["x"]["a"]):
        assert of[:4] == pytest.approx((5.5, 0.9574, 4.5 - arm, 5.5 + arm), abs=1e-3)
    [row] = found.tables["seen"]
    assert (row["value"], row["without_unseen"], row["unseen"]) == (5.5, 4.5, pytest.approx(10))
    records[-1]["without_unseen"]["x"] = nan
    assert isnan(summarise(measure, records, {}).values["x"].low)


@every_measure
def test_groups_are_the_values_of_the_column_that_splits_a_metric(name):
    docs, records, summary = asked(name)
    split = {m.name: m.by for m in EVERY[name].metrics if m.by}
    assert set(summary.groups) == set(split)
    for metric_name, column in split.items():
        groups = list(summary.groups[metric_name])
        assert groups == first_seen(records, column) == first_seen(docs, column)


@every_measure
def test_clusters_are_columns_of_the_records(name):
    """Each number with a standard error rests on clusters that are counted."""
    _, records, summary = asked(name)
    measure = EVERY[name]
    assert measure.clusters
    for row in numbers(measure, summary):
        assert row["stderr"] is None or row["clusters"] > 0 or row["n"] == 0, row["metric"]
    for columns in measure.clusters:
        found = {name for r in records for name in clusters_of(r, columns)}
        assert all(len(name) == len(columns) for name in found) and len(found) > 1


@every_measure
def test_tables_have_rows_and_all_that_exhibits_name(name):
    made = tables(EVERY[name], asked(name)[2])
    assert all(made.values()), "an empty table"
    assert all(row.keys() == table[0].keys() for table in made.values() for row in table)
    types = {type(cell) for table in made.values() for row in table for cell in row.values()}
    assert types <= {str, bool, int, float, type(None)}  # not numpy's
    assert [slip for exhibit in EVERY[name].exhibits for slip in slips(exhibit, made)] == []


@every_measure
def test_records_are_plain_data_before_and_after_a_summary(name):
    """So `lm-eval-bias merge` makes the same summary of the samples."""
    docs, records, _ = asked(name)
    assert json.loads(json.dumps(records)) == records
    assert repr(records) == repr(recorded(name, docs))
