"""Options of a task in `--metadata`, and mistakes in them."""

import inspect
import re
from math import inf, nan

import pytest
from lm_eval.models.api_models import TemplateAPI
from lm_eval.models.huggingface import HFLM

from lm_eval_bias import catalogue
from lm_eval_bias.benchmarks.hbb import documents as hbb
from lm_eval_bias.usage import read_options
from tests.mistakes import refused

TASKS = list({task.options: task for task in catalogue.tasks()}.values())
BOUNDS = {
    "seed": "0 to 4294967295",
    "samples": "1 to 1000",
    "combinations": "2 to 740",
    "rounds": "1 to 100",
    "repeats": "1 to 1000",
    "events_per_emotion": "1 to 550, or all",
    "threshold": "0 to 1(00)?$",
    "temperature": "0(.01)? to (2|100)$",
}
DEFAULTS = {"order": "both", "threshold": 20.0, "temperature": 0.8}


@pytest.mark.parametrize(
    "metadata, options",
    [
        ({"version": 1.0, "threshold": 30}, {**DEFAULTS, "threshold": 30.0}),
        # What resembles no option is for another task or the model.
        ({"pretrained": "x", "max_seq_lengths": [1], "author": "x"}, DEFAULTS),
    ],
)
def test_an_option_is_read_out_of_the_metadata(metadata, options):
    assert read_options("hbb", metadata, hbb.HBBOptions) == options
    assert read_options("bistereo_nli", {"order": "paper"}, None) == {}


def test_no_argument_of_a_model_is_taken_for_a_slip():
    """The harness puts the model's arguments into every task's metadata."""
    vllm = (
        "gpu_memory_utilization tensor_parallel_size data_parallel_size swap_space max_model_len "
        "max_num_seqs enforce_eager"
    )
    names = set(vllm.split())
    for model in (HFLM, TemplateAPI):
        names |= set(inspect.signature(model.__init__).parameters)
    assert {"pretrained", "parallelize", "header", "num_concurrent"} <= names
    for task in TASKS:
        others = dict.fromkeys(names - set(task.option_names))
        read_options(task.name, others, task.options, task.config.get("wordings") or ())


@pytest.mark.parametrize(
    "value",
    [10**30, 1e20, -1, nan, inf, [], ["paper"], {"a": 1}, "", "1/25x", "\0", b"x"],
    ids=repr,
)
def test_a_value_of_a_wrong_kind_or_size_is_a_sentence_for_every_option_of_every_task(value):
    for task, name in ((of, name) for of in TASKS for name in of.option_names):
        with refused(f"^{task.name}: .{{10,250}}$") as error:
            wordings = task.config.get("wordings") or ()
            read_options(task.name, {name: value}, task.options, wordings)
        expected = f"number from {BOUNDS[name]}" if name in BOUNDS else ""
        assert re.search(expected, str(error.value))


def test_a_variant_inherits_options_and_may_change_their_defaults():
    shown = {name: default for name, default, _ in hbb.GenerateOptions.rows()}
    assert shown == {
        **{name: default for name, default, _ in hbb.HBBOptions.rows()},
        "order": "paper",
        "repeats": "10",
    }
    assert all(row[2] for task in TASKS if task.options for row in task.options.rows())
