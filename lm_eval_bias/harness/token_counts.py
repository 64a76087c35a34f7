"""Log-likelihoods of choices with the number of tokens that each adds up: a request for every model
of the harness, and a task of it.

The harness's own requests answer (log-likelihood, is greedy). How many tokens a choice has is known
beside the model alone, and different tokenizers cut it differently, so it is asked there. The
requests that reach the model are ordinary ones, in one call: what a model shares between them, it
still shares. Importing this module adds the method to the harness's classes.
"""

from __future__ import annotations

import logging
from typing import Any

from lm_eval_bias.harness import compat
from lm_eval_bias.harness.task import MeasureTask
from lm_eval_bias.usage import UsageError

logger = logging.getLogger(__name__)

REQUEST = "loglikelihood_and_tokens"
CountedLikelihood = tuple[float, bool, int | None]
"""A log-likelihood, whether the choice is the greedy continuation, and its number of tokens; None
where no tokenizer says."""


def loglikelihood_and_tokens(self: Any, requests: list[Any]) -> list[CountedLikelihood]:
    """`LM.loglikelihood_and_tokens`: the answers of the model's own `loglikelihood`, each with the
    tokens of its continuation."""
    if any(not isinstance(r.args[0], str) for r in requests):
        raise UsageError(
            "this model takes messages, not text, so it gives no likelihoods; run a task that generates"
        )
    tokens = TokenCounts(self)
    return [
        (value, greedy, tokens(*r.args))
        for r, (value, greedy) in zip(requests, self.loglikelihood(requests), strict=True)
    ]


class TokenCounts:
    """How many tokens the log-likelihood of a continuation adds up, for one model; its tokenizer is
    asked once for each end of a prompt.

    Blanks at the end of a prompt, such as the line break before a chat answer, count with the
    continuation, as the harness scores them.
    """

    def __init__(self, lm: Any) -> None:
        self._lm = lm
        self._known: dict[tuple[str, str], int | None] = {}

    def __call__(self, prompt: str, continuation: str) -> int | None:
        key = (prompt[-32:], continuation)
        if key not in self._known:
            count = self._count(prompt, continuation)
            if count is None and not self._known:
                logger.warning(
                    "The model has no tokenizer to count the tokens of a choice; what needs them is NaN, or goes by bytes."
                )
            self._known[key] = count
        return self._known[key]

    def _count(self, prompt: str, continuation: str) -> int | None:
        if hasattr(self._lm, "scored_tokens"):  # a model that says it itself
            return self._lm.scored_tokens(prompt, continuation)
        # The harness's own split begins a text with a prefix token, which the tokenizer of an
        # encoder may lack.
        lacks_prefix = getattr(self._lm, "prefix_token_id", False) is None
        if not prompt and hasattr(self._lm, "tok_encode") and not lacks_prefix:
            # The harness puts the prefix token there, and takes a text that begins with it as it
            # is.
            tokens = self._lm.tok_encode(continuation, add_special_tokens=False)
            return len(tokens) - (tokens[:1] == [getattr(self._lm, "prefix_token_id", None)])
        if hasattr(self._lm, "_encode_pair") and not lacks_prefix:
            return len(self._lm._encode_pair(prompt, continuation)[1])
        try:
            tokenizer = getattr(self._lm, "tokenizer", None)
        except OSError:  # the harness's `dummy` fetches GPT-2's when it is asked for
            return None
        if not getattr(tokenizer, "is_fast", False):
            return None
        spans = tokenizer(
            prompt + continuation, add_special_tokens=False, return_offsets_mapping=True
        )["offset_mapping"]
        # A blank between them belongs to the continuation, as in the harness.
        return sum(end > max(begin, len(prompt.rstrip())) for begin, end in spans)


compat.add_request_type(REQUEST, loglikelihood_and_tokens)


class CountedTask(MeasureTask):
    """A task of choices whose likelihoods come with numbers of tokens. Named in a YAML by `class:
    !function lm_eval_bias.harness.token_counts.CountedTask`, with `output_type: multiple_choice`;
    else as `MeasureTask`.

    The measure's `record` gets a `CountedLikelihood` for each choice.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config)
        # The harness sends requests of this type, and pads them by it when there are several
        # processes.
        self.OUTPUT_TYPE = REQUEST

    def construct_requests(self, doc, ctx, **kwargs):
        self.OUTPUT_TYPE = self.config.output_type
        requests = super().construct_requests(doc, ctx, **kwargs)
        self.OUTPUT_TYPE = REQUEST
        for each in requests:
            each.request_type = REQUEST
        return requests
