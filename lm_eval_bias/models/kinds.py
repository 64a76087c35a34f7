"""Which kind of model a config describes, and the model type of the harness that runs it."""

from __future__ import annotations

from typing import Any

import torch
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

from lm_eval_bias.usage import UsageError


def is_encoder(config: Any) -> bool:
    """Whether a model reads both ways and has a head that says what stands in the place of a mask."""
    if (
        getattr(config, "is_encoder_decoder", False)
        or getattr(config, "is_decoder", False)
        or getattr(config, "causal", False)
    ):
        return False
    remote = getattr(config, "auto_map", None) or {}
    masked = (
        getattr(config, "model_type", None) in MODEL_FOR_MASKED_LM_MAPPING_NAMES
        or "AutoModelForMaskedLM" in remote
    )
    return masked and "AutoModelForCausalLM" not in remote


def learned_positions(model: torch.nn.Module) -> int | None:
    """How many tokens a model has learned positions for; None if it learns none, or calls them
    otherwise."""
    learned = (m for name, m in model.named_modules() if name.endswith("position_embeddings"))
    tables = [m for m in learned if isinstance(m, torch.nn.Embedding)]
    # RoBERTa and its kin count from behind the number of the padding token.
    sizes = [t.num_embeddings - (0 if t.padding_idx is None else t.padding_idx + 1) for t in tables]
    return min(sizes, default=None)


def require_encoder(pretrained: Any, config: Any) -> None:
    """Raises UsageError for a model that `hf-mlm` cannot run."""
    if is_encoder(config):
        return
    if getattr(config, "is_encoder_decoder", False):
        reads, better = "is an encoder and a decoder", "hf"
    else:
        reads, better = (
            "is no encoder: it does not say what stands in the place of a mask",
            "hf-prefix or --model hf",
        )
    raise UsageError(
        f"--model hf-mlm: {_name(pretrained)} ({_type(config)}) {reads}. Run it with --model {better}; hf-mlm takes masked "
        f"language models, such as BERT, RoBERTa, ALBERT, DeBERTa, DistilBERT, ModernBERT or ELECTRA's generator."
    )


def refuse_encoder(model: str, pretrained: Any, config: Any) -> None:
    """Raises UsageError for a model that has no likelihood of a text from left to right. model: the
    model type it was given to."""
    if not is_encoder(config):
        return
    classifier = any(
        "ForSequenceClassification" in name for name in getattr(config, "architectures", None) or ()
    )
    better = "hf-nli" if classifier else "hf-mlm"
    raise UsageError(
        f"--model {model}: {_name(pretrained)} ({_type(config)}) is an encoder, which reads both ways and has no likelihood of a text from "
        f"left to right. Run it with --model {better}."
    )


def _name(pretrained: Any) -> str:
    """What was given as `pretrained`."""
    return (
        pretrained
        if isinstance(pretrained, str)
        else getattr(pretrained, "name_or_path", "") or type(pretrained).__name__
    )


def _type(config: Any) -> str:
    return ", ".join(
        getattr(config, "architectures", None)
        or [str(getattr(config, "model_type", "of unknown type"))]
    )
