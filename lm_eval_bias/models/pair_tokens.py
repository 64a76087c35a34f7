"""Encode pairs of context and continuation as the harness's `_encode_pair` does, equal parts
once."""

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from lm_eval.models.utils import chunks

from lm_eval_bias.harness.whole_prompt import WholePrompt
from lm_eval_bias.usage import UsageError

from .encoding import AT_A_TIME, Encoder, packed

logger = logging.getLogger(__name__)

Pair = tuple[str, str]


class PairTokens(NamedTuple):
    """inputs: the packed tokens of each pair without the last one; equal ones are one object.
    continuations: those of each continuation."""

    inputs: list[bytes]
    continuations: list[bytes]


def encode_pairs(
    encoder: Encoder,
    pairs: Sequence[Pair],
    prefix: int,
    bos: str | None,
    max_length: int,
    counted: Callable[[int], Any] = int,
    whole: WholePrompt | None = None,
) -> PairTokens:
    """prefix: the token for an empty context. bos: of `Encoder.each`. max_length: longer pairs lose
    tokens on the left, with a warning. counted: called with the number of pairs done. whole: if
    spaces at a context's end stay there."""
    order = sorted(range(len(pairs)), key=lambda i: pairs[i][0])
    tokens = PairTokens([b""] * len(pairs), [b""] * len(pairs))
    merged: list[Pair] = []
    too_long = 0
    for part in chunks(order, 2 * AT_A_TIME):
        encoded = _encoded(encoder, [pairs[i] for i in part], prefix, bos, merged, whole)
        inputs: dict[bytes, bytes] = {}
        for i, (context, continuation) in zip(part, encoded, strict=True):
            if not context or not 0 < len(continuation) <= 4 * max_length:
                raise UsageError(
                    f"{pairs[i]}: the context has {len(context) // 4} tokens and the continuation "
                    f"{len(continuation) // 4}; the model takes 1 or more, and 1 to {max_length}"
                )
            both = context + continuation
            too_long += len(both) > 4 * (max_length + 1)
            both = both[max(len(both) - 4 * (max_length + 1), 0) : -4]
            tokens.inputs[i] = inputs.setdefault(both, both)
            tokens.continuations[i] = continuation
        counted(len(part))
    if merged:
        logger.warning(
            "The tokenizer merges %d continuations into the end of their contexts, such as %r into "
            "%r. Their likelihoods are those of their own tokens behind those of the context.",
            *(len(merged), merged[0][1], merged[0][0][-40:]),
        )
    if too_long:
        logger.warning(
            "%d requests are longer than the model's maximum length (%d) and lose tokens on the "
            "left.",
            too_long,
            max_length,
        )
    return tokens


def _encoded(
    encoder: Encoder,
    pairs: Sequence[Pair],
    prefix: int,
    bos: str | None,
    merged: list[Pair],
    whole_prompt: WholePrompt | None,
) -> Iterator[tuple[bytes, bytes]]:
    """The packed tokens of each context and continuation. merged: gets pairs whose continuation has
    no token of its own.

    As in the harness, a context has its own tokens, which may differ from those in the whole text.
    """
    splits = []
    for context, continuation in pairs:
        # As in `TemplateLM._encode_pair`, spaces at its end belong to the continuation.
        head = context if whole_prompt else context.rstrip()
        splits.append((head, context[len(head) :] + continuation))
    tokens = encoder.each((text for head, tail in splits for text in (head, head + tail)), bos)
    unprompted = [continuation for context, continuation in pairs if not context]
    alone = dict(zip(unprompted, encoder.batch(unprompted, False), strict=True))
    first = packed([prefix])
    for (context, continuation), (head, tail) in zip(pairs, splits, strict=True):
        if not context:
            yield first, alone[continuation].removeprefix(first)
            continue
        own, both = tokens[head], tokens[head + tail]
        if whole_prompt and head[-1:].isspace() and not both.startswith(own):
            both = own + packed(whole_prompt(head, tail)[1])
        if len(both) <= len(own):
            merged.append((head, tail))
            both = own + encoder.batch([tail], False)[0]
        yield own, both[len(own) :]
