"""The base of this package's model types: `hf` with checked arguments and its own cache keys."""

import difflib
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import torch
from lm_eval.api.instance import Instance
from lm_eval.api.model import hash_args
from lm_eval.models.huggingface import HFLM
from tqdm import tqdm

from lm_eval_bias.harness import compat
from lm_eval_bias.usage import UsageError

from .kinds import learned_positions, model_name
from .pack_size import PackSize

logger = logging.getLogger(__name__)

T = TypeVar("T")

# Arguments that change no answer.
_SPEED = {
    *("batch_size", "max_batch_size", "device"),
    *("parallelize", "max_memory_per_gpu", "max_cpu_memory", "offload_folder"),
}
# By bytes.
_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class HFModel(HFLM):
    """NAME: of the model type. OPTIONS: its own arguments; a similar misspelled name is an error.
    SHORTER: texts that need less memory."""

    NAME: str
    OPTIONS: tuple[str, ...]
    SHORTER = "shorter texts"

    def __init__(self, pretrained: Any, **kwargs: Any):
        for name in kwargs:
            for option in difflib.get_close_matches(name, self.OPTIONS, 1, 0.8):
                raise UsageError(
                    f"unknown option '{name}' in --model_args. Did you mean '{option}'?"
                )
        if not isinstance(pretrained, str):
            self._check_kind(pretrained, pretrained.config)
        super().__init__(pretrained, **kwargs)
        # On a CPU, HFLM leaves its world size at 1, so every process would do all the work.
        accelerator = getattr(self, "accelerator", None)
        if accelerator is not None and self.world_size == 1:
            self._rank, self._world_size = accelerator.process_index, accelerator.num_processes
        self._name = model_name(pretrained)
        self._arguments = {k: v for k, v in kwargs.items() if k not in _SPEED}

    def _get_config(self, pretrained: str, **kwargs: Any) -> None:
        super()._get_config(pretrained, **kwargs)
        self._check_kind(pretrained, self._config)

    def _check_kind(self, pretrained: Any, config: Any) -> None:
        """Raise UsageError for an unsupported model."""

    def _refuse_thinking(self, requests: Sequence[Instance]) -> None:
        """As `HFLM.loglikelihood` does."""
        if self.enable_thinking:
            raise UsageError(
                f"{tasks_of(requests)}: with enable_thinking=True in --model_args a likelihood "
                "would be that of a thought. Let it think first with --metadata reasoning=true, "
                "or set enable_thinking=False"
            )

    def _autocast(self) -> torch.autocast:
        dtype = self.mixed_precision_dtype
        return torch.autocast(self.device.type, dtype=dtype, enabled=dtype is not None)

    def _bar(self, total: int, title: str, disable_tqdm: bool, unit: str = "it") -> tqdm:
        disable = disable_tqdm or self.rank != 0
        return tqdm(total=total, desc=title, unit=unit, disable=disable)

    def _token_limit(self, longest: int, most: int) -> int:
        """Tokens at a time: `batch_size` of the longest requests, but from 512 to `most`."""
        if self.batch_size == "auto":
            return most
        return min(most, max(512, int(self.batch_size) * longest))

    def _logit_rows(self, vocabulary: int) -> int:
        return max(64, (2**27 if self.device.type == "cpu" else 2**30) // (4 * vocabulary))

    def _pack_size(self, usual: int, unit: str) -> PackSize:
        half = "dtype=bfloat16 in --model_args, " if self.model.dtype == torch.float32 else ""
        return PackSize(usual, unit, self.NAME, f"{half}{self.SHORTER} or a smaller model")

    # ---- The harness's cache

    def set_cache_hook(self, cache_hook: Any) -> None:
        """Let the harness's cache, whose keys are a request's arguments, find only answers of this
        model."""
        super().set_cache_hook(cache_hook)
        answers = cache_hook.dbdict
        if answers is None:
            return
        compat.survive_full(answers)
        answers.encode_key = f"{self._identity} {{}}".format
        if answers and "" not in answers:
            logger.warning(
                "%s: no answer in %s is of this model with these weights and settings, so all "
                "requests are computed anew.",
                *(self.NAME, answers.filename),
            )
        answers[""] = self._name

    @cached_property
    def _identity(self) -> str:
        """Digest of what determines answers. Of weights, the sums of their bits."""
        model = self.model
        config = model.config, getattr(model, "generation_config", None), model.dtype
        settings = self.NAME, self._name, sorted(self._arguments.items()), self.tokenizer
        digest = blake2b(repr((settings, config)).encode(), digest_size=16)
        for weight in chain(model.parameters(), model.buffers()):
            values = weight.detach()
            if type(values) is torch.Tensor and not values.is_meta:
                bits = values.view(_INTEGERS[values.element_size()])
                digest.update(bits.sum(-1).cpu().numpy().tobytes())
        return digest.hexdigest()

    def _through_cache(
        self,
        questions: Sequence[Any],
        settings: tuple[Any, ...],
        compute: Callable[[list[Any]], Iterable[tuple[Any, Any]]],
    ) -> list[Any]:
        """settings: what the cache's keys hold besides questions."""
        cache = getattr(self.cache_hook, "dbdict", None) or {}
        keys = {q: (*settings, *q) for q in questions}
        answers = {q: cache.get(hash_args(self.NAME, key)) for q, key in keys.items()}
        new = [question for question, answer in answers.items() if answer is None]
        for question, answer in compute(new) if new else ():
            answers[question] = answer
            self.cache_hook.add_partial(self.NAME, keys[question], answer)
        return [answers[question] for question in questions]


class EncoderModel(HFModel):
    """AT_A_TIME: tokens, on a CPU and elsewhere. ANSWERS: a sentence on the tasks that it is
    for."""

    AT_A_TIME: tuple[int, int]
    ANSWERS: str

    def __init__(self, pretrained: Any, **kwargs: Any):
        # the harness has no kind for encoders
        super().__init__(pretrained, **{"backend": "causal", **kwargs})

    @property
    def max_length(self) -> int:
        """In tokens, special ones included."""
        learned = learned_positions(self.model)
        if self._max_length and self._max_length > learned:
            raise UsageError(
                f"max_length={self._max_length} in --model_args: {self._name} has positions for "
                f"{learned} tokens"
            )
        most = min(learned, self.tokenizer.model_max_length, super().max_length)
        return self._max_length or most

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str]:
        raise self._cannot("writes no text", requests)

    def apply_chat_template(self, *args: Any, **kwargs: Any) -> str:
        raise UsageError(f"--model {self.NAME} takes no chat: leave --apply_chat_template out")

    def _cannot(self, what: str, requests: Sequence[Instance]) -> UsageError:
        return UsageError(
            f"{tasks_of(requests)}: --model {self.NAME} {what}. {self.ANSWERS}, or take a model "
            f"that does, such as --model hf"
        )

    def _refuse_long(self, texts: Sequence[Any], lengths: np.ndarray) -> None:
        most, longest = self.max_length, int(lengths.argmax())
        if lengths[longest] > most:
            raise UsageError(
                f"--model {self.NAME}: {(lengths > most).sum()} of {len(lengths)} texts are longer "
                f"than the {most} tokens that {self._name} takes, the longest {lengths[longest]} "
                f"tokens with its special ones: {str(texts[longest])[:60]!r}... Nothing was "
                f"computed, because truncation would change scores. Leave these texts out, use "
                f"fewer few-shot examples, or use a model for longer texts"
            )

    def _in_packs(
        self,
        lengths: np.ndarray,
        compute: Callable[[np.ndarray], T],
        title: str,
        disable_tqdm: bool,
        most_rows: int = sys.maxsize,
    ) -> Iterator[tuple[np.ndarray, T]]:
        """(numbers of rows, what is computed of them). Rows of one length share a pass without
        padding, the longest first. lengths: tokens of each row."""
        order = np.argsort(-lengths, kind="stable")
        sizes = lengths[order]
        longest = int(sizes.max(initial=1))
        most = self._token_limit(longest, self.AT_A_TIME[self.device.type != "cpu"])
        packs = self._pack_size(max(longest, most), "tokens")
        start = 0

        def computed(limit: int) -> tuple[np.ndarray, T]:
            stop = start + max(1, min(limit // sizes[start], most_rows))
            here = order[start:stop][sizes[start:stop] == sizes[start]]
            return here, compute(here)

        with self._bar(len(order), title, disable_tqdm) as bar:
            while start < len(order):
                size = int(sizes[start])
                here, result = packs.fit(computed, (len(order) - start) * size, size)
                yield here, result
                start += len(here)
                bar.update(len(here))


def tasks_of(requests: Iterable[Instance]) -> str:
    return ", ".join(sorted({str(request.task_name) for request in requests}))


def likeliest(scores: torch.Tensor) -> torch.Tensor:
    if scores.device.type == "cpu":
        # numpy's takes a quarter of the time of torch's
        return torch.from_numpy(scores.float().numpy().argmax(axis=-1))
    return scores.argmax(dim=-1)
