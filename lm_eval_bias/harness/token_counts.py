"""Log-likelihoods of choices with token counts: a request type for every model of the harness."""

import logging
from functools import partial
from typing import Any

from lm_eval_bias.harness import compat, whole_prompt
from lm_eval_bias.harness.choices import by_end_of_prompt
from lm_eval_bias.harness.conversation import NO_LIKELIHOODS
from lm_eval_bias.usage import UsageError

logger = logging.getLogger(__name__)

REQUEST = "loglikelihood_and_tokens"
CountedLikelihood = tuple[float, bool, int | None]
"""A log-likelihood, whether the choice is the greedy continuation, and its number of tokens; None
without a tokenizer."""


def loglikelihood_and_tokens(self: Any, requests: list[Any]) -> list[CountedLikelihood]:
    """`LM.loglikelihood_and_tokens`: the model's own `loglikelihood`, with token counts."""
    if any(not isinstance(request.args[0], str) for request in requests):
        raise UsageError(NO_LIKELIHOODS)
    tokens = by_end_of_prompt(partial(_count, self))
    answers = [
        (value, greedy, tokens(*request.args))
        for request, (value, greedy) in zip(requests, self.loglikelihood(requests), strict=True)
    ]
    if answers and answers[0][2] is None:
        logger.warning(
            "The model has no tokenizer to count the tokens of a choice: numbers by token are NaN "
            "or use bytes."
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


compat.add_request_type(REQUEST, loglikelihood_and_tokens)
whole_prompt.add_request_type(REQUEST)
