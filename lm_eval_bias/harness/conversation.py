"""Conversations: a request type for every model of the harness.

Turn 1 of all requests goes to the model's own `generate_until`, or `loglikelihood` for choices,
then turn 2, and so on.
"""

import logging
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import jinja2
import jinja2.meta
from tqdm import tqdm

from lm_eval_bias.answers.reasoning import spoken
from lm_eval_bias.harness import compat
from lm_eval_bias.harness.choices import Nesting
from lm_eval_bias.harness.dataset import Document
from lm_eval_bias.harness.gc_pause import gc_paused
from lm_eval_bias.harness.sampling import generate_samples
from lm_eval_bias.harness.templates import Config, template
from lm_eval_bias.harness.whole_prompt import whole_prompts
from lm_eval_bias.likelihoods import Likelihood, apart
from lm_eval_bias.measure import quietly
from lm_eval_bias.usage import UsageError

logger = logging.getLogger(__name__)

REQUEST = "conversation"
NO_LIKELIHOODS = (
    "this model takes messages, not text, so it gives no likelihoods. Run a task that generates"
)
# Ends of turns that some models write out. Not empty: some APIs refuse an empty list of stops.
UNTIL = ("</s>", "<|im_end|>")
Answer = str | list[Likelihood]
"""A turn's answer: the generated text, or (log-likelihood, is greedy) of each choice."""
# Hundreds of choices for each of many documents do not fit into memory at once.
SCORED_AT_A_TIME = 50_000


class Conversation:
    """The state of one request.

    instance: its arguments are the first prompt and a plan: "turns", each with "user" or
    "user_template" (over columns and `answers`) and "generation_kwargs" or "choices" and
    "exclusive"; "system", text or None; "chat", whether to use the chat template.
    """

    def __init__(self, lm: Any, instance: Any) -> None:
        self.lm, self.instance = lm, instance
        self.plan: Config = instance.args[1]
        self.turns: list[Config] = self.plan["turns"]
        self.history: list[dict[str, str]] = []
        self.answers: list[Answer] = []

    def next_prompt(self) -> Any:
        turn = self.turns[len(self.answers)]
        if not self.answers:
            self.history.append({"role": "user", "content": turn["user"]})
            return self.instance.args[0]
        if "user_template" in turn:
            answers = [m["content"] for m in self.history if m["role"] == "assistant"]
            columns = {**self.instance.doc, "answers": answers}
            text = template(turn["user_template"]).render(columns)
        else:
            text = turn["user"]
        self.history.append({"role": "user", "content": text})
        return prompt(self.plan, self.history, self.lm.apply_chat_template)

    def choices(self) -> tuple[str, ...]:
        delimiter = "" if self.plan["chat"] else " "
        return _continuations(delimiter, tuple(self.turns[len(self.answers)]["choices"]))

    def generation_kwargs(self) -> Config:
        number = len(self.answers) + 1
        settings = dict(self.turns[number - 1]["generation_kwargs"])
        until = settings.get("until") or []
        settings["until"] = [until] if isinstance(until, str) else list(until)
        if not self.plan["chat"] and len(self.turns) > 1:
            # A model that completes text would write the next question itself.
            settings["until"].append(f"\nQ{number + 1}:")
        return settings

    def answer(self, answer: Answer, choices: Sequence[str] = ()) -> None:
        self.answers.append(answer)
        if not isinstance(answer, str):
            answer = choices[max(range(len(choices)), key=lambda i: answer[i][0])]
        # Without its thinking. An empty answer stays a turn: many templates refuse two turns of
        # the user in a row.
        self.history.append({"role": "assistant", "content": (spoken(answer) or "").strip()})


