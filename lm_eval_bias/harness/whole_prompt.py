"""Likelihoods behind a chat template's whole prompt.

The harness moves white space from a prompt's end into the answer, whose likelihood then has the
factor P(white space behind "assistant"). Here the answer stands behind all tokens of the prompt, as
when a model writes.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from lm_eval_bias.answers.reasoning import without_reasoning
from lm_eval_bias.usage import UsageError

NO_LIKELIHOODS = (
    "this model takes messages, not text, so it gives no likelihoods. Run a task that generates"
)
# Texts that white space and letters behind them seldom merge with.
_BEFORE = ("", "\n", "(", ":", "1")


def by_end_of_prompt(function: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    """A function of a prompt and what follows it, whose values depend on the prompt's end and are
    kept."""
    known = {}

    def kept(prompt: str, rest: Any) -> Any:
        key = prompt[-32:], rest
        if key not in known:
            known[key] = function(prompt, rest)
        return known[key]

    return kept


class WholePrompt:
    """A model's `_encode_pair`, but white space at the end of a prompt stays there."""

    def __init__(self, lm: Any):
        self._lm, self._plain = lm, lm._encode_pair
        self._head = lru_cache(maxsize=1)(lm.tok_encode)  # choices of a prompt come together
        self._tail = by_end_of_prompt(self._tail_of)

    def __call__(self, context: str, continuation: str) -> tuple[list[int], list[int]]:
        """Raises UsageError if no tokens spell the continuation there."""
        if context == context.rstrip():
            return self._plain(context, continuation)
        return self._head(context), self._tail(context, continuation)

    def _tail_of(self, context: str, continuation: str) -> list[int]:
        encode = self._lm.tok_encode
        if getattr(self._lm, "backend", "causal") != "causal":
            return encode(continuation, add_special_tokens=False)
        head, whole = self._head(context), encode(context + continuation)
        if whole[: len(head)] == head:
            return whole[len(head) :]
        # " a" is one token, but the prompt holds the blank: the model goes on with "a". Some
        # tokenizers put a blank before the first word of a text.
        decode, end = self._lm.tokenizer.decode, head[-8:]
        for before in _BEFORE:
            start, both = (
                encode(text, add_special_tokens=False) for text in (before, before + continuation)
            )
            tail = both[len(start) :]
            if both[: len(start)] == start and decode([*end, *tail]) == decode(end) + continuation:
                return tail
        raise UsageError(
            f"the tokenizer has no tokens that spell {continuation!r} behind a prompt that ends in "
            f"{context[-1]!r}, as this chat template's do. Run without --apply_chat_template"
        )


@contextmanager
def whole_prompts(lm: Any, wanted: bool) -> Iterator[None]:
    """Inside the block a model scores answers behind whole prompts. The harness's cache holds them
    apart."""
    lm = getattr(lm, "lm", lm)  # the cache is a model around the model
    encode_pair = getattr(lm, "_encode_pair", None)
    from_harness = getattr(encode_pair, "__module__", "").startswith("lm_eval.")
    if not (wanted and getattr(encode_pair, "moves_white_space", from_harness)):
        yield  # it moves no white space
        return
    answers = getattr(getattr(lm, "cache_hook", None), "dbdict", None)
    key: Any = getattr(answers, "encode_key", None)
    lm._encode_pair = WholePrompt(lm)
    if answers is not None:
        answers.encode_key = lambda value: key(f"{value}_in_chat")
    try:
        yield
    finally:
        del lm._encode_pair
        if answers is not None:
            answers.encode_key = key


def opened_thought(prompt: str, asked: str) -> str:
    """What stands behind the user's last text, if that opens a thinking block; empty if not."""
    asked = asked.strip()
    at = prompt.rfind(asked)
    # a template may write the text in another way
    end = prompt[at + len(asked) :] if at >= 0 else prompt[-40:]
    return end if without_reasoning(end) is None else ""


def refuse_open_thinking(task: str, prompt: Any, asked: str, apply: Any) -> None:
    """Raise UsageError if a chat template leaves a thinking block open behind the user's last text.
    apply: the model's `apply_chat_template`."""
    if not isinstance(prompt, str):
        return
    lm = getattr(apply, "__self__", None)
    thinks = getattr(lm, "enable_thinking", False)  # None is the template's own choice
    if end := opened_thought(prompt, asked):
        why = f"opens a thinking block and does not close it ({end.strip()[-30:]!r})"
    elif thinks:
        why = "lets the model think first"
    else:
        return
    template = str(getattr(getattr(lm, "tokenizer", None), "chat_template", ""))
    instead = "Let it think first with --metadata reasoning=true"
    if thinks or ("enable_thinking" in template and thinks is None):
        instead += ", or set enable_thinking=False in --model_args"
    raise UsageError(
        f"{task}: the model's chat template {why}, so the likelihood of an answer would be that of "
        f"a thought. {instead}."
    )
