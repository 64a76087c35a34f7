import subprocess
import sys

import pytest

from lm_eval_bias.documents.hbb import options
from lm_eval_bias.usage import UsageError, read_options


def test_an_option_is_read_out_of_the_metadata():
    assert read_options("hbb", {"version": 1.0, "threshold": 30}, options) == {"order": "both", "threshold": 30.0}


def test_a_misspelt_option_is_an_error_that_names_the_right_one():
    with pytest.raises(UsageError, match=r"unknown option 'treshold' .* Did you mean 'threshold'\?"):
        read_options("hbb", {"treshold": 30}, options)


def test_outside_a_run_a_key_that_resembles_no_option_may_be_a_model_argument():
    assert read_options("hbb", {"pretrained": "x"}, options) == {"order": "both", "threshold": 20.0}


def test_a_task_without_options_says_so():
    with pytest.raises(UsageError, match="bistereo_nli takes no options"):
        read_options("bistereo_nli", {"ordr": "paper"}, None, elsewhere={"order"})


def test_the_option_of_another_task_of_the_run_is_no_error():
    assert read_options("bistereo_nli", {"order": "paper"}, None, elsewhere={"order"}) == {}


def test_a_person_sees_the_message_and_no_traceback():
    code = "from lm_eval_bias.usage import UsageError\nraise UsageError('order=1: expected both or paper')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "lm-eval-bias: order=1: expected both or paper\n")