@lru_cache(maxsize=64)  # the same hundred for every document
def _continuations(delimiter: str, choices: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(delimiter + choice for choice in choices)


def conversation(self: Any, requests: list[Any]) -> list[list[Answer]]:
    """`LM.conversation`: the answers to all turns of each request, in order."""
    states = [Conversation(self, request) for request in requests]
    last = max((len(state.turns) for state in states), default=0)
    for number in range(last):
        prompts = [(s, s.next_prompt()) for s in states if number < len(s.turns)]
        generated = [(s, p) for s, p in prompts if "choices" not in s.turns[number]]
        scored = [(s, p, s.choices()) for s, p in prompts if "choices" in s.turns[number]]
        counts = number + 1, last, len(generated), len(scored)
        logger.info("Turn %d of %d: %d answers to generate, %d to score", *counts)
        if generated:
            arguments = [(s, (p, s.generation_kwargs())) for s, p in generated]
            derived = [compat.derived(s.instance, "generate_until", a, 0) for s, a in arguments]
            for (state, _), text in zip(generated, generate_samples(self, derived), strict=True):
                # an API whose filter held the answer back gives None
                state.answer(text if isinstance(text, str) else "")
        for state, choices, answer in _scored(self, scored):
            state.answer(answer, choices)
    return [state.answers for state in states]


Scored = tuple[Conversation, str, tuple[str, ...]]
"""A state, its prompt, and the continuations to score."""


def _scored(
    lm: Any, turns: list[Scored]
) -> Iterator[tuple[Conversation, tuple[str, ...], list[Likelihood]]]:
    if any(not isinstance(p, str) for _, p, _ in turns):
        raise UsageError(NO_LIKELIHOODS)
    # All have about as many choices.
    longest = max((len(choices) for _, _, choices in turns), default=1)
    size = max(1, -(-SCORED_AT_A_TIME // longest))
    if len(turns) > size:  # similar prompts go together
        turns = sorted(turns, key=lambda turn: turn[1])
    parts = [turns[start : start + size] for start in range(0, len(turns), size)]
    quiet = compat.without_bar(lm.loglikelihood) if len(parts) > 1 else {}
    hidden = not quiet or getattr(lm, "rank", 0) != 0
    if turns and turns[0][0].plan["chat"]:
        ask = lm.loglikelihood_in_chat
        with whole_prompts(lm):
            nesting = Nesting(lm)
    else:
        ask, nesting = lm.loglikelihood, Nesting(lm)
    with tqdm(total=len(turns), desc="Scoring choices", unit=" prompts", disable=hidden) as bar:
        for part in parts:
            with gc_paused():
                requests = [
                    compat.derived(s.instance, "loglikelihood", (p, choice), i)
                    for s, p, choices in part
                    for i, choice in enumerate(choices)
                ]
            likelihoods = iter(ask(requests, **quiet))
            for s, p, choices in part:
                answer: list[Likelihood] = [tuple(next(likelihoods)) for _ in choices]
                exclusive = s.turns[len(s.answers)].get("exclusive")
                yield s, choices, apart(answer, nesting(p, choices)) if exclusive else answer
            bar.update(len(part))


compat.add_request_type(REQUEST, conversation)


@cache
def _quotes_answers(text: str) -> bool:
    return "answers" in jinja2.meta.find_undeclared_variables(compat.environment().parse(text))


def question(text: str, doc: Document) -> dict[str, str]:
    if _quotes_answers(text):
        return {"user_template": text}
    return {"user": template(text).render(doc)}


def transcript(system: str | None, messages: Sequence[dict[str, str]], turns: int) -> str:
    """Messages as plain text in MIST's format, "Q1: ...", "A1: ..."; a single turn has none."""
    head = f"{system}\n\n" if system else ""
    if turns == 1:
        return head + messages[0]["content"]
    lines = [
        f"{'QA'[i % 2]}{i // 2 + 1}: {message['content']}" for i, message in enumerate(messages)
    ]
    return head + "\n".join([*lines, f"A{len(messages) // 2 + 1}:"])


def prompt(plan: Config, messages: list[dict[str, str]], apply: Any) -> Any:
    system = plan["system"]
    if plan["chat"]:
        first = [{"role": "system", "content": system}] if system else []
        return chat_prompt(apply, [*first, *messages])
    return transcript(system, messages, len(plan["turns"]))


def chat_prompt(apply: Any, messages: list[dict[str, str]], **options: Any) -> Any:
    """Messages through a chat template. Without a system role, the first user turn gets the system
    message. Raises UsageError if the template refuses them."""
    try:
        if len(messages) > 1 and messages[0]["role"] == "system" and not _takes_system(apply):
            system, first, *others = messages
            content = f"{system['content'].rstrip()}\n\n{first['content']}"
            messages = [{**first, "content": content}, *others]
        return apply(messages, **options)
    except jinja2.TemplateError as error:
        roles = ", ".join(message["role"] for message in messages)
        raise UsageError(
            f"the model's chat template refuses a conversation of {roles}: {error}. Run without "
            "--apply_chat_template."
        ) from error


_TAKES_SYSTEM: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()


def _takes_system(apply: Any) -> bool:
    model = getattr(apply, "__self__", apply)
    if model not in _TAKES_SYSTEM:
        _TAKES_SYSTEM[model] = _probe_system(apply)
    return _TAKES_SYSTEM[model]


def _probe_system(apply: Any) -> bool:
    """Whether a system message reaches the model: `HFLM` drops one that the template refuses."""
    probe = "Answer briefly and plainly."
    messages = [{"role": "system", "content": probe}, {"role": "user", "content": "Hello."}]
    with quietly("lm_eval.models.huggingface"):
        try:
            return probe in str(apply(messages))
        except jinja2.TemplateError:
            return False


def read_turns(task: str | None, turns: Any) -> list[Config]:
    """The checked turns of a task's YAML. Raises UsageError."""
    if not isinstance(turns, list) or not turns:
        raise UsageError(
            f"{task}: expected `turns`, a list with at least one turn, found {turns!r}"
        )
    checked = []
    for number, turn in enumerate(turns, start=1):
        place = f"{task}, turn {number}:"
        if not isinstance(turn, dict) or not isinstance(turn.get("user"), str):
            raise UsageError(f"{place} expected `user`, the text of the question, found {turn!r}")
        unknown = sorted(set(turn) - {"user", "generation_kwargs"})
        if unknown:
            raise UsageError(
                f"{place} unknown key {unknown[0]!r}; a turn has `user` and `generation_kwargs`"
            )
        if number == 1 and _quotes_answers(turn["user"]):
            raise UsageError(f"{place} it has no earlier answers to quote")
        settings = dict(turn.get("generation_kwargs") or {})
        checked.append({"user": turn["user"], "generation_kwargs": settings})
    return checked
