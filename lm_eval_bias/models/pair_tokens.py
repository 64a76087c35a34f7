"""Encode pairs of context and continuation as the harness's `_encode_pair` does, equal parts
once."""

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from lm_eval_bias.harness.whole_prompt import WholePrompt
from lm_eval_bias.usage import UsageError

from .encoding import AT_A_TIME, Encoder, last_seam, packed

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
    for first in range(0, len(order), 2 * AT_A_TIME):
        part = order[first : first + 2 * AT_A_TIME]
        encoded = _encoded(encoder, [pairs[i] for i in part], prefix, bos, merged, whole)
        inputs: dict[bytes, bytes] = {}
        for i, (context, continuation) in zip(part, encoded, strict=True):
            assert context
            if not 0 < len(continuation) <= 4 * max_length:
                raise UsageError(
                    f"a continuation has {len(continuation) // 4} tokens; the model takes 1 to "
                    f"{max_length}"
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

    A context is cut at its last seam, so its end alone is encoded with each continuation. As in the
    harness, a context has its own tokens, which may differ from those in the whole text.
    """
    seam = encoder.seam
    # context -> whether special tokens stand around it, its head, its end, and the spaces behind
    parts: dict[str, tuple[bool, str, str, str]] = {}
    for context in dict.fromkeys(context for context, _ in pairs):
        # As in `TemplateLM._encode_pair`, spaces at its end belong to the continuation.
        stripped = context if whole_prompt else context.rstrip()
        at = last_seam(stripped, len(stripped)) if seam else 0
        end = stripped[at + seam.skipped if seam and at else 0 :]
        special = context != "" and encoder.adds(context, bos)
        parts[context] = special, stripped[:at], end, context[len(stripped) :]
    keys = []
    texts: dict[bool, set[str]] = {False: set(), True: set()}
    for context, continuation in pairs:
        special, _, end, spaces = parts[context]
        keys.append((special, end, spaces + continuation))
    distinct = dict.fromkeys(keys)
    for special, end, behind in distinct:
        texts[special] |= {end, end + behind}
    heads = encoder.each({head for _, head, *_ in parts.values()}, special=False) | {"": b""}
    ends = {special: encoder.each(group, special=special) for special, group in texts.items()}
    starts = {False: b"", True: seam.before if seam else b""}
    tails = {}
    for special, end, behind in distinct:
        start = len(starts[special])
        own, both = (ends[special][text][start:] for text in (end, end + behind))
        if whole_prompt and end[-1:].isspace() and not both.startswith(own):
            both = own + packed(whole_prompt(end, behind)[1])
        if len(both) <= len(own):
            merged.append((end, behind))
            both = own + encoder.whole([behind], False)[0]
        tails[special, end, behind] = own, both[len(own) :]
    first = packed([prefix])
    for (context, _), key in zip(pairs, keys, strict=True):
        own, tokens = tails[key]
        if context:
            yield starts[key[0]] + heads[parts[context][1]] + own, tokens
        else:
            yield first, tokens.removeprefix(first)
