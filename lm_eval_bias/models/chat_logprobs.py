"""`--model chat-logprobs`: likelihoods of short choices from a chat API (docs/how-to/chat_api.md).

One call serves all choices that part at the first token. Longer ones need a server that continues
an assistant's turn, or one that gives the likelihood of a turn.
"""

import asyncio
import json
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from copy import deepcopy
from inspect import signature
from math import log, nan
from typing import Any, TypeVar

from lm_eval.api.model import hash_args
from lm_eval.models.openai_completions import LocalChatCompletion, LocalCompletionsAPI
from lm_eval.models.utils import postprocess_generated_text
from tqdm import tqdm

from lm_eval_bias.answers.reasoning import without_reasoning
from lm_eval_bias.data.bounds import Json
from lm_eval_bias.harness import compat, early
from lm_eval_bias.likelihoods import HIDDEN, THOUGHT, UNSEEN, Likelihood, of_server
from lm_eval_bias.usage import UsageError, nearest

from .chat_calls import GOES_ON, KEY, SPENT, Refused, Server, Spent
from .replies import Begun, Reply, beginning, steps, turn

logger = logging.getLogger(__name__)

T = TypeVar("T")

OPENAI = "https://api.openai.com/v1/chat/completions"
MOST_STEPS = 150
"""Characters of the choices of a question; a call is needed for about four."""
MOST_WHOLE = 10
"""Choices behind one beginning that are asked each in a call of its own, where a server gives the
likelihood of a whole turn. More are read from the likeliest tokens behind longer beginnings."""
CONTINUED: Sequence[tuple[Json, Json]] = (
    ({"continue_final_message": True, "add_generation_prompt": False}, {"prompt_logprobs": 0}),
    ({}, {}),
)
"""What makes a server continue an assistant's turn, and what makes it give the likelihood of this
turn: vLLM (SGLang knows the first part), then others."""
LIMITS: tuple[str, ...] = "max_tokens", "max_completion_tokens"
"""What servers call the limit of an answer's tokens. Many know only one name."""
INSTEAD = "ask a task with written answers, or a model of your own with --model hf"


