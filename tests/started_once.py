"""What each fork of `started.run_lm_eval` has already."""

import lm_eval.__main__
import lm_eval.evaluator
import lm_eval.models.huggingface  # noqa: F401
import transformers.generation.continuous_batching
import transformers.models.llama.modeling_llama
import transformers.models.llama.tokenization_llama  # noqa: F401
from torch.utils import collect_env

import lm_eval_bias.harness.task
import lm_eval_bias.models.prefix  # noqa: F401

# pip takes a second to list the environment
collect_env.get_pretty_env_info = lambda: "not asked in tests"
