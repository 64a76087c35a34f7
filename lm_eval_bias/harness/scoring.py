"""Likelihoods of answers: a request type for every model of the harness."""

import logging
from collections.abc import Callable
from functools import cache, partial
from inspect import signature
from typing import Any

from lm_eval_bias.harness import compat
from lm_eval_bias.harness.whole_prompt import NO_LIKELIHOODS, by_end_of_prompt, whole_prompts
from lm_eval_bias.likelihoods import Likelihood
from lm_eval_bias.usage import UsageError

logger = logging.getLogger(__name__)

REQUEST = "likelihoods"
COUNT, PAIR, WHOLE = "count_tokens", "pair", "whole_prompt"
"""What the third of a request's arguments, if there, may say: to count tokens; that both texts are
sentences, and the first is scored beside the second; that white space at the end of the prompt
stays there (whole_prompt.py)."""


def asked(**how: Any) -> list[dict[str, bool]]:
    """The third argument."""
    how = dict.fromkeys(filter(how.get, how), True)
    return [how] if how else []


def how_of(request: Any) -> dict[str, bool]:
    """What it says."""
    return dict(*request.args[2:])


def likelihoods(self: Any, requests: list[Any]) -> list[tuple[Any, ...]]:
    """`LM.likelihoods`: by the model's own `loglikelihood`, or by what it has in its place:
    `shown_likelihoods` and, of pairs, `pair_likelihoods`."""
    if any(not isinstance(request.args[0], str) for request in requests):
        raise UsageError(NO_LIKELIHOODS)
    of_pairs = getattr(self, "pair_likelihoods", None)
    ways = [(PAIR in how and of_pairs, WHOLE in how) for how in map(how_of, requests)]
    found = {}
    for ask, whole in dict.fromkeys(ways):
        some = [r for r, way in zip(requests, ways, strict=True) if way == (ask, whole)]
        with whole_prompts(self, whole):
            found[ask, whole] = iter((ask or partial(_scored, self))(some))
    return [next(found[way]) for way in ways]


compat.add_request_type(REQUEST, likelihoods)


def _scored(lm: Any, requests: list[Any]) -> list[Any]:
    plain, unknown = [], False
    for request in requests:
        if how := how_of(request):
            texts = ("", request.args[0]) if PAIR in how else request.args[:2]
            request = compat.derived(request, "loglikelihood", texts, request.idx)
        plain.append(request)
    answers = [*getattr(lm, "shown_likelihoods", lm.loglikelihood)(plain)]
    tokens, of_line = by_end_of_prompt(partial(_count, lm)), cache(partial(count_text, lm))
    for i, request in enumerate(plain):
        if COUNT in how_of(requests[i]):
            counts = tokens(*request.args), _of_prompt(request.args[0], of_line)
            answers[i] = Likelihood(*answers[i])._replace(tokens=counts[0], prompt_tokens=counts[1])
            unknown |= None in counts
    if unknown:
        logger.warning(
            "The model has no tokenizer to count tokens: numbers by token are NaN, or use bytes or "
            "words. Behind an API, add tokenizer_backend=huggingface,tokenizer=NAME to "
            "--model_args."
        )
    return answers


def _count(lm: Any, prompt: str, continuation: str) -> int | None:
    if hasattr(lm, "scored_tokens"):
        return lm.scored_tokens(prompt, continuation)
    # The harness begins a text with a prefix token, which an encoder's tokenizer may lack.
    prefix = getattr(lm, "prefix_token_id", False)
    if prefix is None or not hasattr(lm, "_encode_pair"):
        return None
    if not prompt and hasattr(lm, "tok_encode"):
        # The harness takes a text that begins with the prefix token as it is.
        tokens = lm.tok_encode(continuation, add_special_tokens=False)
        return len(tokens) - (prefix is not False and tokens[:1] == [prefix])
    return len(lm._encode_pair(prompt, continuation)[1])


def _of_prompt(prompt: str, of_line: Callable[[str], int | None]) -> int | None:
    """Line by line, since the prompts of a task share most lines."""
    counts: list[Any] = [of_line(line) for line in prompt.splitlines(keepends=True)]
    return None if None in counts else sum(counts)


def count_text(lm: Any, text: str) -> int | None:
    encode = getattr(lm, "tok_encode", None)
    if encode is None or "add_special_tokens" not in signature(encode).parameters:
        return None
    tokens = encode(text, add_special_tokens=False)
    # without a tokenizer, models behind an API give the text back
    return None if any(isinstance(token, str) for token in tokens) else len(tokens)
