"""Encode pairs of context and continuation as the harness's `_encode_pair` does, equal parts
once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from lm_eval_bias.harness.whole_prompt import WholePrompt
from lm_eval_bias.usage import UsageError

from .encoding import AT_A_TIME, Encoder, last_seam, packed

logger = logging.getLogger(__name__)


class PairTokens(NamedTuple):
    """The tokens of n pairs, sorted by context.

    order: the index in the original pairs, shape (n,). inputs: distinct, without the last token,
    packed. which: the input of each pair, shape (n,). continuations: n, packed.
    """

    order: np.ndarray
    inputs: list[bytes]
    which: np.ndarray
    continuations: list[bytes]


def encode_pairs(
    encoder: Encoder,
    pairs: Sequence[tuple[str, str]],
    prefix: int,
    bos: str | None,
    max_length: int,
    counted: Callable[[int], Any] = int,
    whole: WholePrompt | None = None,
) -> PairTokens:
    """Encode pairs.

    prefix: the token for an empty context. bos: see `Encoder.each`. max_length: longer pairs lose
    tokens on the left, with a warning. counted: called with the number of pairs done. whole: if
    spaces at a context's end stay there.
    """
    order = sorted(range(len(pairs)), key=lambda i: pairs[i][0])
    inputs: dict[bytes, int] = {}
    which, continuations = [], []
    merged: list[tuple[str, str]] = []
    too_long = 0
    for start in range(0, len(order), 2 * AT_A_TIME):
        part = [pairs[i] for i in order[start : start + 2 * AT_A_TIME]]
        for before, behind in _encoded(encoder, part, packed([prefix]), bos, merged, whole):
            assert before
            if not 0 < len(behind) <= 4 * max_length:
                raise UsageError(
                    f"a continuation has {len(behind) // 4} tokens; the model takes 1 to "
                    f"{max_length}"
                )
            too_long += len(before) + len(behind) > 4 * (max_length + 1)
            tokens = (before + behind)[:-4][-4 * max_length :]
            which.append(inputs.setdefault(tokens, len(inputs)))
            continuations.append(behind)
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
            *(too_long, max_length),
        )
    return PairTokens(np.array(order), list(inputs), np.array(which, np.int32), continuations)


def _encoded(
    encoder: Encoder,
    pairs: Sequence[tuple[str, str]],
    prefix: bytes,
    bos: str | None,
    merged: list[tuple[str, str]],
    whole: WholePrompt | None,
) -> Iterator[tuple[bytes, bytes]]:
    """The tokens of each context and continuation. merged: gets pairs whose continuation has no
    token of its own."""
    # As in `TemplateLM._encode_pair`, spaces at a context's end belong to the continuation.
    heads = [context if whole else context.rstrip() for context, _ in pairs]
    split = [
        (context, head, context[len(head) :] + text)
        for (context, text), head in zip(pairs, heads, strict=True)
    ]
    alone = encoder.each((rest for context, _, rest in split if not context), special=False)
    texts = (text for c, head, rest in split if c for text in (head, head + rest))
    tokens = encoder.each(texts, bos)
    for context, head, rest in split:
        if not context:
            yield prefix, alone[rest].removeprefix(prefix)
            continue
        # The context's own tokens may differ from those in the whole text.
        before, both = tokens[head], tokens[head + rest]
        behind = both[len(before) :]
        if whole and head[-1:].isspace() and not both.startswith(before):
            end = head[last_seam(head, len(head)) if encoder.seam else 0 :]
            behind = packed(whole(end, rest)[1])
        if not behind:
            merged.append((head, rest))
            behind = encoder.whole([rest], False)[0]
        yield before, behind
