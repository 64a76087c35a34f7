"""Written answers and conversations: a request type for every model of the harness.

Turn 1 of all requests goes to the model's own `generate_until`, or to `likelihoods` for choices,
then turn 2, and so on.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache, partial
from inspect import signature
from math import nan
from typing import Any

import jinja2
import jinja2.meta

from lm_eval_bias.answers.reasoning import beginning, without_reasoning
from lm_eval_bias.harness import compat, early, scoring
from lm_eval_bias.harness.dataset import Document
from lm_eval_bias.harness.sampling import generate_samples
from lm_eval_bias.harness.templates import ENVIRONMENT, Config, template
from lm_eval_bias.harness.whole_prompt import opened_thought
from lm_eval_bias.likelihoods import Thought
from lm_eval_bias.measure import logging_disabled
from lm_eval_bias.usage import UsageError

logger = logging.getLogger(__name__)

REQUEST = "conversation"
EMPTY, OWN = "Behind an empty thought", "Behind the thought"
"""Where the choices stand in the last two turns of a model that thinks first."""
# Ends of turns that some models write out. Not empty: some APIs refuse an empty list of stops.
UNTIL = ("</s>", "<|im_end|>")
Answer = str | Thought | list[tuple[Any, ...]]
"""A turn's answer: the generated text, a thought, or the `Likelihood` of each choice."""
# Hundreds of choices for each of many documents do not fit into memory at once.
SCORED_AT_A_TIME = 50_000


class Conversation:
    """The state of one request.

    instance: its arguments are a prompt and its generation_kwargs, or the first prompt and a plan:
    "turns", each with "user" or "user_template" (over columns and `answers`) and
    "generation_kwargs" or, in the last one, "choices"; "system", text or None; "chat", whether to
    use the chat template. A turn that "thinks" is the model's thought, and the two after it have
    the choices "behind" `EMPTY` and `OWN`.
    """

    def __init__(self, instance: Any, apply: Any):
        self.instance, self.apply = instance, apply
        self.plan: Config = instance.args[1]
        self.turns = self.plan.get("turns") or [{"generation_kwargs": self.plan}]
        self.messages: list[dict[str, str]] = []
        self.answers: list[Answer] = []
        self.behind: dict[str, Any] = {}

    @property
    def turn(self) -> Any:
        return self.turns[len(self.answers)]

    def prompt(self) -> Any:
        if "turns" not in self.plan:
            return self.instance.args[0]
        if behind := self.turn.get("behind"):
            # one without an end is asked all the same, as in the other processes
            return self.behind[behind] or self.behind[""]
        text = self.turn.get("user")
        if text is None:
            earlier = [message["content"] for message in self.messages[1::2]]
            columns = {**self.instance.doc, "answers": earlier}
            text = template(self.turn["user_template"]).render(columns)
        self.messages.append({"role": "user", "content": text})
        self.behind[""] = prompt(self.plan, self.messages, self.apply)
        return self.behind[""]

    def generation_kwargs(self) -> Config:
        until = self.turn["generation_kwargs"].get("until") or []
        until = [until] if isinstance(until, str) else list(until)
        if not self.plan.get("chat") and len(self.turns) > 1:
            # A model that completes text would write the next question itself.
            until.append(f"\nQ{len(self.answers) + 2}:")
        return {**self.turn["generation_kwargs"], "until": until}

    def answer(self, text: Any, lm: Any) -> None:
        text = text if isinstance(text, str) else ""  # None of an API whose filter held it back
        if self.turn.get("thinks"):
            asked = self.behind[""]
            found = beginning(opened_thought(asked, self.messages[-1]["content"]), text)
            for where, begun in zip((OWN, EMPTY), found, strict=True):
                self.behind[where] = None if begun is None else asked + begun
            count = 0 if found[0] == "" else scoring.count_text(lm, found[0] or text)
            self.answers.append(Thought(text, count, found[0] is not None))
        else:
            self.answers.append(text)
        # Without its thinking. An empty answer stays a turn: many templates refuse two turns of
        # the user in a row.
        self.messages.append(
            {"role": "assistant", "content": (without_reasoning(text) or "").strip()}
        )


