"""`--model chat-logprobs`: likelihoods of short choices from a chat API (docs/how-to/chat_api.md).

One call serves all choices that part at the first token. Longer ones need a server that continues
an assistant's turn, or one that gives the likelihood of a turn.
"""

from __future__ import annotations

import asyncio
import difflib
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from inspect import signature
from itertools import islice
from math import isnan, log, nan
from typing import Any

from lm_eval.api.model import hash_args
from lm_eval.models.api_models import TemplateAPI
from lm_eval.models.openai_completions import LocalChatCompletion
from tqdm import tqdm

from lm_eval_bias.harness import compat
from lm_eval_bias.likelihoods import Likelihood, Read
from lm_eval_bias.usage import UsageError

from .chat_calls import KEY, Caller, Refused, Spending
from .top_tokens import Beginning, Top, beginnings, prompt_tokens, steps, turn

logger = logging.getLogger(__name__)

OPENAI = "https://api.openai.com/v1/chat/completions"
MOST_STEPS = 150
"""Characters of the choices of a question; a call is needed for about four."""
MOST_WHOLE = 10
"""Choices behind one beginning that are asked each in a call of its own, where a server gives the
likelihood of a whole turn. More are read from the likeliest tokens behind longer beginnings."""
CONTINUED: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]] = (
    ({"continue_final_message": True, "add_generation_prompt": False}, {"prompt_logprobs": 0}),
    ({}, {}),
)
"""What makes a server continue an assistant's turn, and what makes it give the likelihood of this
turn: vLLM (SGLang knows the first part), then others."""
LIMITS = "max_tokens", "max_completion_tokens"
"""What servers call the limit of an answer's tokens. Many know only one name."""
INSTEAD = "ask a task with written answers, or a model of your own with --model hf"