class ChatLogprobs(LocalChatCompletion):
    """top_logprobs: tokens to ask for. ignore_case: "A" is the choice "a", too. prefill: whether to
    ask for longer choices. longest_wait: seconds that a server may ask to wait. max_cost: dollars
    that all runs with a cache may cost. input_price, output_price: dollars for a million tokens.
    extra_body: fields of a request; null removes one. Others: those of `local-chat-completions`."""

    NAME = "chat-logprobs"
    OWN_CACHE = "loglikelihood", "generate_until"

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
        longest_wait: float = 600,
        max_cost: float | None = None,
        input_price: float | None = None,
        output_price: float | None = None,
        extra_body: Json | None = None,
        **kwargs: Any,
    ):
        if model is None:
            raise UsageError(f"--model {self.NAME}: add model=NAME to --model_args")
        for name in kwargs.keys() & {"auth_token", "header"}:
            raise UsageError(
                f"{name} in --model_args would be written into the results; put the key into the "
                f"environment variable {KEY}"
            )
        parameters = [
            p for kind in type(self).__mro__[:4] for p in signature(kind).parameters.values()
        ]
        known = {"max_batch_size", "device"}
        known |= {p.name for p in parameters if p.default is not p.empty}
        for name in kwargs.keys() - known:
            raise UsageError(
                f"unknown option {name!r} in --model_args: {nearest(name, sorted(known))}"
            )
        super().__init__(
            base_url=base_url,
            model=model,
            num_concurrent=num_concurrent,
            max_retries=max_retries,
            **kwargs,
        )
        self.server = Server(
            base_url,
            at_once=num_concurrent,
            tries=self.max_retries,
            timeout=self.timeout,
            longest_wait=longest_wait,
            verify=self.verify_certificate,
            per_minute=(requests_per_minute, tokens_per_minute),
            prices=(input_price, output_price),
            most=max_cost,
        )
        self._top_logprobs, self.ignore_case = top_logprobs, bool(ignore_case)
        self._extra_body = dict(extra_body or {})
        self._answers_as: str | None = None
        self.continues: Json | None = None
        """What makes the server continue an assistant's turn, if it does."""
        self.whole: Json | None = None
        """What makes the server give the likelihood of such a turn, if it does."""
        self.longer: dict[tuple[bytes, bytes], bool] = {}
        """(beginning of a turn, rest of a choice) -> whether a token goes on into the rest."""
        self._prefill, self._probed = bool(prefill), not prefill
        self._limits = LIMITS
        """The one that is sent, and the one that is tried where the server refuses it."""
        self.paths: dict[str, tuple[bytes, ...]] = {}
        """The tokens that a choice was last read from."""

    # ---- What the harness asks

    def set_cache_hook(self, cache_hook: Any) -> None:
        """Let the harness's cache find only answers of this model, read in this way."""
        super().set_cache_hook(cache_hook)
        if cache_hook.dbdict is not None:
            ways = self._top_logprobs, self.ignore_case, self._prefill, self._extra_body
            way = f"{self.base_url} {self.model} {ways} "
            compat.survive_full(cache_hook.dbdict)
            cache_hook.dbdict.encode_key = lambda key: f"{'' if key == SPENT else way}{key}"
            self.server.keep_in(cache_hook.dbdict)

    def get_model_info(self) -> dict[str, Any]:
        """For the results file: what the calls of this run took, and those of earlier ones."""
        used, earlier = self.server.used, self.server.earlier
        return {"api_usage": used, "api_usage_of_earlier_runs_with_this_cache": earlier}

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

    # that of the chat type gives the text back even where a tokenizer is named
    tok_encode = LocalCompletionsAPI.tok_encode

    def _encode_pair(self, context: str, continuation: str) -> tuple[tuple, tuple[bytes, ...]]:
        """For counts: the tokens that a choice was read from."""
        return (), self.paths.get(continuation, (continuation.encode(),))

    def generate_until(self, requests: Any, disable_tqdm: bool = False) -> list[str]:
        """By our calls: those of the harness write the key into the log."""
        cached = getattr(self.cache_hook, "dbdict", None) or {}
        texts = [  # as in the harness, its cache is not read for drawn answers
            None if r.args[1].get("do_sample") else cached.get(hash_args("generate_until", r.args))
            for r in requests
        ]
        messages = [self.create_message(request.args) for request in requests]

        async def ask(i: int) -> None:
            settings = deepcopy(requests[i].args[1])
            reply = await self.call(self._create_payload(messages[i], gen_kwargs=settings))
            content = reply.text or (reply.thought and f"<think>{reply.thought}")
            if content is not None:
                texts[i] = postprocess_generated_text(content, None, self.think_end_token)
                self.cache_hook.add_partial("generate_until", requests[i].args, texts[i])

        self._ask_each([i for i, text in enumerate(texts) if text is None], ask, disable_tqdm)
        return [text or "" for text in texts]

    def loglikelihood_rolling(self, requests: Any, disable_tqdm: bool = False) -> list[float]:
        raise UsageError(
            f"{requests[0].task_name}: --model {self.NAME} gives no likelihood of a text; {INSTEAD}"
        )

    def loglikelihood(self, requests: Any, disable_tqdm: bool = False) -> list[tuple[float, bool]]:
        return [answer[:2] for answer in self.shown_likelihoods(requests)]

    @early.asked_first
    def shown_likelihoods(self, requests: Any, _: Any) -> list[Likelihood]:
        """Raises UsageError before the first call if a task cannot be asked."""
        cached = getattr(self.cache_hook, "dbdict", None) or {}
        answers = {r.args: cached.get(hash_args(self.NAME, r.args)) for r in requests}
        questions = defaultdict(list)
        for context, choice in answers:
            questions[context].append(choice)
        for context, task in {r.args[0]: r.task_name for r in requests}.items():
            self.create_message([context])
            if why := _too_long(questions[context]):
                raise UsageError(
                    f"{task}: {why}; --model {self.NAME} is for letters, labels and numbers. "
                    f"Instead, {INSTEAD}"
                )
        new = {
            context: choices
            for context, choices in questions.items()
            if any(answers[context, choice] is None for choice in choices)
        }

        async def ask(context: str) -> None:
            is_first = self._answers_as is None
            read = await Question(self, context, new[context], is_first).read()
            for choice, answer in read.items():
                answers[context, choice] = answer
                self.cache_hook.add_partial(self.NAME, (context, choice), answer)

        if new:
            self._ask_each([*new], ask)
            self._warn([[answers[q, choice] for choice in new[q]] for q in new])
        return [answers[request.args] or Likelihood(nan, False) for request in requests]

    def refusal(self, task: Any) -> str | None:
        """Why a task of ours cannot be asked, by its first document; None if it can."""
        if task.as_it_stands:
            return "it scores texts as they stand"
        if task.thinks:
            return (
                "a server does not go on behind a thought that is sent to it, so leave "
                "reasoning=true out of --metadata, ask a task with written answers, or take "
                "--model hf"
            )
        written = task.config.output_type == "generate_until" and task.request != "turns"
        if written or task.config.doc_to_choice is None:
            return None
        return next((_too_long([*map(str, task.doc_to_choice(d))]) for d in task.eval_docs), None)

    # ---- Calls

    def _ask_each(
        self, questions: Sequence[T], ask: Callable[[T], Awaitable[None]], disable: bool = False
    ) -> None:
        """Ask side by side, but the first question alone: what is wrong with a server is found by
        few calls. Where the budget has no room for others they stay unanswered, with a warning.
        After an error none is begun, and those that were end: their answers are paid for."""
        at_once, self._probing = asyncio.Semaphore(self.server.at_once), asyncio.Lock()
        errors = list[Exception]()

        async def ask_one(question: T) -> bool:
            async with at_once:
                try:
                    if errors:
                        return False
                    await ask(question)
                except Exception as error:
                    if not isinstance(error, Spent):
                        errors.append(error)
                    return False
            bar.set_postfix_str(self.server.spent, refresh=False)
            bar.update()
            return True

        async def ask_all() -> list[bool]:
            async with self.server:
                first = [await ask_one(question) for question in questions[:1]]
                return first + await asyncio.gather(*map(ask_one, questions[1:]))

        with tqdm(total=len(questions), desc=f"Asking {self.model}", disable=disable) as bar:
            answered = asyncio.run(ask_all())
        if errors:
            raise errors[0]
        if not all(answered):
            text = (
                f"{self.NAME}: max_cost is reached ({self.server.spent}), so "
                f"{answered.count(False):,} of {len(answered):,} questions are unanswered. "
                f"{GOES_ON} if max_cost is larger"
            )
            logger.warning("%s.", text)
            compat.fail_at_end(text, compat.OUT_OF_BUDGET)

    def _warn(self, answers: Sequence[Sequence[Likelihood | None]]) -> None:
        bounded = [
            any(answer.how == UNSEEN for answer in of_server(of_question))
            for of_question in answers
        ]
        if any(bounded):
            logger.warning(
                "%s: %d of %d questions are seen in part: the choices that the server did not show "
                "count with the largest probability possible, and intervals cover 0, too.",
                self.NAME,
                sum(bounded),
                len(bounded),
            )

    def body(self, messages: list[dict[str, Any]], more: Json | None) -> dict[str, Any]:
        return {
            "model": self.model,
            "messages": messages,
            "max_tokens": 1,
            "temperature": 1,  # some servers show the probabilities at the temperature
            "logprobs": True,
            "top_logprobs": self._top_logprobs,
            **(more or {}),
        }

    async def call(self, body: Json) -> Reply:
        """The reply. `extra_body` is in the request. If the server refuses the name of the limit of
        tokens, the other name is tried, and kept once it helps."""
        refusals = []
        for limit in self._limits:
            fields = {limit if k == "max_tokens" else k: value for k, value in body.items()}
            fields |= self._extra_body
            try:
                reply = await self.server({k: v for k, v in fields.items() if v is not None})
            except Refused as refused:
                if not (refused.is_of_request and any(name in refused.reply for name in LIMITS)):
                    raise
                refusals.append(refused)
            else:
                if refusals:
                    self._limits = (limit,)
                return reply
        raise refusals[0]

    def check_model(self, reply: Reply) -> None:
        """Raises UsageError if another model answers than before."""
        name = reply.model or str(self.model)
        if self._answers_as is None:
            self._answers_as = name
            if str(self.model) not in name:
                logger.warning("%s: asked %s, answered by %s.", self.NAME, self.model, name)
        if name != self._answers_as:
            raise UsageError(
                f"{self.base_url}: {self._answers_as} answered before, now {name} does, and a run "
                "is of one model. Ask for one that the server does not replace"
            )

    async def can_continue(self, messages: list[dict[str, Any]], reply: Reply) -> bool:
        """Whether the server continues an assistant's turn: another one takes few more tokens.
        reply: to these messages."""
        async with self._probing:
            for more, whole in () if self._probed else CONTINUED:
                try:
                    begun = await self.call(
                        self.body([*messages, _assistant("a")], {**more, **whole})
                    )
                except Refused:
                    continue
                if 0 < begun.tokens_read - reply.tokens_read <= 2:
                    self.continues = more
                    if turn(begun, reply).tokens == (b"a",):
                        self.whole = {**more, **whole}
                    break
            self._probed = True
        return self.continues is not None


