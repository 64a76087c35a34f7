"""What each fork of `started.run_lm_eval` has already; imported by the process that it is a fork
of, and by nothing else."""

import transformers.generation.continuous_batching
import transformers.models.llama.modeling_llama
import transformers.models.llama.tokenization_llama  # noqa: F401
from torch.utils import collect_env

import tests.few_tasks  # noqa: F401

# pip takes a second to list the environment
collect_env.get_pretty_env_info = lambda: "not asked in tests"