class ChatLogprobs(LocalChatCompletion):
    """top_logprobs: tokens to ask for. ignore_case: "A" is the choice "a", too. prefill: whether to
    ask for longer choices. max_cost: dollars. input_price, output_price: dollars for a million
    tokens. extra_body: fields of a request; null removes one. Others: those of
    `local-chat-completions`."""

    NAME = "chat-logprobs"

    def __init__(
        self,
        base_url: str = OPENAI,
        *,
        model: str | None = None,
        num_concurrent: int = 8,
        max_retries: int = 6,
        top_logprobs: int = 20,
        ignore_case: bool = False,
        prefill: bool = True,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        max_cost: float | None = None,
        input_price: float | None = None,
        output_price: float | None = None,
        extra_body: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if model is None:
            raise UsageError(f"--model {self.NAME}: add model=NAME to --model_args")
        for name in kwargs.keys() & {"auth_token", "header"}:
            raise UsageError(
                f"{name} in --model_args would be written into the results; put the key into the "
                f"environment variable {KEY}"
            )
        known = [*signature(ChatLogprobs.__init__).parameters, "max_batch_size", "device"]
        known += signature(TemplateAPI.__init__).parameters
        for name in kwargs.keys() - known:
            near = "".join(difflib.get_close_matches(name, known, 1))
            hint = f" Did you mean {near!r}?" if near else ""
            raise UsageError(f"unknown option {name!r} in --model_args.{hint}")
        super().__init__(
            base_url=base_url,
            model=model,
            # with one at a time, the harness would make its own calls for written answers
            num_concurrent=max(2, num_concurrent),
            max_retries=max_retries,
            **kwargs,
        )
        self._at_once = num_concurrent
        self._top_logprobs, self.ignore_case = top_logprobs, bool(ignore_case)
        self._per_minute = requests_per_minute, tokens_per_minute
        self._extra_body = dict(extra_body or {})
        self.spending = Spending((input_price, output_price), max_cost)
        self._answers_as: str | None = None
        self.continues: Mapping[str, Any] | None = None
        """What makes the server continue an assistant's turn, if it does."""
        self.whole: Mapping[str, Any] | None = None
        """What makes the server give the likelihood of such a turn, if it does."""
        self.longer: dict[tuple[bytes, bytes], bool] = {}
        """(beginning of a turn, rest of a choice) -> whether a token goes on into the rest."""
        self._prefill, self._probed = bool(prefill), not prefill
        at_openai = any(host in base_url for host in (".openai.com", ".azure."))
        self._limits: Sequence[str] = LIMITS[::-1] if at_openai else LIMITS
        """The one that is sent, and the one that is tried where the server refuses it."""
        self.paths: dict[str, tuple[bytes, ...]] = {}
        """The tokens that a choice was last read from."""

    # ---- What the harness asks

    def set_cache_hook(self, cache_hook: Any) -> None:
        """Let the harness's cache find only answers of this model, read in this way."""
        super().set_cache_hook(cache_hook)
        if cache_hook.dbdict is not None:
            ways = self._top_logprobs, self.ignore_case, self._prefill, self._extra_body
            cache_hook.dbdict.encode_key = lambda key: f"{self.base_url} {self.model} {ways} {key}"

    def apply_chat_template(
        self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True
    ) -> str:
        """Messages as text, so that tasks on likelihoods take them."""
        return json.dumps(chat_history, ensure_ascii=False)

    def create_message(self, messages: Any, generate: bool = False) -> list[dict[str, Any]]:
        try:
            read = json.loads(messages[0])
        except ValueError:
            read = None
        if not isinstance(read, list):
            raise UsageError(f"--model {self.NAME} needs --apply_chat_template: it sends messages")
        return read

    def _encode_pair(self, context: str, continuation: str) -> tuple[tuple, tuple[bytes, ...]]:
        """For `choices.Nesting`: the tokens that a choice was read from."""
        return (), self.paths.get(continuation, (continuation.encode(),))

    async def get_batched_requests(
        self, requests: list, cache_keys: list, *, gen_kwargs: Any = None, **_: Any
    ) -> list[list[str]]:
        """Written answers, by our calls: those of the harness write the key into the log."""

        async def ask(request: Any, key: Any) -> list[str]:
            message = self.create_message([request])
            payload = self._create_payload(message, gen_kwargs=deepcopy(gen_kwargs))
            [text] = self.parse_generations(await self.call(caller, payload))
            if text is not None:
                self.cache_hook.add_partial("generate_until", key, text)
            bar.update()
            return [text or ""]

        with tqdm(total=len(requests), desc=f"Asking {self.model}") as bar:
            async with self._caller() as caller:
                return await asyncio.gather(*map(ask, requests, cache_keys))

    def generate_until(self, requests: Any, disable_tqdm: bool = False) -> list[str]:
        for request in requests:
            self.create_message(request.args)
        return super().generate_until(requests, disable_tqdm)

    def loglikelihood_rolling(self, requests: Any, disable_tqdm: bool = False) -> list[float]:
        raise UsageError(
            f"{requests[0].task_name}: --model {self.NAME} gives no likelihood of a text; {INSTEAD}"
        )

    def loglikelihood(self, requests: Any, disable_tqdm: bool = False) -> list[Likelihood]:
        """Raises UsageError before the first call if a task cannot be asked."""
        questions: dict[str, dict[str, Likelihood | None]] = {}
        cached = getattr(self.cache_hook, "dbdict", None) or {}
        pairs = [request.args for request in requests]
        for context, choice in pairs:
            answer = cached.get(hash_args("loglikelihood", (context, choice)))
            questions.setdefault(context, {})[choice] = answer
        for context, request in {request.args[0]: request for request in requests}.items():
            self._check(request, questions[context])
        new = [context for context, answers in questions.items() if None in answers.values()]
        if new:
            asyncio.run(self._ask_all(new, questions, disable_tqdm))
        return [questions[context][choice] or (nan, False) for context, choice in pairs]

    def refusal(self, task: Any) -> str | None:
        """Why a task of ours cannot be asked, by its first document; None if it can."""
        if task.as_it_stands:
            return "it scores texts as they stand"
        written = task.config.output_type == "generate_until" and task.request != "turns"
        if written or task.config.doc_to_choice is None:
            return None
        choices = (task.doc_to_choice(doc) for doc in islice(task.eval_docs, 1))
        return next((_too_long([*map(str, texts)]) for texts in choices), None)

    def _check(self, request: Any, choices: Iterable[str]) -> None:
        self.create_message(request.args)
        if why := _too_long(choices):
            raise UsageError(
                f"{request.task_name}: {why}; --model {self.NAME} is for letters, labels and "
                f"numbers. Instead, {INSTEAD}"
            )

    # ---- Calls

    def _caller(self) -> Caller:
        return Caller(
            self.base_url,
            self.spending,
            at_once=self._at_once,
            tries=self.max_retries,
            timeout=self.timeout,
            verify=self.verify_certificate,
            per_minute=self._per_minute,
        )

    async def _ask_all(
        self,
        new: Sequence[str],
        questions: dict[str, dict[str, Likelihood | None]],
        disable_tqdm: bool,
    ) -> None:
        at_once, self._probing = asyncio.Semaphore(self._at_once), asyncio.Lock()

        async def ask(context: str, is_first: bool = False) -> None:
            async with at_once:
                if self.spending.is_over:
                    return
                choices = list(questions[context])
                answers = await Question(self, caller, context, choices, is_first).read()
            questions[context].update(answers)
            for choice, answer in answers.items():
                self.cache_hook.add_partial("loglikelihood", (context, choice), answer)
            bar.set_postfix_str(str(self.spending), refresh=False)
            bar.update()

        title = f"Asking {self.model}"
        with tqdm(total=len(new), desc=title, unit=" questions", disable=disable_tqdm) as bar:
            async with self._caller() as caller:
                await ask(new[0], True)  # what is wrong with the server is found by few calls
                await asyncio.gather(*map(ask, new[1:]))
        asked = [questions[context].values() for context in new]
        hidden = sum(all(answer and isnan(answer[0]) for answer in answers) for answers in asked)
        if hidden:
            logger.warning(
                "%s: %d of %d questions are unanswered, since the server showed none of their "
                "choices among %d tokens.",
                *(self.NAME, hidden, len(new), self._top_logprobs),
            )
        bounded = sum(any(read.how == "unseen" for read in Read.all_in([*a])) for a in asked)
        if bounded:
            logger.warning(
                "%s: in %d of %d questions the server showed some of the choices. The others count "
                "with the largest probability possible, and intervals cover 0, too.",
                *(self.NAME, bounded, len(new)),
            )
        left = sum(None in answers for answers in asked)
        if left:
            logger.warning(
                "%s: max_cost is reached (%s); %d of %d questions are unanswered. With --use_cache "
                "the same command and a larger max_cost goes on from here.",
                *(self.NAME, self.spending, left, len(new)),
            )

    def body(
        self, messages: list[dict[str, Any]], more: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        return {
            "model": self.model,
            "messages": messages,
            "max_tokens": 1,
            "temperature": 1,  # some servers show the probabilities at the temperature
            "logprobs": True,
            "top_logprobs": self._top_logprobs,
            **(more or {}),
        }

    async def call(self, caller: Caller, body: Mapping[str, Any]) -> dict[str, Any]:
        """The reply. `extra_body` is in the request. If the server refuses the name of the limit of
        tokens, the other name is tried, and kept once it helps."""

        def named(limit: str) -> dict[str, Any]:
            fields = {limit if k == "max_tokens" else k: value for k, value in body.items()}
            fields |= self._extra_body
            return {k: value for k, value in fields.items() if value is not None}

        limit = self._limits[0]
        try:
            return await caller(named(limit))
        except Refused as refused:
            others = [name for name in self._limits if name != limit]
            if not others or not refused.names(LIMITS):
                raise
            first = refused
        try:
            reply = await caller(named(others[0]))
        except Refused as second:
            raise (first if second.names(LIMITS) else second) from None
        self._limits = others
        return reply

    def check_model(self, reply: Mapping[str, Any]) -> None:
        """Raises UsageError if another model answers than before."""
        name = str(reply.get("model") or self.model)
        if self._answers_as is None:
            self._answers_as = name
            if str(self.model) not in name:
                logger.warning("%s: asked %s, answered by %s.", self.NAME, self.model, name)
        if name != self._answers_as:
            raise UsageError(
                f"{self.base_url}: {self._answers_as} answered before, now {name} does, and a run "
                "is of one model. Ask for one that the server does not replace"
            )

    async def can_continue(
        self, caller: Caller, messages: list[dict[str, Any]], reply: Mapping[str, Any]
    ) -> bool:
        """Whether the server continues an assistant's turn: another one takes few more tokens.
        reply: to these messages."""
        async with self._probing:
            for more, whole in () if self._probed else CONTINUED:
                try:
                    asked = self.body([*messages, _assistant("a")], {**more, **whole})
                    begun = await self.call(caller, asked)
                except Refused:
                    continue
                if 0 < prompt_tokens(begun) - prompt_tokens(reply) <= 2:
                    self.continues = more
                    if [token.text for token in turn(begun, reply)] == [b"a"]:
                        self.whole = {**more, **whole}
                    break
            self._probed = True
        return self.continues is not None


class Question:
    """One context and its choices. is_first: of the run, so errors are those of the server."""

    def __init__(
        self,
        model: ChatLogprobs,
        caller: Caller,
        context: str,
        choices: Sequence[str],
        is_first: bool,
    ) -> None:
        self._model, self._caller, self._choices = model, caller, choices
        self._messages = model.create_message([context])
        self._is_first, self._shown = is_first, nan
        self._before: Mapping[str, Any] = {}
        self._answers: dict[str, Likelihood] = {}

    async def read(self) -> dict[str, Likelihood]:
        """NaN for all choices if the server showed none of them."""
        try:
            await self._walk(self._choices)
        except Refused as refused:  # by a content filter
            if self._is_first or not refused.is_of_request:
                raise
            logger.warning("%s: %s", self._model.NAME, refused)
            self._answers = {}
        if all(getattr(value, "how", "") == "unseen" for value, _ in self._answers.values()):
            self._answers = {}
        return {choice: self._answers.get(choice, (nan, False)) for choice in self._choices}

    async def _walk(
        self,
        choices: Sequence[str],
        path: tuple[bytes, ...] = (),
        prefix: bytes = b"",
        total: float = 0.0,
        greedy: bool = True,
    ) -> None:
        """Read choices that begin with the tokens of `path`. prefix: these as the server wrote
        them; total: their log-probability; greedy: whether each is the likeliest."""
        model, reply = self._model, await self._ask(prefix.decode())
        top = Top.of(reply)
        if top is None:
            if self._is_first:
                raise UsageError(
                    f"{model.base_url}: the answer has no top_logprobs, so this model gives no "
                    "likelihoods there. Ask a task with written answers"
                )
            return
        if not path:
            self._shown, self._before = top.mass, reply
        begun = sum(map(len, path))
        parts = {choice: choice.encode()[begun:] for choice in choices}
        found = beginnings(top, parts.values(), not path, model.ignore_case)
        whole: set[bytes] = set()
        others = []
        for choice, part in parts.items():
            token = found.get(part)
            if token is not None and token.whole:
                whole.add(token.text)
                self._put(choice, (*path, part), total, token, greedy)
            else:
                others.append(choice)
        continues = others and await model.can_continue(self._caller, self._messages, self._before)
        if model.whole and len(others) <= MOST_WHOLE:
            await asyncio.gather(*map(self._ask_whole, others))
            return
        unseen: dict[str, float] = {}
        longer: dict[Beginning, list[str]] = {}
        for choice in others:
            token, part = found.get(parts[choice]), parts[choice]
            if token is None or (
                continues and await self._goes_on(prefix + token.text, part[token.size :], reply)
            ):
                unseen[choice] = top.bound
            else:
                longer.setdefault(token, []).append(choice)
        walks = []
        for token, begins in longer.items():
            text, tokens = prefix + token.text, (*path, parts[begins[0]][: token.size])
            if continues and _is_text(text):
                log_p, likeliest = total + log(token.probability), greedy and token.likeliest
                walks.append(self._walk(begins, tokens, text, log_p, likeliest))
            elif len(begins) == 1 and token.text not in whole:
                self._put(begins[0], tokens, total, token, greedy, "first token")
            else:
                unseen |= dict.fromkeys(begins, max(top.bound, token.probability))
        if self._is_first and longer and len(unseen) == len(self._choices):
            some = ", ".join(map(repr, [*unseen][:3]))
            raise UsageError(
                f"{model.base_url}: the choices {some} begin with the same token, and the "
                f"server does not continue an assistant's turn; {INSTEAD}"
            )
        for choice, most in unseen.items():
            self._answers[choice] = Read(total + log(most), self._shown, "unseen"), False
            if path:
                model.paths.setdefault(choice, (*path, parts[choice]))
        await asyncio.gather(*walks)

    async def _goes_on(self, begin: bytes, rest: bytes, before: Mapping[str, Any]) -> bool:
        """Whether the last token of `begin` is only a part of one that the server did not show: a
        longer beginning takes no more tokens. before: the reply without them."""
        known = self._model.longer
        if (begin, rest) not in known:
            texts = [begin + rest[:end] for end in range(1, len(rest) + 1)]
            asked = [self._ask(text.decode()) for text in texts if _is_text(text)]
            sizes = map(prompt_tokens, await asyncio.gather(*asked))
            known[begin, rest] = prompt_tokens(before) + 1 in sizes
        return known[begin, rest]

    async def _ask_whole(self, choice: str) -> None:
        """Let the server say the likelihood of a choice."""
        tokens = turn(await self._ask(choice, self._model.whole), self._before)
        if tokens:
            self._model.paths[choice] = tuple(token.text for token in tokens)
            value = Read(sum(token.log_p for token in tokens), self._shown)
            self._answers[choice] = value, all(token.likeliest for token in tokens)

    async def _ask(
        self, begun: str = "", whole: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
        """What follows an answer that has begun so. whole: what asks for its own likelihood."""
        model, messages, more = self._model, self._messages, whole
        if begun:
            messages, more = [*messages, _assistant(begun)], whole or model.continues
        reply = await model.call(self._caller, model.body(messages, more))
        model.check_model(reply)
        return reply

    def _put(
        self,
        choice: str,
        tokens: tuple[bytes, ...],
        total: float,
        last: Beginning,
        greedy: bool,
        how: str = "",
    ) -> None:
        self._model.paths[choice] = tokens
        value = Read(total + log(last.probability), self._shown, how)
        self._answers[choice] = value, greedy and last.likeliest


def _too_long(choices: Iterable[str]) -> str | None:
    size = steps(choices)
    if size > MOST_STEPS or "" in choices:
        return f"the choices of a question have {size} characters"
    return None


def _assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def _is_text(text: bytes) -> bool:
    try:
        return bool(text.decode())
    except UnicodeDecodeError:  # the first bytes of a letter
        return False


compat.own_cache(ChatLogprobs, "loglikelihood")
