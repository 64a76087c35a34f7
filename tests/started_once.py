"""What each fork of `started.run_lm_eval` has already; imported by the process that it is a fork
of, and by nothing else."""

from __future__ import annotations

import os
import pickle
from importlib.metadata import version
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


# To read them all takes ten seconds, so the first process keeps them for those after it.
_KEPT = Path(__file__).parents[1] / ".cache" / f"lm_eval-{version('lm_eval')}.pickle"
if _KEPT.exists():
    _READ.update(pickle.loads(_KEPT.read_bytes()))
_index.load_yaml = _once
_kept = len(_READ)
lm_eval.tasks.TaskManager()
if len(_READ) > _kept:
    _KEPT.parent.mkdir(exist_ok=True)
    _written = _KEPT.with_suffix(f".{os.getpid()}")
    _written.write_bytes(pickle.dumps(_READ))
    _written.replace(_KEPT)
# pip takes a second to list the environment
collect_env.get_pretty_env_info = lambda: "not asked in tests"