class Question:
    """One context and its choices. is_first: of the run, so errors are those of the server."""

    def __init__(self, model: ChatLogprobs, context: str, choices: Sequence[str], is_first: bool):
        self._model, self._choices, self._is_first = model, choices, is_first
        self._messages, self._shown, self._how = model.create_message([context]), nan, ""
        self._before: Reply
        self._answers: dict[str, Likelihood] = {}

    async def read(self) -> dict[str, Likelihood]:
        """NaN for all choices if the server showed none of them."""
        try:
            await self._walk(self._choices, Begun())
        except Refused as refused:  # by a content filter
            if self._is_first or not refused.is_of_request:
                raise
            logger.warning("%s: %s", self._model.NAME, refused)
            self._answers = {}
        if all(answer.how == UNSEEN for answer in self._answers.values()):
            self._answers = {}
        none = self._answer(nan, self._how or HIDDEN)
        return {choice: self._answers.get(choice, none) for choice in self._choices}

    def _answer(self, value: float, how: str, greedy: bool = False) -> Likelihood:
        return Likelihood(value, greedy, shown=self._shown, how=how)

    async def _walk(self, choices: Sequence[str], begun: Begun) -> None:
        """Read choices that begin so."""
        model, reply = self._model, await self._ask(begun.text.decode())
        top = reply.top
        thinks = reply.thought or (top and without_reasoning(str(top.tokens[0])) is None)
        if thinks and not begun.tokens:
            self._how = THOUGHT
        if top is None or (reply.thought and not reply.text):
            if self._is_first and not self._how:
                raise UsageError(
                    f"{model.base_url}: the answer has no top_logprobs, so this model gives no "
                    "likelihoods there. Ask a task with written answers"
                )
            return
        if not begun.tokens:
            self._shown, self._before = top.mass, reply
        size = sum(map(len, begun.tokens))
        whole = set()
        others = {}
        for choice in choices:
            part = choice.encode()[size:]
            token = beginning(top, part, not begun.tokens, model.ignore_case)
            if token is not None and token.size == len(part):
                whole.add(token.text)
                self._put(choice, begun.then(token, part))
            else:
                others[choice] = part, token
        continues = others and await model.can_continue(self._messages, self._before)
        if model.whole and len(others) <= MOST_WHOLE:
            await asyncio.gather(*map(self._ask_whole, others))
            return
        unseen = {}
        longer = defaultdict(list)
        for choice, (part, token) in others.items():
            if token is None or (
                continues
                and await self._goes_on(begun.text + token.text, part[token.size :], reply)
            ):
                unseen[choice] = top.bound
            else:
                longer[token].append(choice)
        walks = []
        for token, begins in longer.items():
            longer_begun = begun.then(token, others[begins[0]][0])
            if continues and _is_text(longer_begun.text):
                walks.append(self._walk(begins, longer_begun))
            elif len(begins) == 1 and token.text not in whole:
                self._put(begins[0], longer_begun, "first token")
            else:
                unseen |= dict.fromkeys(begins, max(top.bound, token.probability))
        if self._is_first and longer and len(unseen) == len(self._choices):
            some = ", ".join(map(repr, [*unseen][:3]))
            raise UsageError(
                f"{model.base_url}: the choices {some} begin with the same token, and the "
                f"server does not continue an assistant's turn; {INSTEAD}"
            )
        for choice, most in unseen.items():
            self._answers[choice] = self._answer(begun.log_p + log(most), UNSEEN)
            if begun.tokens:
                model.paths.setdefault(choice, (*begun.tokens, others[choice][0]))
        await asyncio.gather(*walks)

    async def _goes_on(self, begin: bytes, rest: bytes, before: Reply) -> bool:
        """Whether the tokenizer would merge the last token of `begin` with the rest of the choice,
        so the server did not show its token: a longer beginning takes no more tokens. before: the
        reply without them."""
        known = self._model.longer
        if (begin, rest) not in known:
            texts = [begin + rest[:end] for end in range(1, len(rest) + 1)]
            asked = [self._ask(text.decode()) for text in texts if _is_text(text)]
            sizes = [longer.tokens_read for longer in await asyncio.gather(*asked)]
            known[begin, rest] = before.tokens_read + 1 in sizes
        return known[begin, rest]

    async def _ask_whole(self, choice: str) -> None:
        """Let the server say the likelihood of a choice."""
        begun = turn(await self._ask(choice, self._model.whole), self._before)
        if begun.tokens:
            self._put(choice, begun)

    async def _ask(self, begun: str, whole: Json | None = None) -> Reply:
        """What follows an answer that has begun so. whole: what asks for its own likelihood."""
        model, messages, more = self._model, self._messages, whole
        if begun:
            messages, more = [*messages, _assistant(begun)], whole or model.continues
        reply = await model.call(model.body(messages, more))
        model.check_model(reply)
        return reply

    def _put(self, choice: str, begun: Begun, how: str = "") -> None:
        self._model.paths[choice] = begun.tokens
        self._answers[choice] = self._answer(begun.log_p, self._how or how, begun.greedy)


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
