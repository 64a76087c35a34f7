import inspect
import subprocess
import sys

import pytest

from lm_eval_bias.benchmarks.hbb.documents import options
from lm_eval_bias.usage import UsageError, read_options


def test_an_option_is_read_out_of_the_metadata():
    assert read_options("hbb", {"version": 1.0, "threshold": 30}, options) == {
        "order": "both",
        "threshold": 30.0,
        "temperature": 0.8,
    }


def test_a_misspelt_option_is_an_error_that_names_the_right_one():
    with pytest.raises(
        UsageError, match=r"unknown option 'treshold' .* Did you mean 'threshold'\?"
    ):
        read_options("hbb", {"treshold": 30}, options)


def test_a_key_that_resembles_no_option_is_somebody_elses():
    for key in ("pretrained", "max_seq_lengths", "author"):
        assert read_options("hbb", {key: "x"}, options) == {
            "order": "both",
            "threshold": 20.0,
            "temperature": 0.8,
        }


def test_a_task_without_options_takes_everything_for_somebody_elses():
    assert read_options("bistereo_nli", {"order": "paper"}, None) == {}


def test_no_argument_of_a_model_is_taken_for_a_slip():
    """The harness puts the model's arguments into every task's metadata."""
    from lm_eval.models.api_models import TemplateAPI
    from lm_eval.models.huggingface import HFLM

    from lm_eval_bias import catalogue

    names = {
        name
        for model in (HFLM, TemplateAPI)
        for name in inspect.signature(model.__init__).parameters
    }
    further = {
        "gpu_memory_utilization",
        "tensor_parallel_size",
        "data_parallel_size",
        "swap_space",
        "max_model_len",
        "max_num_seqs",
        "enforce_eager",
    }
    assert {"pretrained", "parallelize", "header", "num_concurrent"} <= names
    for task in catalogue.tasks():
        known = set(inspect.signature(task.options).parameters) if task.options else set()
        read_options(task.name, dict.fromkeys((names | further) - known), task.options)


def test_a_person_sees_the_message_and_no_traceback():
    code = (
        "from lm_eval_bias.usage import UsageError\n"
        "raise UsageError('order=1: expected both or paper')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "lm-eval-bias: order=1: expected both or paper\n")
