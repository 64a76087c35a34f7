"""`--model hf-mlm`: pseudo-log-likelihoods of masked language models (Salazar et al. 2020), the sum
over tokens, each masked in turn. See docs/how-to/masked_models.md."""

import logging
from collections.abc import Iterator, Sequence
from math import nan
from typing import Any

import numpy as np
import torch
import transformers
from lm_eval.api.instance import Instance

from lm_eval_bias.harness.gc_frozen import gc_frozen
from lm_eval_bias.likelihoods import SHARED, Likelihood
from lm_eval_bias.usage import UsageError

from .hf_model import EncoderModel, likeliest, tasks_of
from .kinds import model_name, require_encoder
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


class MaskedLM(EncoderModel):
    """Options: docs/how-to/masked_models.md; others are `HFLM`'s.

    `pll="within_word_l2r"` also masks the rest of a word (Kauf and Ivanova 2023). Raises UsageError
    for what cannot be scored; no text is truncated.
    """

    AUTO_MODEL_CLASS = _Complete
    NAME = "hf-mlm"
    OWN_CACHE = "loglikelihood", "loglikelihood_rolling"
    OPTIONS = ("pll", "pairs")
    AT_A_TIME = (1024, 32_768)
    ANSWERS = "Run tasks that are scored by likelihood, which `lm-eval-bias tasks` lists"

    def __init__(
        self, pretrained: Any, *, pll: str = "original", pairs: str | bool = "tokens", **kwargs: Any
    ):
        # YAML turns `off` into False
        pairs = "off" if pairs is False else pairs
        for name, value, choices in (("pll", pll, METRICS), ("pairs", pairs, PAIRS)):
            if value not in choices:
                raise UsageError(
                    f"{name}={value!r} in --model_args: expected one of {', '.join(choices)}"
                )
        self.pll, self.pairs = pll, pairs
        super().__init__(pretrained, **kwargs)
        self._mask = self.tokenizer.mask_token_id
        self._reads_masked_only = self._head_takes_any_rows()

    # ---- What is loaded

    def _check_kind(self, pretrained: Any, config: Any) -> None:
        require_encoder(pretrained, config)
        if not isinstance(pretrained, str) and pretrained.get_output_embeddings() is None:
            raise UsageError(
                f"--model hf-mlm: {model_name(pretrained)} has no masked language modelling head"
            )

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

    @property
    def prefix_token_id(self) -> int:
        first = self.tokenizer.cls_token_id
        return super().prefix_token_id if first is None else first

    def _encode_pair(self, context: str, continuation: str) -> tuple[list[int], list[int]]:
        """The special token at the end keeps choices from being prefixes of one another."""
        encoded = rows(self.tokenizer, [Target.behind(context, continuation)])
        (ids,) = encoded.ids
        first = min(encoded.position, default=len(ids))
        return ids[:first].tolist(), ids[first:].tolist()

    def scored_tokens(self, context: str, continuation: str) -> int:
        return len(rows(self.tokenizer, [Target.behind(context, continuation)]).position)

    # ---- Requests

    def loglikelihood(
        self, requests: list[Instance], disable_tqdm: bool = False
    ) -> list[tuple[float, bool]]:
        """The pseudo-log-likelihood of each continuation in nats, NaN for a pair that shares
        nothing; and whether all its tokens are the likeliest."""
        self._refuse_thinking(requests)
        pairs = [self._pair(request) for request in requests]
        shared = shared_tokens(self.tokenizer, list(dict.fromkeys(filter(None, pairs))))
        if shared:
            logger.warning(
                "hf-mlm: the sentences of %s are scored by the tokens that a pair shares "
                "(pairs=off: whole)",
                tasks_of(r for r, pair in zip(requests, pairs, strict=True) if pair),
            )
        targets = []
        for request, pair in zip(requests, pairs, strict=True):
            context, text = request.args
            if pair:
                targets.append(shared[pair if text.strip() == pair[0] else pair[::-1]])
            elif text:
                targets.append(Target.behind(context, text))
            else:
                raise UsageError(f"{request.task_name}: an empty answer has no likelihood")
        scores = self._scores(targets, "loglikelihood", disable_tqdm)
        return [
            # The authors round: what is equal then is no preference.
            (value if pair is None else round(value, 3) if count else nan, greedy)
            for (value, greedy, count), pair in zip(scores, pairs, strict=True)
        ]

    def pair_likelihoods(self, requests: list[Instance]) -> list[Likelihood]:
        """That of the words that two sentences share, or NaN (BIStereo, section 4.1.1)."""
        pairs = [request.args[:2] for request in requests]
        paired = shared_words(self.tokenizer, pairs)
        scores = self._scores([paired[pair] for pair in pairs], "pair", False)
        return [
            Likelihood(value if count else nan, greedy, count, how=SHARED)
            for value, greedy, count in scores
        ]

    def loglikelihood_rolling(
        self, requests: list[Instance], disable_tqdm: bool = False
    ) -> list[float]:
        targets = [Target(request.args[0]) for request in requests]
        scores = self._scores(targets, "loglikelihood_rolling", disable_tqdm)
        return [value for value, _, _ in scores]

    def _pair(self, request: Instance) -> tuple[str, str] | None:
        """The sentences of a CrowS-Pairs request; None to score it whole."""
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
        self._refuse_long([target.text for target in targets], lengths)
        counts = np.bincount(encoded.text, minlength=len(targets))
        # nothing to predict: an empty continuation, or a pair that shares nothing
        for i in np.flatnonzero(counts == 0).tolist():
            yield targets[i], (0.0, True, 0)
        total, greedy = np.zeros(len(targets)), np.ones(len(targets), dtype=bool)
        left = counts.copy()
        for here, (values, matches) in self._in_packs(
            lengths[encoded.text],
            lambda here: self._read(encoded.batch(here, self._mask)),
            title,
            disable_tqdm,
            self._logit_rows(len(self.tokenizer)),
        ):
            text = encoded.text[here]
            np.add.at(total, text, values)
            np.logical_and.at(greedy, text, matches)
            np.subtract.at(left, text, 1)
            for i in np.unique(text[left[text] == 0]).tolist():
                yield targets[i], (float(total[i]), bool(greedy[i]), int(counts[i]))

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
        ids, position = (torch.as_tensor(a, device=self.device) for a in batch[:2])
        at = torch.arange(len(position), device=self.device)
        with torch.inference_mode(), self._autocast():
            if not masked_only:
                return self.model(input_ids=ids).logits[at, position]
            whole = self.model
            whole = whole.get_base_model() if hasattr(whole, "get_base_model") else whole

            def narrow(module: Any, arguments: Any, output: Any) -> Any:
                """Leave only the masked positions to the head."""
                if isinstance(output, tuple):
                    return (output[0][at, position][:, None], *output[1:])
                output.last_hidden_state = output.last_hidden_state[at, position][:, None]
                return output

            with whole.base_model.register_forward_hook(narrow):
                return self.model(input_ids=ids).logits[:, 0]

    def _head_takes_any_rows(self) -> bool:
        """Whether the head gives the same logits without a text's other positions."""
        length = min(6, self.max_length)
        position = np.arange(3) % length
        ids = np.full((3, length), self._mask)
        ids[np.arange(3), position - 1] = 1 if self._mask == 0 else 0
        batch = Batch(ids, position, position)
        try:
            one, two = (self._logits(batch, only).float() for only in (False, True))
            if one.shape == two.shape and (two - one).abs().max() <= 1e-2 * one.abs().max():
                return True
        except Exception as error:
            logger.debug("hf-mlm: trial of %s: %s", self._name, error)
        logger.info("hf-mlm: %s: its head reads all positions of a text at once", self._name)
        return False
