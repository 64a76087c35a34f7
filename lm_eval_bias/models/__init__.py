"""Model types: pseudo-log-likelihood, entailment, shared prefixes, likelihoods from a chat API. An
error names the extra that brings what one needs."""

from importlib import import_module
from typing import Any

from lm_eval_bias.usage import UsageError

TYPES = {
    "ChatLogprobs": ("chat_logprobs", "api"),
    "EntailmentLM": ("nli", "hf"),
    "MaskedLM": ("masked", "hf"),
    "PrefixLM": ("prefix", "hf"),
}


def __getattr__(name: str) -> Any:
    if name not in TYPES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    module, extra = TYPES[name]
    try:
        return getattr(import_module(f"{__name__}.{module}"), name)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the package {error.name} is missing; run: pip install 'lm-eval-bias[{extra}]'"
        ) from error
