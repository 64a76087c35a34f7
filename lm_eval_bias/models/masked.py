"""`--model hf-mlm`: masked language models, by pseudo-log-likelihood (Salazar et al. 2020).

The score of a text is the sum of the log-probabilities of its tokens, each of them masked in turn
with all else visible. All requests of a call become rows with one masked token each
(masked_rows.py), which go through the model longest first, as many at a time as hold a number of
tokens. The head that projects to the vocabulary reads one position of each row.
docs/masked_models.md says what the numbers mean.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Sequence
from contextlib import contextmanager
from math import nan
from typing import Any

import numpy as np
import torch
import transformers
from accelerate.utils.memory import should_reduce_batch_size
from lm_eval.api.instance import Instance
from lm_eval.api.model import hash_args
from lm_eval.models.huggingface import HFLM
from lm_eval.models.utils_hf import clear_torch_cache
from tqdm import tqdm

from lm_eval_bias.harness import compat, sentence_pairs
from lm_eval_bias.harness.gc_pause import gc_frozen
from lm_eval_bias.harness.sentence_pairs import SHARED
from lm_eval_bias.usage import UsageError

from .kinds import learned_positions, require_encoder
from .masked_rows import Ask, Batch, rows, shared
from .processes import share_documents

logger = logging.getLogger(__name__)

METRICS = ("original", "within_word_l2r")
PAIRS = ("auto", "choices", "off")
# The columns of a document of CrowS-Pairs (Nangia et al. 2020), which the harness asks as two
# choices without a context.
SENTENCES = ("sent_more", "sent_less")
# What cannot be answered says what is given instead.
NO_TEXT = (
    "--model hf-mlm: {model} is an encoder and writes no text, so it cannot answer a request to generate ({task}). Run tasks that are "
    "scored by likelihood; many tasks have a variant for it, which `lm-eval-bias tasks` lists. For generation run a decoder with "
    "--model hf-prefix or --model hf."
)

Score = tuple[float, bool, int]
"""Log-likelihood, whether each of the tokens is the likeliest in its place, and how many there are.
"""


class _Complete:
    """`AutoModelForMaskedLM` that refuses a checkpoint without the head: transformers would draw it
    at random, with a warning."""

    @staticmethod
    def from_pretrained(pretrained: str, **kwargs: Any) -> torch.nn.Module:
        model, loaded = transformers.AutoModelForMaskedLM.from_pretrained(
            pretrained, output_loading_info=True, **kwargs
        )
        missing = loaded["missing_keys"]
        # DeBERTa's own checkpoints name the head otherwise than transformers does by default.
        if (
            missing
            and getattr(model.config, "legacy", False)
            and any("lm_predictions." in key for key in loaded["unexpected_keys"])
        ):
            return _Complete.from_pretrained(pretrained, **{**kwargs, "legacy": False})
        if missing:
            names = sorted(missing)
            raise UsageError(
                f"--model hf-mlm: {pretrained} ({', '.join(model.config.architectures or [])}) has no weights for {len(names)} parts of a "
                f"masked language model, such as {', '.join(names[:3])}; scores would be random. Give a checkpoint that was saved with its "
                f"masked language modelling head: of ELECTRA the generator, of a model that was tuned to classify the one it was made from."
            )
        return model


class MaskedLM(HFLM):
    """A masked language model in the harness.

    pll: "original" masks one token at a time; "within_word_l2r" also those that follow it in the
    same word (Kauf and Ivanova 2023). pairs: how two sentences are scored that are the choices of
    one document, without a context. "auto": a document of CrowS-Pairs by the tokens that both
    sentences share, everything else whole. "choices": every document with two such choices by
    shared tokens. "off": all whole. batch_size: "auto" or a number of the longest requests whose
    tokens fit into memory; but 512 tokens at least. All other arguments are `HFLM`'s. Raises
    UsageError for what cannot be scored; nothing is ever cut.
    """

    AUTO_MODEL_CLASS = _Complete

    def __init__(
        self, pretrained: Any, *, pll: str = "original", pairs: str | bool = "auto", **kwargs: Any
    ) -> None:
        # --model_args reads `off` as it stands, YAML as False
        pairs = "off" if pairs is False else pairs
        for name, value, choices in (("pll", pll, METRICS), ("pairs", pairs, PAIRS)):
            if value not in choices:
                raise UsageError(
                    f"{name}={value!r} in --model_args: expected one of {', '.join(choices)}"
                )
        for name in kwargs:
            for guess in difflib.get_close_matches(name, ["pll", "pairs"], n=1, cutoff=0.6):
                raise UsageError(
                    f"unknown option '{name}' in --model_args. Did you mean '{guess}'?"
                )
        self.pll, self.pairs = pll, pairs
        if not isinstance(pretrained, str):
            require_encoder(pretrained, pretrained.config)
            if (
                not hasattr(pretrained, "get_output_embeddings")
                or pretrained.get_output_embeddings() is None
            ):
                raise UsageError(
                    f"--model hf-mlm: {type(pretrained).__name__} has no masked language modelling head"
                )
        super().__init__(pretrained, **kwargs)
        share_documents(self)
        on_cpu = self.device.type == "cpu"
        self._most_tokens = 1024 if on_cpu else 32_768
        self._most_rows = max(64, (2**27 if on_cpu else 2**30) // (4 * len(self.tokenizer)))
        self._check_positions()
        self.tokens_computed = 0
        """How many tokens went through the model so far, padding included."""
        self._reads_masked_only = self._head_takes_any_rows()
        self._pads = self._takes_padding()

    # ---- What is loaded

    def _get_config(self, pretrained: str, **kwargs: Any) -> None:
        super()._get_config(pretrained, **kwargs)
        require_encoder(pretrained, self._config)

    def _get_backend(
        self, config: Any, backend: str = "default", trust_remote_code: bool | None = False
    ) -> None:
        # the harness knows no third kind; what it does by it, tokenizing pairs, is done otherwise
        # here
        self.backend = "causal"

    def _create_tokenizer(self, pretrained: Any, tokenizer: Any, **kwargs: Any) -> None:
        super()._create_tokenizer(pretrained, tokenizer, **kwargs)
        name = getattr(self.tokenizer, "name_or_path", "") or type(self.tokenizer).__name__
        if self.tokenizer.mask_token_id is None:
            raise UsageError(
                f"--model hf-mlm: the tokenizer of {name} has no mask token, so nothing can be masked. Give the model's own with "
                f"tokenizer=... in --model_args; a model that was never trained on masks is a decoder, for --model hf-prefix or --model hf."
            )
        if not self.tokenizer.is_fast:
            raise UsageError(
                f"--model hf-mlm: the tokenizer of {name} ({type(self.tokenizer).__name__}) does not tell where its tokens stand in the "
                f"text. Give a fast one, with a tokenizer.json, by tokenizer=... in --model_args."
            )

    def _check_positions(self) -> None:
        most = learned_positions(self.model)
        if self._max_length and most and self._max_length > most:
            raise UsageError(
                f"max_length={self._max_length} in --model_args: {self._name} has positions for {most} tokens"
            )
        size = self.model.get_input_embeddings().weight.shape[0]
        if self.tokenizer.mask_token_id >= size:
            raise UsageError(
                f"--model hf-mlm: the mask token of the tokenizer is number {self.tokenizer.mask_token_id}, and the model knows {size} "
                f"tokens; give the model's own tokenizer by tokenizer=... in --model_args"
            )

    @property
    def max_length(self) -> int:
        """The tokens of the longest text, special ones included."""
        if self._max_length:
            return self._max_length
        most = learned_positions(self.model)
        return super().max_length if most is None else min(most, super().max_length)

    @property
    def prefix_token_id(self) -> int:
        """The special token before a text."""
        first = self.tokenizer.cls_token_id
        return super().prefix_token_id if first is None else first

    def _encode_pair(self, context: str, continuation: str) -> tuple[list[int], list[int]]:
        """The tokens of a context and of what follows, special ones included.

        The one that ends a text makes choices exclude one another: the model sees that "8" is all,
        so it is no beginning of "85".
        """
        ask = Ask(context + continuation, len(context.rstrip()))
        made = rows(self.tokenizer, [ask], False, lambda count: None)
        first = int(made.position.min()) if len(made) else len(made.ids.values)
        return made.ids.values[:first].tolist(), made.ids.values[first:].tolist()

    def scored_tokens(self, context: str, continuation: str) -> int:
        """Of how many tokens the score of a continuation is the sum: special ones have none."""
        return len(
            rows(
                self.tokenizer,
                [Ask(context + continuation, len(context.rstrip()))],
                False,
                lambda count: None,
            )
        )

    @property
    def _name(self) -> str:
        return (
            self.pretrained
            if isinstance(self.pretrained, str)
            else self.model.name_or_path or type(self.model).__name__
        )

    @property
    def _body(self) -> torch.nn.Module:
        """The model without its head, whose output the head reads."""
        whole = self.model.get_base_model() if hasattr(self.model, "get_base_model") else self.model
        return whole.base_model

    # ---- Requests

    def loglikelihood(
        self, requests: list[Instance], disable_tqdm: bool = False
    ) -> list[tuple[float, bool]]:
        """For each request, whose arguments are a context and a continuation, the
        pseudo-log-likelihood of the continuation in nats, and whether each of its tokens is the
        likeliest in its place."""
        others = self._others(requests)
        paired = iter(
            shared(
                self.tokenizer,
                [
                    (r.args[1], other)
                    for r, other in zip(requests, others, strict=True)
                    if other is not None
                ],
            )
        )
        asked, keys = [], []
        for request, other in zip(requests, others, strict=True):
            context, continuation = request.args
            if other is None:
                # As in `TemplateLM._encode_pair`, blanks at the end of a context belong to what
                # follows.
                asked.append(Ask(context + continuation, len(context.rstrip())))
                keys.append(("whole", context, continuation))
            else:
                asked.append(next(paired))
                keys.append(("shared", continuation, other))
        scores = self._scores(asked, keys, "loglikelihood", disable_tqdm)
        return [
            (value if count or other is None else nan, greedy)
            for (value, greedy, count), other in zip(scores, others, strict=True)
        ]

    def pair_loglikelihood(
        self, requests: list[Instance], disable_tqdm: bool = False
    ) -> list[sentence_pairs.Answer]:
        """For each request, whose arguments are a sentence and the other of its pair, the
        log-likelihood of the tokens that both share, each masked in turn, while the others stay
        visible (Nangia et al. 2020). NaN where they share nothing."""
        asked = shared(self.tokenizer, [request.args for request in requests])
        keys = [("shared", *request.args) for request in requests]
        scores = self._scores(asked, keys, sentence_pairs.REQUEST, disable_tqdm)
        return [(value if count else nan, count, SHARED) for value, _, count in scores]

    def loglikelihood_rolling(
        self, requests: list[Instance], disable_tqdm: bool = False
    ) -> list[float]:
        """The pseudo-log-likelihood of whole texts. A text that is longer than the model is an
        error: windows would show other contexts."""
        asked = [Ask(request.args[0]) for request in requests]
        keys = [("whole", "", request.args[0]) for request in requests]
        return [
            value
            for value, _, _ in self._scores(asked, keys, "loglikelihood_rolling", disable_tqdm)
        ]

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str]:
        if not requests:
            return []
        raise UsageError(
            NO_TEXT.format(
                model=self._name, task=requests[0].task_name or "a generate_until request"
            )
        )

    def apply_chat_template(
        self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True
    ) -> str:
        if not self.tokenizer.chat_template:
            raise UsageError(
                f"--model hf-mlm: {self._name} has no chat template; run it without --apply_chat_template"
            )
        return super().apply_chat_template(chat_history, add_generation_prompt)

    def chat_template(self, chat_template: bool | str = False) -> str | None:
        if chat_template and not self.tokenizer.chat_template:
            raise UsageError(
                f"--model hf-mlm: {self._name} has no chat template; run it without --apply_chat_template"
            )
        return super().chat_template(chat_template)

    def _others(self, requests: Sequence[Instance]) -> list[str | None]:
        """For each request the other sentence of its pair; None if it is to be scored whole."""
        others: list[str | None] = [None] * len(requests)
        alone = [i for i, request in enumerate(requests) if not request.args[0]]
        if self.pairs == "auto":
            for i in alone:
                doc = requests[i].doc
                if isinstance(doc, dict) and all(
                    isinstance(doc.get(column), str) for column in SENTENCES
                ):
                    more, less = (doc[column].strip() for column in SENTENCES)
                    others[i] = {more: less, less: more}.get(requests[i].args[1].strip())
        elif self.pairs == "choices":
            documents: dict[tuple, dict[int, str]] = {}
            for request in requests:
                if request.doc_id is not None:
                    documents.setdefault((request.task_name, request.doc_id), {})[request.idx] = (
                        request.args
                    )
            for i in alone:
                choices = documents.get((requests[i].task_name, requests[i].doc_id), {})
                if len(choices) == 2 and not any(context for context, _ in choices.values()):
                    (others[i],) = (
                        text for index, (_, text) in choices.items() if index != requests[i].idx
                    )
        tasks = sorted({str(requests[i].task_name) for i in alone if others[i] is not None})
        if tasks:
            logger.warning(
                "hf-mlm: the sentences of %s are scored by the tokens that a pair shares (pairs=off: whole)",
                ", ".join(tasks),
            )
        return others

    # ---- Scores

    def _scores(
        self, asked: Sequence[Ask], keys: Sequence[tuple[str, ...]], kind: str, disable_tqdm: bool
    ) -> list[Score]:
        """The scores of requests, those of the harness's cache not computed again. keys: what each
        request is in the cache.

        The harness's cache knows a request by its texts alone. The score of a sentence in a pair
        depends on the other one, and all scores depend on how they are made, so this model looks
        into the cache itself, by keys that name both.
        """
        cache = getattr(self.cache_hook, "dbdict", None)
        known: dict[Ask, Score] = {}
        made = (
            self._name,
            str(self.revision),
            str(self.peft),
            str(self.delta),
            str(self.model.dtype),
            self.pll,
        )
        stored = dict(zip(asked, ((*made, *key) for key in keys), strict=True))
        if cache is not None:
            for ask, key in stored.items():
                found = cache.get(hash_args("hf-mlm", key))
                if found is not None:
                    known[ask] = found
            logger.info("hf-mlm: %d of %d texts are in the cache", len(known), len(stored))
        new = [ask for ask in stored if ask not in known]

        def finished(ask: Ask, score: Score) -> None:
            known[ask] = score
            if cache is not None:
                self.cache_hook.add_partial("hf-mlm", stored[ask], score)

        if new:
            with gc_frozen():
                self._compute(new, finished, f"Running {len(asked)} {kind} requests", disable_tqdm)
        return [known[ask] for ask in asked]

    def _compute(self, asked: Sequence[Ask], finished: Any, title: str, disable_tqdm: bool) -> None:
        quiet = disable_tqdm or self.rank != 0
        with tqdm(total=len(asked), desc="Tokenizing inputs", disable=quiet) as bar:
            made = rows(self.tokenizer, asked, self.pll == "within_word_l2r", bar.update)
        self._refuse_too_long(asked, made.ids.lengths)
        counts = made.counts
        total, greedy = np.zeros(len(asked)), np.ones(len(asked), dtype=bool)
        # nothing to predict: an empty continuation, or a pair that shares nothing
        for i in np.flatnonzero(counts == 0):
            finished(asked[i], (0.0, True, 0))
        limit = self._limit(made.longest(0)) if len(made) else 0
        computed = int((counts * made.ids.lengths).sum())
        logger.info(
            "hf-mlm: %d texts, %d tokens to predict, %d tokens to compute",
            len(asked),
            len(made),
            computed,
        )
        start = 0
        left = counts.copy()
        with tqdm(total=len(made), desc=title, unit=" masked tokens", disable=quiet) as bar:
            while start < len(made):
                stop = min(
                    len(made), start + max(1, min(self._most_rows, limit // made.longest(start)))
                )
                if not self._pads:
                    stop = made.end_of_length(start, stop)
                batch = made.batch(start, stop, self.tokenizer.mask_token_id, self._padding)
                try:
                    values, matches = self._read(batch)
                except RuntimeError as error:
                    if not should_reduce_batch_size(error) or stop == start + 1:
                        raise
                    clear_torch_cache()
                    limit = (stop - start) // 2 * made.longest(start)
                    logger.warning(
                        "hf-mlm: out of memory with %d rows; going on with %d tokens at a time.",
                        stop - start,
                        limit,
                    )
                    continue
                text = made.text[start:stop]
                np.add.at(total, text, values)
                np.logical_and.at(greedy, text, matches)
                np.subtract.at(left, text, 1)
                for i in dict.fromkeys(text.tolist()):
                    if not left[i]:
                        finished(asked[i], (float(total[i]), bool(greedy[i]), int(counts[i])))
                bar.update(stop - start)
                self.tokens_computed += batch.ids.size
                start = stop

    def _limit(self, longest: int) -> int:
        """Tokens in a batch, for texts of at most `longest` tokens."""
        if self.batch_size == "auto":
            return max(self._most_tokens, longest)
        return max(min(self._most_tokens, max(512, int(self.batch_size) * longest)), longest)

    def _refuse_too_long(self, asked: Sequence[Ask], lengths: np.ndarray) -> None:
        most = self.max_length
        too_long = np.flatnonzero(lengths > most)
        if len(too_long):
            worst = int(too_long[np.argmax(lengths[too_long])])
            raise UsageError(
                f"--model hf-mlm: {len(too_long)} of {len(lengths)} texts are longer than the {most} tokens that {self._name} takes, the "
                f"longest {lengths[worst]} tokens with its special ones: {asked[worst].text[:60]!r}... Nothing was computed, since a text "
                f"that is cut gets another score. Leave these out, use fewer few-shot examples, or take a model for longer texts."
            )

    # ---- The model

    @property
    def _padding(self) -> int:
        return self.tokenizer.pad_token_id if self.tokenizer.pad_token_id is not None else 0

    def _read(self, batch: Batch) -> tuple[np.ndarray, np.ndarray]:
        """Log-probability of the token of each row, and whether it is the likeliest; both of shape
        (n,)."""
        logits = self._logits(batch, self._reads_masked_only).to(
            self.softmax_dtype or torch.float32
        )
        token = torch.as_tensor(batch.token, device=logits.device)
        values = logits.gather(1, token[:, None])[:, 0] - logits.logsumexp(1)
        # numpy's argmax takes a quarter of the time of torch's on a CPU; both name the first of
        # equals
        likeliest = (
            torch.from_numpy(logits.float().numpy().argmax(1))
            if logits.device.type == "cpu"
            else logits.argmax(1)
        )
        return values.double().cpu().numpy(), (likeliest == token).cpu().numpy()

    def _logits(self, batch: Batch, masked_only: bool) -> torch.Tensor:
        """The logits at the masked position of each row, shape (n, vocabulary). masked_only: the
        head reads no other position."""
        position = torch.as_tensor(batch.position, device=self.device)
        at = torch.arange(len(position), device=self.device)
        # Without padding no mask is needed, and attention is faster without one.
        given = (
            {}
            if batch.mask.all()
            else {
                "attention_mask": torch.as_tensor(batch.mask.astype(np.int64), device=self.device)
            }
        )
        ids = torch.as_tensor(batch.ids, device=self.device)
        with (
            torch.inference_mode(),
            torch.autocast(
                self.device.type,
                dtype=self.mixed_precision_dtype,
                enabled=self.mixed_precision_dtype is not None,
            ),
        ):
            if not masked_only:
                return self.model(input_ids=ids, **given).logits[at, position]
            with _narrowed(self._body, lambda hidden: hidden[at, position][:, None]):
                return self.model(input_ids=ids, **given).logits[:, 0]

    def _head_takes_any_rows(self) -> bool:
        """Whether the head reads each position by itself, tried on a few tokens. If not, it gets
        all of them, which takes longer."""
        length = min(6, self.max_length)
        ids = np.full((3, length), self.tokenizer.mask_token_id)
        another = next(
            i for i in range(3) if i not in (self.tokenizer.mask_token_id, self._padding)
        )
        position = np.arange(3) % length
        ids[np.arange(3), position - 1] = another
        batch = Batch(ids, np.ones_like(ids, dtype=bool), position, position)
        whole = self._logits(batch, False)
        try:
            narrowed = self._logits(batch, True)
            same = narrowed.shape == whole.shape and torch.allclose(
                narrowed.float(), whole.float(), rtol=1e-2, atol=1e-2
            )
        except Exception as error:
            logger.debug(
                "hf-mlm: the head of %s does not read single positions: %s", self._name, error
            )
            same = False
        if not same:
            logger.info("hf-mlm: the head of %s reads all positions of a text at once", self._name)
        return same

    def _takes_padding(self) -> bool:
        """Whether padding changes nothing, tried on a few tokens. If it does, only texts of the
        same length go through the model together.

        ConvBERT's convolutions and FNet's Fourier transform read what the attention mask hides from
        others.
        """
        length = min(8, self.max_length // 2)
        another = next(
            i for i in range(3) if i not in (self.tokenizer.mask_token_id, self._padding)
        )
        ids = np.full((1, 2 * length), self._padding)
        ids[:, :length] = np.where(np.arange(length) % 2, self.tokenizer.mask_token_id, another)
        mask = np.arange(2 * length)[None] < length
        position = np.array([length - 1])
        try:
            padded = self._logits(
                Batch(ids, mask, position, position), self._reads_masked_only
            ).float()
            alone = self._logits(
                Batch(ids[:, :length], mask[:, :length], position, position),
                self._reads_masked_only,
            ).float()
            exact = self.model.dtype == torch.float32 and self.mixed_precision_dtype is None
            same = bool(
                (padded - alone).abs().max() <= (1e-3 if exact else 3e-2) * alone.abs().max()
            )
        except Exception as error:
            logger.debug("hf-mlm: %s takes no padding: %s", self._name, error)
            same = False
        if not same:
            logger.info(
                "hf-mlm: padding changes the answers of %s, so only texts of the same length share a batch",
                self._name,
            )
        return same


@contextmanager
def _narrowed(body: torch.nn.Module, select: Any) -> Any:
    """Let the output of a model's body, of shape (rows, positions, width), go through `select`
    before the head reads it."""

    def hook(module: Any, arguments: Any, output: Any) -> Any:
        if isinstance(output, tuple):
            return (select(output[0]), *output[1:])
        output.last_hidden_state = select(output.last_hidden_state)
        return output

    handle = body.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


compat.own_cache(MaskedLM, "loglikelihood", "loglikelihood_rolling", sentence_pairs.REQUEST)
