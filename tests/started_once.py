"""What each fork of `started.run_lm_eval` has already; imported by the process that it is a fork
of, and by nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import lm_eval.__main__
import lm_eval.evaluator
import lm_eval.models.huggingface
import lm_eval.tasks
import transformers.generation.continuous_batching
import transformers.models.llama.modeling_llama
import transformers.models.llama.tokenization_llama  # noqa: F401
from lm_eval.tasks import _index
from torch.utils import collect_env

import lm_eval_bias.harness.task  # noqa: F401

_HARNESS = str(Path(lm_eval.tasks.__file__).parent) + os.sep
_READ: dict[tuple[Any, ...], Any] = {}
_load = _index.load_yaml


def _once(path: Path, **options: Any) -> Any:
    """The harness's own files do not change; of others each fork reads what there is."""
    if not str(path).startswith(_HARNESS):
        return _load(path, **options)
    key = (str(path), *options.values())
    if key not in _READ:
        _READ[key] = _load(path, **options)
    return _READ[key]


_index.load_yaml = _once
lm_eval.tasks.TaskManager()
# pip takes a second to list the environment
collect_env.get_pretty_env_info = lambda: "not asked in tests"
