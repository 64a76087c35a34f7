"""Log-likelihoods of choices with token counts: a request type for every model of the harness."""

import logging
from collections.abc import Callable
from functools import cache, partial
from inspect import signature
from typing import Any

from lm_eval_bias.harness import compat, whole_prompt
from lm_eval_bias.harness.whole_prompt import NO_LIKELIHOODS, by_end_of_prompt
from lm_eval_bias.usage import UsageError

logger = logging.getLogger(__name__)

REQUEST = "loglikelihood_and_tokens"
CountedLikelihood = tuple[float, bool, int | None, int | None]
"""A log-likelihood, whether the choice is the greedy continuation, its number of tokens and that of
the prompt; None without a tokenizer."""


def loglikelihood_and_tokens(self: Any, requests: list[Any]) -> list[CountedLikelihood]:
    """`LM.loglikelihood_and_tokens`: the model's own `loglikelihood`, with token counts."""
    if any(not isinstance(request.args[0], str) for request in requests):
        raise UsageError(NO_LIKELIHOODS)
    tokens, of_line = by_end_of_prompt(partial(_count, self)), cache(partial(count_text, self))
    answers = [
        (value, greedy, tokens(*request.args), _of_prompt(request.args[0], of_line))
        for request, (value, greedy) in zip(requests, self.loglikelihood(requests), strict=True)
    ]
    if any(None in answer for answer in answers):
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
    counts = [of_line(line) for line in prompt.splitlines(keepends=True)]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def count_text(lm: Any, text: str) -> int | None:
    encode = getattr(lm, "tok_encode", None)
    if encode is None or "add_special_tokens" not in signature(encode).parameters:
        return None
    tokens = encode(text, add_special_tokens=False)
    # without a tokenizer, models behind an API give the text back
    return None if any(isinstance(token, str) for token in tokens) else len(tokens)


compat.add_request_type(REQUEST, loglikelihood_and_tokens)
whole_prompt.add_request_type(REQUEST)
