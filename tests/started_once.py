"""What each fork of `started.run_lm_eval` has already; imported by the process that it is a fork
of, and by nothing else."""

import pytablewriter  # noqa: F401
import scipy.stats  # noqa: F401
import transformers.generation.continuous_batching
import transformers.models.llama.modeling_llama
import transformers.models.llama.tokenization_llama  # noqa: F401

import lm_eval_bias.harness.dataset  # noqa: F401
import tests.few_tasks  # noqa: F401
from tests.cheap import cheap_harness
from tests.rule_model import load

cheap_harness()
# which most forks ask
load("bistereo_analogy", "bistereo_nli", "bistereo_pairs", "bistereo_pairs_height")
load("hbb", "mist_aat")
