"""implicit_bias_ci, _nightly and _ci_generate: the first documents of each task, whole units of
them, and the numbers that --limit gives."""

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from lm_eval_bias import catalogue
from lm_eval_bias.commands.plan import whole_task
from lm_eval_bias.harness.dataset import FIRST, CustomDataset
from lm_eval_bias.measure import BEFORE_CHECKS, CHECK
from tests.mistakes import refused
from tests.rule_model import RuleLM, evaluate

TASKS = catalogue.by_name()
FOLDER = Path(catalogue.tasks_folder())
GROUP, NIGHTLY, WRITTEN = (
    catalogue.read(FOLDER / f"implicit_bias_{size}.yaml")["task"]
    for size in ("ci", "nightly", "ci_generate")
)
WHOLE = {
    name: re.sub("_(ci|nightly)$", "", name)
    for name in (*GROUP, *NIGHTLY, *WRITTEN, "mist_aat_likelihood_ci")
}
FIXED = {name: whole for name, whole in WHOLE.items() if name != whole}
# What may not be cut apart: the columns that its documents share, where they stand together.
UNITS = {
    "hbb": ("concept", "type"),
    "bistereo_pairs": ("wording", "variant", "desirable"),
    "bistereo_nli": ("wording", "variant", "attribute", "direction"),
    "mist_wabt_likelihood": ("sample", "dimension", "template"),
    "mist_aat_likelihood": ("group", "identifier", "word"),
    "empathy_religion_likelihood": ("event",),
    "stereomap_original": ("round",),
}
TWINS = {
    "hbb_generate": "hbb",
    "bistereo_nli_generate": "bistereo_nli",
    "mist_wabt": "mist_wabt_likelihood",
    "mist_aat": "mist_aat_likelihood",
    "empathy_religion": "empathy_religion_likelihood",
}
UNITS |= {written: UNITS[twin] for written, twin in TWINS.items()}


@cache
def documents(task):
    """Of the task, and of the one that it is the beginning of."""
    options = task.arguments({})
    beginning = task.builder(**options)["test"]
    del options[FIRST]
    return beginning, task.builder(**options)["test"]


def without_checks(documents):
    """The attention checks stand together."""
    kept = [document for document in documents if CHECK not in document]
    behind = kept[BEFORE_CHECKS:]
    assert kept[:BEFORE_CHECKS] == documents[:BEFORE_CHECKS][: len(kept)]
    assert behind == documents[len(documents) - len(behind) :]
    return kept


def test_the_groups_have_all_five_benchmarks_but_two_by_likelihood_for_the_night_alone():
    papers, night = {"BIStereo", "HBB", "StereoMap"}, {"empathy gap", "MIST"}
    for group, more in ((GROUP, set()), (NIGHTLY, night), (WRITTEN, night)):
        assert {TASKS[name].paper for name in group} == papers | more
    fixed = {n for n, task in TASKS.items() if FIRST in (task.config.get("dataset_kwargs") or {})}
    assert set(FIXED) == fixed and set(FIXED.values()) == set(UNITS)
    whole = [WHOLE[name] for name in NIGHTLY if TASKS[name].paper in papers]
    assert whole == [WHOLE[name] for name in GROUP]


@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=[pytest.mark.slow] * ("_pairs_" in x)) for x in FIXED]
)
def test_a_fixed_size_is_the_first_documents_and_cuts_nothing_apart(name):
    task = TASKS[name]
    asked = documents(task)
    beginning, whole = map(without_checks, asked)
    size = len(beginning)
    assert size == task.config["dataset_kwargs"][FIRST] < len(whole)
    checks, others = ([doc for doc in docs if CHECK in doc] for docs in asked)
    assert len(asked[0]) == task.documents and checks == others
    assert 1 <= len(checks) <= 0.03 * size or "mist" in name  # wabt: shorter; aat: few documents
    assert beginning == whole[:size]
    last, following = (
        [doc[column] for column in UNITS[FIXED[name]]] for doc in whole[size - 1 : size + 1]
    )
    assert last != following
    # The same prompts, and a version with it: what changes the whole changes the beginning.
    other = TASKS[whole_task(task, TASKS)]
    assert other.name == FIXED[name] and other.metadata["version"] == task.metadata["version"]


@pytest.mark.parametrize(
    "name, columns, strata, size",
    [
        ("hbb_ci", ["type", "identity"], 78, 12),
        ("empathy_religion_likelihood_ci", ["emotion"], 12, 2 * (36 + 64)),
        ("mist_wabt_likelihood_ci", ["pair", "dimension", "template"], 10 * 3 * 3, 4),
        ("mist_aat_likelihood_ci", ["side", "template"], 2 * 3, 20),
        ("bistereo_nli_ci", ["favoured"], 2, 518),
        ("hbb_generate_ci", ["type", "identity", "first"], 2 * 78, 6),
        ("empathy_religion_ci", ["emotion"], 12, 2 * (36 + 64)),
        ("mist_wabt_ci", ["pair", "dimension", "template"], 10 * 3 * 3, 4),
        ("mist_aat_ci", ["side", "template"], 2 * 3, 80),
    ],
)
def test_every_stratum_has_its_share(name, columns, strata, size):
    counts = Counter(
        tuple(doc[c] for c in columns) for doc in without_checks(documents(TASKS[name])[0])
    )
    assert set(counts.values()) == {size} and len(counts) == strata


@pytest.mark.parametrize("written", TWINS)
def test_written_questions_begin_with_those_by_likelihood(written):
    ours, theirs = (
        without_checks(documents(TASKS[f"{name}_ci"])[0]) for name in (written, TWINS[written])
    )
    assert ours[: len(theirs)] == theirs


def test_a_written_list_names_either_group_first_equally_often():
    lists = without_checks(documents(TASKS["mist_wabt_ci"])[0])
    counts = Counter((x["pair"], x["dimension"], x["named"] == x["groups"]) for x in lists)
    assert len(counts) == 2 * 30 and set(counts.values()) == {6}


def test_a_file_that_makes_fewer_documents_is_asked_whole():
    """A person's own documents have no attention checks."""
    check = {CHECK: ["a", [[1]]]}
    made = CustomDataset(lambda items=0: [{"i": i} for i in range(5)], checks=lambda: [check])
    for size, expected in ((3, 3), (5, 5), (9, 5)):
        first, documents = {FIRST: size}, [{"i": i} for i in range(expected)]
        assert made(**first)["test"] == [*documents, {"i": None, **check}]
        assert made(**first, items="own.yaml")["test"] == documents
        assert made.count(**first) == expected + 1
    counted = CustomDataset(lambda: [{}] * 5, count=lambda: 5)
    assert [counted.count(**{FIRST: 3}), counted.count()] == [3, 5]


def test_a_run_cannot_pass_a_part_for_the_whole():
    message = "mist_wabt: first_documents can only be set in a task's YAML; use --limit for"
    with refused(message):
        evaluate(RuleLM(), "mist_wabt", metadata={FIRST: 30})
