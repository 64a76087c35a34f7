"""A request of several turns for lm-evaluation-harness, and a task that asks it.

The harness calls `getattr(lm, request_type)(requests)` once for each request type. `conversation`
is such a type for every model of the harness: it asks turn 1 of all requests in one call of the
model's own `generate_until`, then turn 2 of all, and so on. A turn with given choices is scored by
the model's own `loglikelihood`. Importing this module adds the method to the harness's classes.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import jinja2
import jinja2.meta
from tqdm import tqdm

from lm_eval_bias.harness import compat
from lm_eval_bias.harness.choices import Nesting
from lm_eval_bias.harness.gc_pause import no_search
from lm_eval_bias.harness.sampling import generate_samples
from lm_eval_bias.harness.templates import CompiledTask, template
from lm_eval_bias.likelihoods import Likelihood, apart
from lm_eval_bias.usage import UsageError

logger = logging.getLogger(__name__)

REQUEST = "conversation"
# Ends of turns that some models write out. Not empty, because some APIs refuse an empty list of
# stop sequences.
UNTIL = ("</s>", "<|im_end|>")
# One turn's answer: the text that was generated, or for each choice its log-likelihood and whether
# it is the greedy continuation.
Answer = str | list[Likelihood]
# Requests for likelihoods that are made at a time: hundreds of choices for each of many documents
# do not fit into memory.
SCORED_AT_A_TIME = 50_000


class Conversation:
    """The state of one request while it is asked.

    instance: its arguments are the first prompt as the model reads it, and a dict. In that, "turns"
    are dicts with the question, "user", or, where it quotes answers, its template over the
    document's columns and `answers`, "user_template", and with either "generation_kwargs" or
    "choices" (texts) and "exclusive" (whether choices that begin alike are told apart); "system" is
    a text or None; "chat" says whether the model's chat template makes the prompts. answers: one
    for each turn so far.
    """

    def __init__(self, lm: Any, instance: Any):
        self.lm, self.instance = lm, instance
        self.plan: dict[str, Any] = instance.args[1]
        self.turns: list[dict[str, Any]] = self.plan["turns"]
        self.history: list[dict[str, str]] = []
        self.answers: list[Answer] = []

    def next_prompt(self) -> Any:
        """What the model reads for the next turn."""
        turn = self.turns[len(self.answers)]
        if not self.answers:
            self.history.append({"role": "user", "content": turn["user"]})
            return self.instance.args[0]
        if "user_template" in turn:
            said = [m["content"] for m in self.history if m["role"] == "assistant"]
            question = template(turn["user_template"]).render(
                {**self.instance.doc, "answers": said}
            )
        else:
            question = turn["user"]
        self.history.append({"role": "user", "content": question})
        return prompt(self.plan, self.history, self.lm.apply_chat_template)

    def choices(self) -> tuple[str, ...]:
        """The continuations of the next turn, which is scored by likelihood."""
        return _continuations(
            "" if self.plan["chat"] else " ", tuple(self.turns[len(self.answers)]["choices"])
        )

    def generation_kwargs(self) -> dict[str, Any]:
        number = len(self.answers) + 1
        settings = dict(self.turns[number - 1]["generation_kwargs"])
        until = settings.get("until") or []
        until = [until] if isinstance(until, str) else list(until)
        # A model that completes text would go on to ask the next question itself.
        settings["until"] = (
            until if self.plan["chat"] or len(self.turns) == 1 else [*until, f"\nQ{number + 1}:"]
        )
        return settings

    def answer(self, answer: Answer, choices: Sequence[str] = ()) -> None:
        self.answers.append(answer)
        said = (
            answer
            if isinstance(answer, str)
            else choices[max(range(len(choices)), key=lambda i: answer[i][0])]
        )
        # An empty answer stays a turn of the assistant's: many templates refuse two user turns in a
        # row.
        self.history.append({"role": "assistant", "content": said.strip()})


@lru_cache(maxsize=64)  # the same hundred for every document, kept once
def _continuations(delimiter: str, choices: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(delimiter + choice for choice in choices)


def conversation(self: Any, requests: list[Any]) -> list[list[Answer]]:
    """`LM.conversation`: the answers to all turns of each request, in the order of the requests."""
    states = [Conversation(self, r) for r in requests]
    last = max((len(s.turns) for s in states), default=0)
    for number in range(last):
        asked = [(s, s.next_prompt()) for s in states if number < len(s.turns)]
        generated = [(s, p) for s, p in asked if "choices" not in s.turns[number]]
        scored = [(s, p, s.choices()) for s, p in asked if "choices" in s.turns[number]]
        logger.info(
            "Turn %d of %d: %d answers to generate, %d to score",
            number + 1,
            last,
            len(generated),
            len(scored),
        )
        if generated:
            arguments = [(s, (p, s.generation_kwargs())) for s, p in generated]
            answers = generate_samples(
                self, [_request("generate_until", s, a, 0) for s, a in arguments]
            )
            for (s, _), text in zip(generated, answers, strict=True):
                # an API whose filter held the answer back gives None
                s.answer(text if isinstance(text, str) else "")
        for s, choices, answer in _scored(self, scored):
            s.answer(answer, choices)
    return [s.answers for s in states]


# The state of a request, its prompt, and the continuations whose likelihoods it asks for.
Scored = tuple[Conversation, str, tuple[str, ...]]


def _scored(
    lm: Any, asked: list[Scored]
) -> Iterator[tuple[Conversation, tuple[str, ...], list[Likelihood]]]:
    """The likelihoods of the choices of each turn, asked in parts. Prompts that begin alike stand
    in the same part."""
    if any(not isinstance(p, str) for _, p, _ in asked):
        raise UsageError(
            "this model takes messages, not text, so it gives no likelihoods; run a task that generates"
        )
    parts: list[list[Scored]] = []
    size = SCORED_AT_A_TIME
    if sum(len(choices) for _, _, choices in asked) > size:
        asked = sorted(asked, key=lambda x: x[1])
    for one in asked:
        if size >= SCORED_AT_A_TIME:
            parts.append([])
            size = 0
        parts[-1].append(one)
        size += len(one[2])
    several = len(parts) > 1
    quiet = (
        {"disable_tqdm": True}
        if several and "disable_tqdm" in inspect.signature(lm.loglikelihood).parameters
        else {}
    )
    nesting = Nesting(lm)
    with tqdm(
        total=len(asked),
        desc="Scoring choices",
        unit=" prompts",
        disable=not quiet or getattr(lm, "rank", 0) != 0,
    ) as bar:
        for part in parts:
            with no_search():
                requests = [
                    _request("loglikelihood", s, (p, c), i)
                    for s, p, choices in part
                    for i, c in enumerate(choices)
                ]
            likelihoods = iter(lm.loglikelihood(requests, **quiet))
            for s, p, choices in part:
                answer: list[Likelihood] = [tuple(next(likelihoods)) for _ in choices]
                exclusive = s.turns[len(s.answers)].get("exclusive")
                yield s, choices, apart(answer, nesting(p, choices)) if exclusive else answer
            bar.update(len(part))


def _request(kind: str, state: Conversation, arguments: tuple, index: int) -> Any:
    asked = state.instance
    return compat.request(
        kind, asked.doc, arguments, index, asked.task_name, asked.doc_id, asked.repeats
    )


compat.add_request_type(REQUEST, conversation)


@cache
def _quotes_answers(text: str) -> bool:
    return "answers" in jinja2.meta.find_undeclared_variables(compat.environment().parse(text))


def question(text: str, doc: dict[str, Any]) -> dict[str, str]:
    """The part of a turn that asks: its text, or its template where the text depends on earlier
    answers."""
    return (
        {"user_template": text} if _quotes_answers(text) else {"user": template(text).render(doc)}
    )


def transcript(system: str | None, messages: Sequence[dict[str, str]], turns: int) -> str:
    """Messages as plain text, as MIST prints them: "Q1: ...", "A1: ...", ending where the next
    answer begins.

    turns: how many the whole conversation has. A single question stands as it is.
    """
    head = f"{system}\n\n" if system else ""
    if turns == 1:
        return head + messages[0]["content"]
    lines = [
        f"{'QA'[i % 2]}{i // 2 + 1}: {message['content']}" for i, message in enumerate(messages)
    ]
    return head + "\n".join([*lines, f"A{len(messages) // 2 + 1}:"])


def prompt(plan: dict[str, Any], messages: list[dict[str, str]], apply: Any) -> Any:
    """What a model reads: the messages so far, and where its answer begins. plan: see
    `Conversation`; apply: see `chat_prompt`."""
    if plan["chat"]:
        return chat_prompt(apply, plan["system"], messages)
    return transcript(plan["system"], messages, len(plan["turns"]))


def chat_prompt(apply: Any, system: str | None, messages: list[dict[str, str]]) -> Any:
    """Messages through a model's chat template, the system message in the user's first turn where
    the template has no place for it.

    apply: `LM.apply_chat_template`. Raises UsageError if the template refuses the conversation.
    """
    try:
        if not system:
            return apply(messages)
        if _takes_system(apply):
            return apply([{"role": "system", "content": system}, *messages])
        first = {**messages[0], "content": f"{system}\n\n{messages[0]['content']}"}
        return apply([first, *messages[1:]])
    except jinja2.TemplateError as error:
        roles = ", ".join(m["role"] for m in messages)
        raise UsageError(
            f"the model's chat template refuses a conversation of {roles}: {error}. Run without --apply_chat_template."
        ) from error


_TAKES_SYSTEM: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()


def _takes_system(apply: Any) -> bool:
    """Whether a system message reaches the model; found out once for each model, if `apply` is a
    method of one."""
    model = getattr(apply, "__self__", None)
    if model is None:
        return _probe_system(apply)
    if model not in _TAKES_SYSTEM:
        _TAKES_SYSTEM[model] = _probe_system(apply)
    return _TAKES_SYSTEM[model]


def _probe_system(apply: Any) -> bool:
    """The same by trying. `HFLM.apply_chat_template` leaves a system message out, with a warning,
    where a template raises."""
    probe = "Answer briefly and plainly."
    messages = [{"role": "system", "content": probe}, {"role": "user", "content": "Hello."}]
    hf_logger = logging.getLogger("lm_eval.models.huggingface")
    level = hf_logger.level
    hf_logger.setLevel(logging.ERROR)
    try:
        return probe in str(apply(messages))
    except jinja2.TemplateError:
        return False
    finally:
        hf_logger.setLevel(level)


class ConversationTask(CompiledTask):
    """A task of several turns. Named in a YAML by `class: !function
    lm_eval_bias.harness.conversation.ConversationTask`.

    Beside the harness's own keys it reads `turns`, a list. Each turn has `user`, a jinja template
    over the document's columns, in which `answers[0]` is what the model said in turn 1, and may
    have `generation_kwargs`, which add to the task's own. With `doc_to_choice` the last turn is not
    generated but scored by likelihood; `exclusive_choices: true` then takes from each choice's
    probability that of longer choices which begin with it. What `--gen_kwargs` sets holds for all
    turns. `description` and `--system_instruction` become the system message. `process_results`
    gets, as its one result, the list of the turns' answers: texts, and for a scored turn the
    (log-likelihood, is greedy) of each choice.
    """

    def __init__(self, config: dict[str, Any] | None = None, **kwargs: Any) -> None:
        config = {k: v for k, v in (config or {}).items() if k != "class"}
        self.turns = read_turns(config.get("task"), config.pop("turns", None))
        self.exclusive = bool(config.pop("exclusive_choices", False))
        config = {
            "doc_to_text": self.turns[0]["user"],
            "doc_to_target": "",
            "num_fewshot": 0,
            **config,
        }
        config["output_type"] = "generate_until"  # so that --gen_kwargs reaches the task
        config["generation_kwargs"] = {
            "until": list(UNTIL),
            "do_sample": False,
            **(config.get("generation_kwargs") or {}),
        }
        if config["num_fewshot"]:
            raise UsageError(
                f"{config.get('task')}: a task of several turns takes no few-shot examples, found {config['num_fewshot']}"
            )
        self._own_kwargs = dict(config["generation_kwargs"])
        super().__init__(config=config, **kwargs)
        # The harness sends requests of this type, and pads them by it when there are several
        # processes.
        self.OUTPUT_TYPE = REQUEST

    def fewshot_context(self, doc, num_fewshot, system_instruction=None, **kwargs):
        """The system message of a document; its turns follow in `construct_requests`."""
        description = self.resolve_field(doc, self.config.description)
        return "\n\n".join(part.strip() for part in (system_instruction, description) if part)

    def construct_requests(
        self, doc, ctx, *, apply_chat_template=False, chat_template=None, **kwargs
    ):
        changed = {
            k: v
            for k, v in self.config.generation_kwargs.items()
            if k not in self._own_kwargs or self._own_kwargs[k] != v
        }
        turns: list[dict[str, Any]] = [
            {
                **question(turn["user"], doc),
                "generation_kwargs": {**self._own_kwargs, **turn["generation_kwargs"], **changed},
            }
            for turn in self.turns
        ]
        if self.config.doc_to_choice is not None:
            del turns[-1]["generation_kwargs"]
            turns[-1]["choices"] = [str(choice) for choice in self.doc_to_choice(doc)]
            turns[-1]["exclusive"] = self.exclusive
        plan = {
            "system": ctx or None,
            "chat": bool(apply_chat_template and chat_template),
            "turns": turns,
        }
        first = prompt(plan, [{"role": "user", "content": turns[0]["user"]}], chat_template)
        task, doc_id, repeats = compat.place(self, kwargs)
        return compat.request(REQUEST, doc, (first, plan), 0, task, doc_id, repeats)

    def dump_config(self) -> dict:
        scored = {"exclusive_choices": True} if self.exclusive else {}
        return {**super().dump_config(), "turns": self.turns, **scored}


def read_turns(task: str | None, turns: Any) -> list[dict[str, Any]]:
    """The turns of a task's YAML, checked. Raises UsageError."""
    if not isinstance(turns, list) or not turns:
        raise UsageError(
            f"{task}: expected `turns`, a list with at least one turn, found {turns!r}"
        )
    read = []
    for number, turn in enumerate(turns, start=1):
        if not isinstance(turn, dict) or not isinstance(turn.get("user"), str):
            raise UsageError(
                f"{task}, turn {number}: expected `user`, the text of the question, found {turn!r}"
            )
        unknown = sorted(set(turn) - {"user", "generation_kwargs"})
        if unknown:
            raise UsageError(
                f"{task}, turn {number}: unknown key {unknown[0]!r}; a turn has `user` and `generation_kwargs`"
            )
        if number == 1 and _quotes_answers(turn["user"]):
            raise UsageError(f"{task}, turn 1: there are no answers yet for it to quote")
        read.append(
            {"user": turn["user"], "generation_kwargs": dict(turn.get("generation_kwargs") or {})}
        )
    return read
