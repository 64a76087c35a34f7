"""Which model type can run a model, by its config."""

import sys
from typing import Any

import torch
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

from lm_eval_bias.usage import UsageError


def is_encoder(config: Any) -> bool:
    if any(getattr(config, name, False) for name in ("is_encoder_decoder", "is_decoder", "causal")):
        return False
    remote = getattr(config, "auto_map", None) or {}
    known = config.model_type in MODEL_FOR_MASKED_LM_MAPPING_NAMES
    return (known or "AutoModelForMaskedLM" in remote) and "AutoModelForCausalLM" not in remote


def learned_positions(model: torch.nn.Module) -> int:
    """The number of learned token positions, or sys.maxsize."""
    learned = (m for name, m in model.named_modules() if name.endswith("position_embeddings"))
    tables = [m for m in learned if isinstance(m, torch.nn.Embedding)]
    # RoBERTa numbers its positions from the padding token onwards.
    sizes = [t.num_embeddings - (0 if t.padding_idx is None else t.padding_idx + 1) for t in tables]
    return min(sizes, default=sys.maxsize)


def require_encoder(pretrained: Any, config: Any) -> None:
    if is_encoder(config):
        return
    if getattr(config, "is_encoder_decoder", False):
        kind, better = "is an encoder and a decoder", "hf"
    else:
        kind, better = "is no encoder and predicts no masked tokens", "hf-prefix or --model hf"
    raise UsageError(
        f"--model hf-mlm: {model_name(pretrained)} ({_type(config)}) {kind}. Run it with --model "
        f"{better}; hf-mlm takes masked language models, such as BERT, RoBERTa, ALBERT, DeBERTa, "
        f"DistilBERT, ModernBERT or ELECTRA's generator."
    )


def refuse_encoder(pretrained: Any, config: Any) -> None:
    if not is_encoder(config):
        return
    better = "hf-nli" if "ForSequenceClassification" in _type(config) else "hf-mlm"
    raise UsageError(
        f"--model hf-prefix: {model_name(pretrained)} ({_type(config)}) is an encoder. It "
        f"cannot compute the likelihood of a text from left to right. Run it with --model "
        f"{better}."
    )


def model_name(pretrained: Any) -> str:
    if isinstance(pretrained, str):
        return pretrained
    return getattr(pretrained, "name_or_path", "") or type(pretrained).__name__


def _type(config: Any) -> str:
    return ", ".join(getattr(config, "architectures", None) or [config.model_type])