def conversation(self: Any, requests: list[Any], repeats: Any) -> list[Any]:
    """`LM.conversation`: the answers to all turns of each request, in order; the text alone to one
    of `generate_until`. repeats: as of `generate_samples`."""
    states = [Conversation(request, self.apply_chat_template) for request in requests]
    last = max((len(state.turns) for state in states), default=0)
    for number in range(last):
        turns = [(s, s.prompt()) for s in states if number < len(s.turns)]
        scored = [(s, p) for s, p in turns if "choices" in s.turn]
        written = [(s, p) for s, p in turns if "choices" not in s.turn]
        counts = number + 1, last, len(written), len(scored)
        logger.info("Turn %d of %d: %d answers to generate, %d to score", *counts)
        kinds = [[t for t in written if ("thinks" in t[0].turn) == kind] for kind in (0, 1)]
        for thinks, part in enumerate(kinds):
            derived = [
                compat.derived(s.instance, "generate_until", (p, s.generation_kwargs()))
                for s, p in part
            ]
            with _as_written(self, thinks):
                texts = generate_samples(self, derived, repeats) if derived else []
            for (state, _), text in zip(part, texts, strict=True):
                state.answer(text, self)
        _score(self, scored)
    return [state.answers if "turns" in state.plan else state.answers[0] for state in states]


@contextmanager
def _as_written(lm: Any, thinks: Any) -> Iterator[None]:
    """Inside the block a model that thinks gives its thoughts, with their marks, and likelihoods,
    too."""
    lm = getattr(lm, "lm", lm)  # the cache is a model around the model
    own = {name: vars(lm).get(name) for name in ("think_end_token", "enable_thinking")}
    if thinks:
        vars(lm).update(dict.fromkeys(own))
        if "skip_special_tokens" in signature(getattr(lm, "tok_decode", len)).parameters:
            lm.tok_decode = partial(lm.tok_decode, skip_special_tokens=False)
    try:
        yield
    finally:
        if thinks:
            vars(lm).update(own)
            vars(lm).pop("tok_decode", None)


def _score(lm: Any, turns: list[tuple[Conversation, str]]) -> None:
    # All have about as many choices.
    size = -(-SCORED_AT_A_TIME // max((len(s.turn["choices"]) for s, _ in turns), default=1))
    if len(turns) > size:  # similar prompts go together
        turns = sorted(turns, key=lambda turn: turn[1])
    thinks = any("behind" in s.turn for s, _ in turns)
    for start in range(0, len(turns), size):
        part = turns[start : start + size]
        requests = []
        for s, p in part:
            chat = s.plan["chat"]
            how = scoring.asked(count_tokens=s.turn.get("counted"), whole_prompt=chat)
            for i, choice in enumerate(s.turn["choices"]):
                arguments = (p, choice if chat else f" {choice}", *how)
                requests.append(compat.derived(s.instance, scoring.REQUEST, arguments, i))
        with _as_written(lm, thinks):
            likelihoods = iter(lm.likelihoods(requests))
        for s, _ in part:
            answer = [next(likelihoods) for _ in s.turn["choices"]]
            if s.behind[s.turn.get("behind", "")] is None:
                answer = [(nan, *others) for _, *others in answer]
            s.answers.append(answer)


compat.add_request_type(REQUEST, early.asked_first(conversation))


@cache
def _quotes_answers(text: str) -> bool:
    return "answers" in jinja2.meta.find_undeclared_variables(ENVIRONMENT.parse(text))


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


@lru_cache(maxsize=1)
def _takes_system(apply: Any) -> bool:
    """Whether a system message reaches the model: `HFLM` drops one that the template refuses."""
    probe = "Answer briefly and plainly."
    messages = [{"role": "system", "content": probe}, {"role": "user", "content": "Hello."}]
    with logging_disabled("lm_eval.models.huggingface"):
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
        if (
            not isinstance(turn, dict)
            or not isinstance(turn.get("user"), str)
            or set(turn) - {"user", "generation_kwargs"}
        ):
            raise UsageError(
                f"{place} expected `user`, the text of the question, and perhaps "
                f"`generation_kwargs`, found {turn!r}"
            )
        if number == 1 and _quotes_answers(turn["user"]):
            raise UsageError(f"{place} it has no earlier answers to quote")
        checked.append({"generation_kwargs": {}, **turn})
    return checked
