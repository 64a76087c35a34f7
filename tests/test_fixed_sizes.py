"""implicit_bias_ci: the first documents of each task, whole units of them, and the numbers that
--limit gives."""

from functools import cache
from itertools import groupby
from math import isnan

import pytest
import yaml
from rule_model import RuleLM, evaluate, numbers_of

from lm_eval_bias import catalogue
from lm_eval_bias.commands.plan import whole_task
from lm_eval_bias.harness.dataset import FIRST, CustomDataset
from lm_eval_bias.usage import UsageError
from tests.scripted import chance

TASKS = {task.name: task for task in catalogue.tasks()}
GROUP = yaml.safe_load(
    (next(iter(TASKS.values())).path.parents[1] / "implicit_bias_ci.yaml").read_text()
)["task"]
FIXED = [name for name in GROUP if name.endswith("_ci")]
# What may not be cut apart: the columns that its documents share, where they stand together.
UNITS = {
    "hbb_ci": ("concept",),
    "bistereo_pairs_ci": ("wording", "variant", "desirable"),
    "bistereo_nli_ci": ("wording", "variant", "attribute", "direction"),
    "mist_wabt_likelihood_ci": ("sample", "dimension", "template"),
    "mist_aat_likelihood_ci": ("group", "identifier", "word"),
    "empathy_religion_likelihood_ci": ("event",),
}


@cache
def documents(task):
    """Of the task, and of the one that it is the beginning of."""
    kwargs = task.config["dataset_kwargs"]
    mine = task.builder(**{**task.metadata, **kwargs})["test"]
    return mine, task.builder(
        **{**task.metadata, **{key: value for key, value in kwargs.items() if key != FIRST}}
    )["test"]


def test_the_group_has_all_five_benchmarks():
    assert {TASKS[name].paper for name in GROUP} == {
        "BIStereo",
        "HBB",
        "MIST",
        "empathy gap",
        "StereoMap",
    }
    assert (
        set(FIXED)
        == set(UNITS)
        == {
            name
            for name, task in TASKS.items()
            if FIRST in (task.config.get("dataset_kwargs") or {})
        }
    )


@pytest.mark.parametrize("name", FIXED)
def test_a_fixed_size_is_the_first_documents_and_cuts_nothing_apart(name):
    mine, whole = documents(TASKS[name])
    assert (
        len(mine)
        == TASKS[name].documents
        == TASKS[name].config["dataset_kwargs"][FIRST]
        < len(whole)
    )
    assert mine == whole[: len(mine)]
    unit = tuple(mine[-1][column] for column in UNITS[name])
    assert tuple(whole[len(mine)][column] for column in UNITS[name]) != unit
    # The same prompts, and a version with it: what changes the whole changes the beginning.
    other = TASKS[whole_task(TASKS[name], TASKS)]
    assert (
        name == f"{other.name}_ci" and other.metadata["version"] == TASKS[name].metadata["version"]
    )


def test_every_stratum_has_its_share():
    """Equal parts of the design have equal numbers of documents, or as near as a unit allows."""

    def numbers(name, *columns):
        found = sorted(tuple(doc[c] for c in columns) for doc in documents(TASKS[name])[0])
        return {key: len(list(docs)) for key, docs in groupby(found)}

    assert (
        set(numbers("hbb_ci", "theme").values()) == {116} and len(numbers("hbb_ci", "theme")) == 24
    )
    assert set(numbers("empathy_religion_likelihood_ci", "emotion").values()) == {2 * 36}
    assert set(numbers("mist_wabt_likelihood_ci", "pair", "dimension", "template").values()) == {4}
    assert set(numbers("mist_aat_likelihood_ci", "side", "template").values()) == {40}
    assert set(numbers("bistereo_nli_ci", "descriptor").values()) == {800}
    pairs = numbers("bistereo_pairs_ci", "sentiment")
    assert pairs["positive",] == pairs["negative",]


@pytest.mark.parametrize("name", ["bistereo_nli_ci", "mist_wabt_likelihood_ci"])
def test_its_numbers_are_those_of_the_task_with_a_limit(name):
    lm = RuleLM(rule=lambda context, continuation: -1 - 3 * chance(context, continuation))
    size = TASKS[name].documents
    fixed = evaluate(lm, name)
    limited = evaluate(lm, name.removesuffix("_ci"), limit=size)
    mine, its = numbers_of(fixed, name), numbers_of(limited, name.removesuffix("_ci"))
    assert mine.keys() == its.keys()
    assert all(mine[key] == its[key] or (isnan(mine[key]) and isnan(its[key])) for key in mine)
    assert mine["left_out", None] == 0 and not isnan(next(iter(mine.values())))
    # That it is all of a task, and no limit, is what a gate goes by.
    assert fixed["n-samples"][name] == {"original": size, "effective": size}


def test_a_file_that_makes_fewer_documents_is_asked_whole():
    made = CustomDataset(lambda n=5: [{"i": i} for i in range(n)])
    assert (
        [len(made(**{FIRST: size})["test"]) for size in (3, 5, 9)]
        == [3, 5, 5]
        == [made.count(**{FIRST: size}) for size in (3, 5, 9)]
    )
    counted = CustomDataset(lambda: [{}] * 5, count=lambda: 5)
    assert [counted.count(**{FIRST: 3}), counted.count()] == [3, 5]


def test_a_run_cannot_pass_a_part_for_the_whole():
    with pytest.raises(
        UsageError,
        match="mist_wabt: first_documents belongs in a task's YAML; use --limit for fewer documents",
    ):
        evaluate(RuleLM(), "mist_wabt", metadata={FIRST: 30})
