"""`--model hf-mlm`: pseudo-log-likelihoods of masked language models (Salazar et al. 2020), the sum
over tokens, each masked in turn. See docs/how-to/masked_models.md."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import nan
from typing import Any

import numpy as np
import torch
import transformers
from lm_eval.api.instance import Instance

from lm_eval_bias.harness import compat, sentence_pairs
from lm_eval_bias.harness.gc_pause import gc_frozen
from lm_eval_bias.harness.sentence_pairs import SHARED
from lm_eval_bias.usage import UsageError

from .hf_model import HFModel, likeliest
from .kinds import learned_positions, model_name, require_encoder
from .masked_rows import Batch, Target, rows, shared_tokens, shared_words

logger = logging.getLogger(__name__)

METRICS = ("original", "within_word_l2r")
PAIRS = ("tokens", "off")
# CrowS-Pairs (Nangia et al. 2020): the harness scores these columns as choices without a context.
SENTENCES = ("sent_more", "sent_less")

Score = tuple[float, bool, int]
"""Log-likelihood, whether each token is the likeliest in its place, and the number of tokens."""


class _Complete:
    @staticmethod
    def from_pretrained(pretrained: str, **kwargs: Any) -> torch.nn.Module:
        model, loaded = transformers.AutoModelForMaskedLM.from_pretrained(
            pretrained, output_loading_info=True, **kwargs
        )
        missing = sorted(loaded["missing_keys"])
        # DeBERTa's own checkpoints use other names for the head than transformers' default.
        own_head = any("lm_predictions." in key for key in loaded["unexpected_keys"])
        if missing and own_head and getattr(model.config, "legacy", False):
            return _Complete.from_pretrained(pretrained, **{**kwargs, "legacy": False})
        if missing:
            raise UsageError(
                f"--model hf-mlm: {pretrained} ({', '.join(model.config.architectures or [])}) has "
                f"no weights for {len(missing)} parts of a masked language model, such as "
                f"{', '.join(missing[:3])}; scores would be random. Use a checkpoint with "
                f"its masked language modelling head: ELECTRA's generator, or the base model of a "
                f"fine-tuned classifier."
            )
        return model


class MaskedLM(HFModel):
    """A masked language model in the harness.

    pll: "original" masks one token; "within_word_l2r" also the rest of its word (Kauf and Ivanova
    2023).
    pairs: of CrowS-Pairs, score the "tokens" that both sentences share, or whole sentences ("off").
    Other arguments are `HFLM`'s. Raises UsageError for what cannot be scored; no text is truncated.
    """

    AUTO_MODEL_CLASS = _Complete
    NAME = "hf-mlm"
    OPTIONS = ("pll", "pairs")

    def __init__(
        self, pretrained: Any, *, pll: str = "original", pairs: str | bool = "tokens", **kwargs: Any
    ) -> None:
        # YAML turns `off` into False
        pairs = "off" if pairs is False else pairs
        for name, value, choices in (("pll", pll, METRICS), ("pairs", pairs, PAIRS)):
            if value not in choices:
                raise UsageError(
                    f"{name}={value!r} in --model_args: expected one of {', '.join(choices)}"
                )
        self.pll, self.pairs = pll, pairs
        super().__init__(pretrained, **kwargs)
        self._most_tokens = 1024 if self.device.type == "cpu" else 32_768
        self._most_rows = self._logit_rows(len(self.tokenizer))
        self._check_positions()
        self.tokens_computed = 0
        """Tokens that went through the model so far, padding included."""
        self._mask, pad = self.tokenizer.mask_token_id, self.tokenizer.pad_token_id
        self._padding = 0 if pad is None else pad
        self._reads_masked_only = self._head_takes_any_rows()
        self._pads = self._takes_padding()

    # ---- What is loaded

    def _check_kind(self, pretrained: Any, config: Any) -> None:
        require_encoder(pretrained, config)
        if not isinstance(pretrained, str) and pretrained.get_output_embeddings() is None:
            raise UsageError(
                f"--model hf-mlm: {model_name(pretrained)} has no masked language modelling head"
            )

    def _get_backend(self, config: Any, backend: str = "default", **kwargs: Any) -> None:
        # the harness has no kind for encoders
        super()._get_backend(config, "causal" if backend == "default" else backend, **kwargs)
        self.backend = "causal"

    def _create_tokenizer(self, pretrained: Any, tokenizer: Any, **kwargs: Any) -> None:
        super()._create_tokenizer(pretrained, tokenizer, **kwargs)
        name = getattr(self.tokenizer, "name_or_path", "") or type(self.tokenizer).__name__
        if self.tokenizer.mask_token_id is None:
            raise UsageError(
                f"--model hf-mlm: the tokenizer of {name} has no mask token, so nothing can be "
                f"masked. Use the model's own: tokenizer=... in --model_args. A model that "
                f"was never trained on masks is a decoder, for --model hf-prefix or --model hf."
            )
        if not self.tokenizer.is_fast:
            raise UsageError(
                f"--model hf-mlm: the tokenizer of {name} ({type(self.tokenizer).__name__}) gives "
                f"no positions of tokens in the text. Use a fast tokenizer (with a "
                f"tokenizer.json): tokenizer=... in --model_args."
            )

    def _check_positions(self) -> None:
        most = learned_positions(self.model)
        if self._max_length and self._max_length > most:
            raise UsageError(
                f"max_length={self._max_length} in --model_args: {self._name} has positions for "
                f"{most} tokens"
            )

    @property
    def max_length(self) -> int:
        """In tokens, special ones included."""
        return self._max_length or min(learned_positions(self.model), super().max_length)

    @property
    def prefix_token_id(self) -> int:
        first = self.tokenizer.cls_token_id
        return super().prefix_token_id if first is None else first

    def _encode_pair(self, context: str, continuation: str) -> tuple[list[int], list[int]]:
        """The special token at the end keeps choices from being prefixes of one another."""
        encoded = rows(self.tokenizer, [Target.behind(context, continuation)])
        (ids,) = encoded.ids
        first = min(encoded.position, default=len(ids))
        return ids[:first], ids[first:]

    def scored_tokens(self, context: str, continuation: str) -> int:
        return len(rows(self.tokenizer, [Target.behind(context, continuation)]))

    # ---- Requests

    def loglikelihood(
        self, requests: list[Instance], disable_tqdm: bool = False
    ) -> list[tuple[float, bool]]:
        """The pseudo-log-likelihood of each continuation in nats, NaN for a pair that shares
        nothing; and whether all its tokens are the likeliest.
        """
        self._refuse_thinking(requests)
        paired = self._paired(requests)
        for request, pair in zip(requests, paired, strict=True):
            if pair is None and request.args[1] == "":
                raise UsageError(f"{request.task_name}: an empty answer has no likelihood")
        targets = [p or Target.behind(*r.args) for p, r in zip(paired, requests, strict=True)]
        scores = self._scores(targets, "loglikelihood", disable_tqdm)
        return [
            # The authors round: what is equal then is no preference.
            (value if pair is None else round(value, 3) if count else nan, greedy)
            for (value, greedy, count), pair in zip(scores, paired, strict=True)
        ]

    def pair_loglikelihood(
        self, requests: list[Instance], disable_tqdm: bool = False
    ) -> list[sentence_pairs.Answer]:
        """That of the words that two sentences share (BIStereo, section 4.1.1), or NaN."""
        paired = shared_words(self.tokenizer, [request.args for request in requests])
        targets = [paired[request.args] for request in requests]
        scores = self._scores(targets, sentence_pairs.REQUEST, disable_tqdm)
        return [(value if count else nan, count, SHARED) for value, _, count in scores]

    def loglikelihood_rolling(
        self, requests: list[Instance], disable_tqdm: bool = False
    ) -> list[float]:
        targets = [Target(request.args[0]) for request in requests]
        scores = self._scores(targets, "loglikelihood_rolling", disable_tqdm)
        return [value for value, _, _ in scores]

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str]:
        if not requests:
            return []
        raise UsageError(
            f"--model hf-mlm: {self._name} is an encoder and writes no text, so it cannot answer a "
            f"request to generate ({requests[0].task_name}). Run tasks that are scored by "
            f"likelihood; many tasks have a variant for it, which `lm-eval-bias tasks` lists. For "
            f"generation run a decoder with --model hf-prefix or --model hf."
        )

    def apply_chat_template(self, *args: Any, **kwargs: Any) -> str:
        if not self.tokenizer.chat_template:
            raise UsageError(
                f"--model hf-mlm: {self._name} has no chat template; run it without "
                f"--apply_chat_template"
            )
        return super().apply_chat_template(*args, **kwargs)

    def _paired(self, requests: Sequence[Instance]) -> list[Target | None]:
        """What a sentence of CrowS-Pairs shares with the other one; None to score it whole."""
        pairs = [self._pair(request) for request in requests]
        targets = shared_tokens(self.tokenizer, list(dict.fromkeys(filter(None, pairs))))
        if targets:
            tasks = {str(r.task_name) for r, pair in zip(requests, pairs, strict=True) if pair}
            logger.warning(
                "hf-mlm: the sentences of %s are scored by the tokens that a pair shares "
                "(pairs=off: whole)",
                ", ".join(sorted(tasks)),
            )
        return [
            pair and targets[pair if request.args[1].strip() == pair[0] else pair[::-1]]
            for request, pair in zip(requests, pairs, strict=True)
        ]

    def _pair(self, request: Instance) -> tuple[str, str] | None:
        context, sentence = request.args
        if self.pairs == "off" or context or not all(c in request.doc for c in SENTENCES):
            return None
        # the authors' order
        reverse = request.doc.get("stereo_antistereo") in ("antistereo", 1)
        one, two = (request.doc[c].strip() for c in (SENTENCES[::-1] if reverse else SENTENCES))
        return (one, two) if sentence.strip() in (one, two) else None

    # ---- Scores

    def _scores(self, targets: Sequence[Target], kind: str, disable_tqdm: bool) -> list[Score]:
        title = f"Running {len(targets)} {kind} requests"
        with gc_frozen():
            return self._through_cache(
                targets, (self.pll,), lambda new: self._computed(new, title, disable_tqdm)
            )

    def _computed(
        self, targets: Sequence[Target], title: str, disable_tqdm: bool
    ) -> Iterator[tuple[Target, Score]]:
        with self._bar(len(targets), "Tokenizing inputs", disable_tqdm) as bar:
            encoded = rows(self.tokenizer, targets, self.pll == "within_word_l2r", bar.update)
        lengths = np.array([len(ids) for ids in encoded.ids])
        counts = np.bincount(encoded.text, minlength=len(targets))
        self._refuse_too_long(targets, lengths)
        total, greedy = np.zeros(len(targets)), np.ones(len(targets), dtype=bool)
        # nothing to predict: an empty continuation, or a pair that shares nothing
        for i in np.flatnonzero(counts == 0).tolist():
            yield targets[i], (0.0, True, 0)
        sizes = lengths[encoded.text]
        longest = int(sizes.max(initial=1))
        packs = self._pack_size(
            max(longest, self._token_limit(longest, self._most_tokens)), "tokens"
        )
        left = counts.copy()
        start = 0

        def read(limit: int) -> tuple[Batch, np.ndarray, np.ndarray]:
            stop = self._batch_end(sizes, start, limit)
            batch = encoded.batch(start, stop, self._mask, self._padding)
            return batch, *self._read(batch)

        with self._bar(len(encoded), title, disable_tqdm, " masked tokens") as bar:
            while start < len(encoded):
                size = int(sizes[start])
                batch, values, matches = packs.fit(read, (len(sizes) - start) * size, size)
                stop = start + len(values)
                text = encoded.text[start:stop]
                np.add.at(total, text, values)
                np.logical_and.at(greedy, text, matches)
                np.subtract.at(left, text, 1)
                for i in np.unique(text[left[text] == 0]).tolist():
                    yield targets[i], (float(total[i]), bool(greedy[i]), int(counts[i]))
                bar.update(stop - start)
                self.tokens_computed += batch.ids.size
                start = stop

    def _batch_end(self, sizes: np.ndarray, start: int, limit: int) -> int:
        stop = start + max(1, min(self._most_rows, limit // int(sizes[start])))
        if self._pads:
            return min(stop, len(sizes))
        return start + int((sizes[start:stop] == sizes[start]).sum())

    def _refuse_too_long(self, targets: Sequence[Target], lengths: np.ndarray) -> None:
        most = self.max_length
        if lengths.max() > most:
            worst = int(np.argmax(lengths))
            raise UsageError(
                f"--model hf-mlm: {(lengths > most).sum()} of {len(lengths)} texts are longer than "
                f"the {most} tokens that {self._name} takes, the longest {lengths[worst]} tokens "
                f"with its special ones: {targets[worst].text[:60]!r}... Nothing was computed, "
                f"because truncation would change scores. Leave these texts out, use fewer "
                f"few-shot examples, or use a model for longer texts."
            )

    # ---- The model

    def _read(self, batch: Batch) -> tuple[np.ndarray, np.ndarray]:
        """The log-probability of each row's token, and whether it is the likeliest; shape (n,)."""
        logits = self._logits(batch, self._reads_masked_only)
        logits = logits.to(self.softmax_dtype or torch.float32)
        token = torch.as_tensor(batch.token, device=logits.device)
        values = logits.gather(1, token[:, None])[:, 0] - logits.logsumexp(1)
        return values.double().cpu().numpy(), (likeliest(logits) == token).cpu().numpy()

    def _logits(self, batch: Batch, masked_only: bool) -> torch.Tensor:
        """The logits at the masked positions, shape (n, vocabulary)."""
        position = torch.as_tensor(batch.position, device=self.device)
        at = torch.arange(len(position), device=self.device)
        inputs = {"input_ids": torch.as_tensor(batch.ids, device=self.device)}
        if not batch.mask.all():  # attention is faster without a mask
            mask = batch.mask.astype(np.int64)
            inputs["attention_mask"] = torch.as_tensor(mask, device=self.device)
        with torch.inference_mode(), self._autocast():
            if not masked_only:
                return self.model(**inputs).logits[at, position]
            whole = self.model
            whole = whole.get_base_model() if hasattr(whole, "get_base_model") else whole
            with _narrowed(whole.base_model, lambda hidden: hidden[at, position][:, None]):
                return self.model(**inputs).logits[:, 0]

    def _head_takes_any_rows(self) -> bool:
        length = min(6, self.max_length)
        ids = np.full((3, length), self._mask)
        position = np.arange(3) % length
        ids[np.arange(3), position - 1] = self._another
        batch = Batch(ids, np.ones_like(ids, dtype=bool), position, position)
        otherwise = "its head reads all positions of a text at once"
        return self._agree([(batch, False), (batch, True)], 1e-2, otherwise)

    def _takes_padding(self) -> bool:
        """Whether padding changes nothing. It does in ConvBERT and FNet."""
        length = min(8, self.max_length // 2)
        ids = np.full((1, 2 * length), self._padding)
        ids[:, :length] = np.where(np.arange(length) % 2, self._mask, self._another)
        mask = np.arange(2 * length)[None] < length
        last = np.array([length - 1])
        alone = Batch(ids[:, :length], mask[:, :length], last, last)
        exact = self.model.dtype == torch.float32 and self.mixed_precision_dtype is None
        padded = Batch(ids, mask, last, last)
        return self._agree(
            [(batch, self._reads_masked_only) for batch in (alone, padded)],
            1e-3 if exact else 3e-2,
            "padding changes its answers, so only texts of the same length share a batch",
        )

    @property
    def _another(self) -> int:
        return min({0, 1, 2} - {self._mask, self._padding})

    def _agree(self, trials: list[tuple[Batch, bool]], tolerance: float, otherwise: str) -> bool:
        def agree(_: int) -> bool:
            one, two = (self._logits(*trial).float() for trial in trials)
            return one.shape == two.shape and bool(
                (two - one).abs().max() <= tolerance * one.abs().max()
            )

        try:
            if self._pack_size(1, "texts").fit(agree):
                return True
        except UsageError:
            raise
        except Exception as error:
            logger.debug("hf-mlm: trial of %s: %s", self._name, error)
        logger.info("hf-mlm: %s: %s", self._name, otherwise)
        return False


@contextmanager
def _narrowed(
    body: torch.nn.Module, select: Callable[[torch.Tensor], torch.Tensor]
) -> Iterator[None]:
    """Apply `select` to the hidden states, shape (rows, positions, width), before the head."""

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
