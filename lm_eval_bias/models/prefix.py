"""`--model hf-prefix`: the harness's `hf`, which computes shared prefixes of requests once.

All requests form a token trie, computed depth first, pack by pack. See
docs/explanation/hf_prefix.md.
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from hashlib import blake2b
from itertools import pairwise
from math import inf
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from lm_eval.api.instance import Instance
from lm_eval.api.model import hash_args
from lm_eval.models.huggingface import HFLM
from lm_eval.models.utils import (
    handle_stop_sequences,
    normalize_gen_kwargs,
    postprocess_generated_text,
)
from psutil import virtual_memory

from lm_eval_bias.harness.compat import brief
from lm_eval_bias.harness.gc_frozen import gc_frozen
from lm_eval_bias.usage import UsageError

from .at_a_time import ROWS, sizes_on
from .decoding import Prompt, Strategy, decode, strategy_of
from .encoding import Encoder, unpacked
from .hf_model import HFModel, likeliest
from .kinds import refuse_encoder
from .pack_size import PackSize, is_shortage
from .pair_tokens import encode_pairs
from .sweep import Sweep
from .token_trie import TokenTrie
from .tree_attention import TreeModel, Unsupported
from .trial import (
    SHORTEST,
    bound,
    check,
    compare,
    rope_limit,
    rounded,
    row_limit,
    thresholds,
    with_plain,
    writes_alike,
)

logger = logging.getLogger(__name__)

T = TypeVar("T")

RECHECKED = 16
"""Requests that a GPU computes again together."""
# Settings of generation that change only how a token is chosen.
SETTINGS = {
    "do_sample",
    "temperature",
    "top_k",
    "top_p",
    "top_h",
    "min_p",
    "typical_p",
    "epsilon_cutoff",
    "eta_cutoff",
    "repetition_penalty",
    "renormalize_logits",
}


class Watched(NamedTuple):
    """A request that is computed again."""

    texts: tuple[str, str]
    value: float
    context: list[int]
    continuation: list[int]


Answered = Callable[[int, Any], None]
"""Called with the number of a request and its answer."""
Share = Callable[[list[Instance], Answered, bool], Sequence[Watched]]
"""Answers requests that can share prefixes, and returns some that are computed again."""


class Difference(Exception):
    """A request has another value than `hf` computes."""


class PrefixLM(HFModel):
    """Options: docs/explanation/hf_prefix.md; others are `HFLM`'s, which answers what cannot share
    prefixes. `runs_as_hf` says why.

    The same `--seed` gives the same answers for any pack size and number of processes, except where
    rounding decides a draw.
    """

    NAME = "hf-prefix"
    OPTIONS = ("on_difference",)
    SHORTER = "a smaller max_length"

    def __init__(self, pretrained: Any, *, on_difference: str = "stop", **kwargs: Any):
        if on_difference not in ("stop", "hf"):
            raise UsageError(f"on_difference={on_difference} in --model_args: expected stop or hf")
        if kwargs.get("tp_plan") is not None:
            raise UsageError("hf-prefix has no tp_plan; use parallelize=True, or --model hf")
        super().__init__(pretrained, **kwargs)
        self.tokens_computed = 0
        """Tokens that went through the model so far, without those that `HFLM` computed."""
        self.runs_as_hf: str | None = None
        """Why this model runs as `hf`; None if it does not."""
        self._strategies: dict[str, Strategy | None] = {}
        self._on_difference = on_difference
        self._text_limit = self._row_limit = inf
        """Tokens of a text, and of a pack with its cache, up to which the model shares prefixes."""
        self._writing_limit = inf
        """The same of a prompt with its answer."""
        self._tried_text = self._tried_row = self._tried_written = 0
        self._largest = 0, 0
        """Tokens in the largest pass and its cache so far, and in the cache."""
        self._never_shared = False
        try:
            if self.backend != "causal":
                raise Unsupported("is an encoder-decoder")
            self._tree = TreeModel(self.model)
            with self._autocast():
                per_token, vocabulary = self._pack_size(1, "texts").fit(lambda _: check(self._tree))
        except UsageError:
            raise
        except Exception as error:
            known = isinstance(error, Unsupported)
            self._run_as_hf(str(error) if known else "cannot read several texts in one pass")
            logger.debug("hf-prefix: %s", brief(error))
            self._never_shared = True
            return
        free = virtual_memory().available
        if self.device.type == "cuda":
            free = torch.cuda.mem_get_info(self.device)[0]
        self._encoder = Encoder(self.tokenizer, self.add_bos_token)
        self._held_tokens = int(free / 4 / per_token)
        self._most_reads = self._logit_rows(vocabulary)
        self._config = self.model.config.get_text_config(decoder=True)
        self._text_limit = rope_limit(self._config)

    def _check_kind(self, pretrained: Any, config: Any) -> None:
        refuse_encoder(pretrained, config)

    def _packs(self, longest: int) -> PackSize:
        return self._pack_size(self._token_limit(longest, sizes_on(self.device).pack), "tokens")

    def _run_as_hf(self, reason: str, error: Exception | None = None) -> None:
        self.runs_as_hf = reason
        logger.warning(
            "hf-prefix: %s %s, so it runs as --model hf: the same numbers, but slower.%s",
            *(type(self.model).__name__, reason, f" ({brief(error)})" if error else ""),
        )

    def _as_hf(
        self, method: str, requests: list[Instance], disable_tqdm: bool, together: bool = True
    ) -> Any:
        """The answers of a method of `HFLM`, which begins anew after a shortage of memory.

        together: whether all processes ask it, and can agree on a batch size.
        """
        ask = partial(getattr(super(), method), requests, disable_tqdm=disable_tqdm)
        if self.world_size > 1 and together:  # it would wait for the other processes
            return ask()
        alone = self.world_size == 1 and self.batch_size == "auto"
        name = "max_batch_size" if alone else "batch_size_per_gpu"
        before = getattr(self, name)
        packs = self._pack_size(1 if before == "auto" else before, "requests")

        def answers(size: int) -> Any:
            setattr(self, name, size)
            return ask()

        try:
            return packs.fit(answers)
        finally:
            setattr(self, name, before)

    def _answers(
        self, method: str, requests: list[Instance], disable_tqdm: bool, share: Share
    ) -> list[Any]:
        """The answers of `share`, and those of `hf` to the other requests, and after an error to
        all that have none. A `Difference` takes all answers back, or raises UsageError."""
        if self.runs_as_hf:
            return self._as_hf(method, requests, disable_tqdm, self._never_shared)
        if not requests:
            return []
        answers = {}
        limit, self._largest = self._row_limit, (0, 0)

        def answered(i: int, answer: Any) -> None:
            answers[i] = answer
            self.cache_hook.add_partial(method, requests[i].args, answer)

        try:
            self._recheck(share(requests, answered, disable_tqdm))
        except Exception as error:
            if isinstance(error, UsageError) or is_shortage(error):
                raise
            if not self._lower_row_limit():
                self._give_up(error, method, requests, answers)
        if self._row_limit < limit:
            return self._answers(method, requests, disable_tqdm, share)
        rest = [i for i in range(len(requests)) if i not in answers]
        if rest:
            others = self._as_hf(method, [requests[i] for i in rest], disable_tqdm, False)
            answers |= zip(rest, others, strict=True)
        return [answers[i] for i in range(len(requests))]

    def _give_up(
        self, error: Exception, method: str, requests: list[Instance], answers: dict[int, Any]
    ) -> None:
        """Run as `hf` from now on. answers: those so far."""
        if not isinstance(error, Difference):
            self._run_as_hf("failed in the middle of several texts in one pass", error)
            return
        for i in answers:
            (self.cache_hook.dbdict or {}).pop(hash_args(method, requests[i].args), None)
        if self._on_difference == "stop":
            raise UsageError(
                f"--model hf-prefix: {error}. Use --model hf, or add on_difference=hf to "
                f"--model_args"
            ) from None
        logger.warning("hf-prefix: %s", error)
        answers.clear()
        self._run_as_hf("gives other likelihoods when texts share a pass")

    # ---- Trials at the sizes of the work

    def _agrees(self, *lengths: int) -> bool:
        def agrees(_: int) -> bool:
            try:
                with self._autocast():
                    return compare(self._tree, lengths).agrees
            except Exception as error:
                if is_shortage(error):
                    raise
                return False

        return self._in_memory(agrees) is not False

    def _in_memory(self, compute: Callable[[int], T], packs: PackSize | None = None) -> T | None:
        """The result of a check, or None if it needs more memory than the work."""
        try:
            return (packs or self._pack_size(1, "texts")).fit(compute)
        except UsageError:
            logger.warning("hf-prefix: a check of the model was left out, for lack of memory.")
            return None

    def _try_texts(self, longest: int) -> None:
        """Lower the limit of texts to the first threshold beyond which the model is wrong."""
        below = SHORTEST
        for length in thresholds(self._config):
            if self._tried_text <= length < min(longest, self._text_limit) and not self._agrees(
                length, length + 1
            ):
                self._text_limit = length if self._agrees(length) else below
                logger.warning(
                    "hf-prefix: %s gives other likelihoods to texts of more than %d tokens when "
                    "they share a pass, so these run as --model hf: the same numbers, but slower.",
                    *(type(self.model).__name__, self._text_limit),
                )
            below = length
        self._tried_text = max(self._tried_text, longest)

    def _try_rows(self, nodes: int, cached: int) -> None:
        """Lower the limit of rows to the largest in which the model is right. nodes, cached: tokens
        of a pass and in the cache at most."""

        def limit(size: int) -> tuple[int, float]:
            row = size + cached
            if row <= self._tried_row:
                return row, inf
            with self._autocast():
                return row, row_limit(self._tree, size, cached)

        row, most = self._in_memory(limit, self._pack_size(nodes, "tokens")) or (0, inf)
        if most == inf:
            self._tried(row)
            return
        self._row_limit, self._text_limit = most, min(self._text_limit, 3 * most // 4)
        if not most:
            self._run_as_hf("gives other likelihoods when texts share a pass")
            return
        logger.warning(
            "hf-prefix: %s gives other likelihoods in passes of more than %d tokens, so they stay "
            "below. Longer texts and written answers run as --model hf: the same, but slower.",
            *(type(self.model).__name__, most),
        )

    def _tried(self, row: int) -> None:
        """Rows up to the next threshold are right, too."""
        if row > self._tried_row:
            named = [n for n in thresholds(self._config) if n >= row]
            self._tried_row = min([5 * row // 4, *named])

    def _same_alone(self, trie: TokenTrie, read: np.ndarray, logits: torch.Tensor) -> bool:
        """Whether the last text of a pack has the logits of a plain pass."""
        if not len(read):
            return True
        ancestors = trie.visible(read[-1:], np.arange(trie.size))[0]
        alone = partial(self._tree.alone, [trie.tokens[ancestors].tolist()])
        same = self._in_memory(lambda _: with_plain(self._tree, logits[-1:], alone)[1])
        return same is not False

    def _lower_row_limit(self) -> bool:
        """After a difference or an error in a row: whether a trial finds a limit below it."""
        if self._row_limit < inf:
            return False
        row, cached = self._largest
        self._tried_row = 0
        self._try_rows(row - cached, cached)
        return self._row_limit < inf

    # ---- Requests that are computed again

    def _recheck(self, watched: Sequence[Watched]) -> None:
        """Raise Difference if `hf` gives another log-likelihood by more than rounding."""

        def alone(those: Sequence[Watched], size: int) -> list[float]:
            # without a key of the cache, and cut as `hf` cuts it, which would warn
            room = self.max_length + 1
            requests = [
                (None, w.context[len(w.continuation) - room :], w.continuation) for w in those
            ]
            return [value for value, _ in HFLM._loglikelihood_tokens(self, requests, True, size)]

        packs = self._pack_size(1 if self.device.type == "cpu" else RECHECKED, "texts")
        expected = self._in_memory(lambda size: alone(watched, size), packs) if watched else None
        for one, right in zip(watched, expected or (), strict=bool(expected)):
            most = bound(self.mixed_precision_dtype or self.model.dtype, len(one.continuation))
            if np.isclose(one.value, right, rtol=0, atol=most, equal_nan=True):
                continue
            right = alone([one], 1)[0]  # a hair's breadth may change a mixture of experts by more
            for seed in range(4):
                with rounded(self.model, seed):
                    most = max(most, 3 * abs(alone([one], 1)[0] - right))
            if not abs(one.value - right) <= most:
                raise Difference(
                    f"{type(self.model).__name__} gives other likelihoods when texts share a pass: "
                    f"{one.texts[1]!r} behind {one.texts[0][-40:]!r} has {one.value:.6g}, and "
                    f"{right:.6g} as --model hf computes it (rounding explains {most:.2g})"
                )

    # ---- Likelihoods

    def loglikelihood_rolling(
        self, requests: list[Instance], disable_tqdm: bool = False
    ) -> list[float]:
        return self._as_hf("loglikelihood_rolling", requests, disable_tqdm)

    def loglikelihood(
        self, requests: list[Instance], disable_tqdm: bool = False
    ) -> list[tuple[float, bool]]:
        self._refuse_thinking(requests)
        return self._answers("loglikelihood", requests, disable_tqdm, self._likelihoods)

    @gc_frozen()
    def _likelihoods(
        self, requests: list[Instance], answered: Answered, disable_tqdm: bool
    ) -> list[Watched]:
        """Each continuation's log-likelihood, and whether it is greedy."""
        pairs = [request.args for request in requests]
        prefix = self.prefix_token_id
        with self._bar(len(pairs), "Tokenizing inputs", disable_tqdm) as bar:
            bos = self.tokenizer.decode(prefix)
            whole = vars(self).get("_encode_pair")  # where `whole_prompts` put it
            tokens = encode_pairs(
                self._encoder, pairs, prefix, bos, self.max_length, bar.update, whole
            )
        sizes = np.array([len(packed) // 4 for packed in tokens.inputs])
        self._try_texts(int(sizes.max()))
        short = np.flatnonzero(sizes <= self._text_limit)
        if not len(short):
            return []
        inputs, continuations = ([packed[i] for i in short] for packed in tokens)
        lengths = np.array([len(packed) // 4 for packed in continuations])
        trie = TokenTrie(inputs, tails=lengths)
        del tokens, inputs
        packs = self._packs(int(sizes[short].max()))
        held = self._pack_size(self._held_tokens, "cached tokens")
        last = np.array([nodes[-1] for nodes in trie.tails])
        by_last = np.argsort(last, kind="stable")
        last, finished = last[by_last], short[by_last].tolist()
        node = np.concatenate(trie.tails)
        order = np.argsort(node, kind="stable")
        request, node = np.repeat(short, lengths)[order], node[order]
        token = unpacked(b"".join(continuations))[order]
        total, greedy = np.zeros(len(pairs)), np.ones(len(pairs), dtype=bool)
        drawn = {finished[i] for i in rechecked(len(finished))}
        watched = []
        sweep = Sweep(self._tree, trie)
        read_nodes = np.unique(node)

        def scores(limit: int) -> tuple[Sweep, int, slice, np.ndarray, np.ndarray]:
            start, ahead = sweep.cursor, copy(sweep)
            stop = self._pack_end(sweep, limit, read_nodes)
            read = read_nodes[_between(read_nodes, start, stop)]
            here = _between(node, start, stop)
            size = stop - start + len(sweep.path)
            self._largest = max(self._largest, (size, len(sweep.path)))
            with self._autocast():
                logits = ahead.advance(stop, read)
                if size > self._tried_row and not self._same_alone(trie, read, logits):
                    size = 0
            chosen = np.searchsorted(read, node[here])
            return ahead, size, here, *self._read(logits, chosen, token[here])

        title = f"Running {len(pairs)} loglikelihood requests"
        with self._bar(trie.size, title, disable_tqdm, " tokens") as bar:
            while sweep.cursor < trie.size:
                start = sweep.cursor
                left = trie.size - start + len(sweep.missing)
                sweep, right, here, values, matches = packs.fit(scores, left)
                if not right and self._lower_row_limit():
                    return []
                self._tried(right)
                np.add.at(total, request[here], values)
                np.logical_and.at(greedy, request[here], matches)
                held.fit(sweep.hold, len(sweep.path), 0)
                bar.update(sweep.cursor - start)
                for i in finished[_between(last, start, sweep.cursor)]:
                    if i in drawn:
                        split = self._as_hf_splits(*pairs[i])
                        watched.append(Watched(pairs[i], float(total[i]), *split))
                    answered(i, (float(total[i]), bool(greedy[i])))
        self.tokens_computed += sweep.computed
        return watched

    def _encode_pair(self, context: str, continuation: str) -> tuple[list[int], list[int]]:
        """The harness's, but a continuation that merges into its context keeps tokens of its
        own."""
        before, behind = super()._encode_pair(context, continuation)
        if not behind:
            spaces = context[len(context.rstrip()) :]
            behind = self.tok_encode(spaces + continuation, add_special_tokens=False)
        return before, behind

    _encode_pair.moves_white_space = True  # type: ignore[attr-defined]

    def _as_hf_splits(self, context: str, continuation: str) -> tuple[list[int], list[int]]:
        if context:
            return self._encode_pair(context, continuation)
        tokens = self.tok_encode(continuation, add_special_tokens=False)
        prefix = self.prefix_token_id
        return [prefix], tokens[1:] if tokens[0] == prefix else tokens

    def _room(self, sweep: Sweep, limit: int) -> int:
        row = self._row_limit - len(sweep.path)
        return int(max(min(max(limit - len(sweep.missing), limit // 4), row), 1))

    def _pack_end(self, sweep: Sweep, limit: int, read_nodes: np.ndarray) -> int:
        trie, start = sweep.trie, sweep.cursor
        stop = min(trie.size, start + self._room(sweep, limit))
        last_read = np.searchsorted(read_nodes, start) + self._most_reads
        if last_read < len(read_nodes):
            stop = min(stop, int(read_nodes[last_read]))
        if stop < trie.size and trie.depth[stop] > self._held_tokens:
            # What is not held is computed again, so cut at the last node of least depth, but never
            # inside a branch.
            middle = start + (stop - start + 1) // 2
            stop -= int(np.argmin(trie.depth[middle : stop + 1][::-1]))
            while stop < trie.size and trie.depth[stop] == trie.depth[stop - 1] + 1:
                stop += 1
        return int(min(stop, start + max(self._row_limit - len(sweep.path), 1)))

    def _read(
        self, logits: torch.Tensor, row: np.ndarray, token: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The log-probabilities of tokens, and whether each is the likeliest. row (ascending),
        token: shape (n,)."""
        # A few rows fit into the cache of a CPU.
        at_once = 8 if logits.device.type == "cpu" else max(64, 2**28 // (4 * logits.shape[1]))
        values, matches = np.zeros(len(row)), np.zeros(len(row), dtype=bool)
        for first in range(0, len(logits), at_once):
            here = _between(row, first, first + at_once)
            chunk = logits[first : first + at_once]
            log_probs = F.log_softmax(chunk, dim=-1, dtype=self.softmax_dtype)
            r, t = (
                torch.as_tensor(a.astype(np.int64), device=logits.device)
                for a in (row[here] - first, token[here])
            )
            values[here] = log_probs[r, t].float().cpu()
            matches[here] = (likeliest(log_probs)[r] == t).cpu()
        return values, matches

    # ---- Answers

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str]:
        return self._answers("generate_until", requests, disable_tqdm, self._written)

    def _written(
        self, requests: list[Instance], answered: Answered, disable_tqdm: bool
    ) -> list[Watched]:
        if self._row_limit < inf or self.think_end_token is not None or self.truncation:
            return []
        members = defaultdict(list)
        for i, prompt in self._pack_size(1, "texts").fit(lambda _: self._prompts(requests)).items():
            members[prompt].append(i)
        prompts = list(members)
        if not prompts:
            return []
        trie = TokenTrie([prompt.tokens for prompt in prompts])
        packs = self._packs(int(trie.depth.max()) + 1)
        most = int(np.mean([prompt.max_tokens for prompt in prompts]))
        cached = min(trie.size, 4 * packs.size) + min(ROWS, len(prompts)) * most
        self._try_rows(min(trie.size, packs.size, 1024), min(cached, self._held_tokens))
        if self._row_limit < inf:
            return []
        watched = []

        def ended(prompt: Prompt, tokens: list[int], values: list[float] | None) -> None:
            places = members[prompt]
            if values is not None:
                asked = requests[places[0]].args[0]
                room = self.max_length - prompt.max_tokens
                context = self.tok_batch_encode([asked], "left", room)[0][0]
                texts = (asked, self.tok_decode(tokens))
                watched.append(Watched(texts, sum(values), context.tolist(), tokens))
            text = postprocess_generated_text(
                self.tok_decode(tokens), stop=list(prompt.until), think_end_token=None
            )
            for i in places:
                answered(i, text)
            bar.update(len(places))

        count = sum(map(len, members.values()))
        with self._bar(count, f"Running {count} generate_until requests", disable_tqdm) as bar:
            self._decode(trie, prompts, packs, ended)
        return watched

    def _try_writing(self, longest: int) -> None:
        """Let `hf` write answers if the model's `generate` differs from plain passes on either side
        of a threshold."""
        most = min(longest, self._text_limit)
        named = [n for n in thresholds(self._config) if self._tried_written <= n < most]
        lengths = [
            *[SHORTEST] * (not self._tried_written),
            *(m for n in named for m in (n - 2, n + 1)),
        ]
        self._tried_written = max(self._tried_written, longest)

        def alike(_: int) -> bool:
            with self._autocast():
                return all(writes_alike(self._tree, length) for length in lengths)

        if lengths and self._writing_limit and self._in_memory(alike) is False:
            self._writing_limit = 0
            logger.warning(
                "hf-prefix: %s gives other likelihoods when it writes than when it reads, so "
                "answers are written as --model hf does: the same, but slower.",
                type(self.model).__name__,
            )

    def _decode(
        self,
        trie: TokenTrie,
        prompts: list[Prompt],
        packs: PackSize,
        ended: Callable[[Prompt, list[int], list[float] | None], None],
    ) -> None:
        """Answer prompts in groups of neighbours in the trie. ended: called with each prompt, the
        tokens of its answer and, for some, their log-probabilities."""
        sweep = Sweep(self._tree, trie)
        ends = np.concatenate(trie.tails)
        order = np.argsort(ends, kind="stable")
        prompts, leaves = [prompts[i] for i in order], ends[order]
        most = np.array([prompt.max_tokens for prompt in prompts])
        row = np.unique(leaves, return_inverse=True)[1]
        held = self._pack_size(self._held_tokens, "cached tokens")
        watched = set(rechecked(len(prompts)))
        share = 1.0  # of its max_tokens, that the latest answers needed
        first = 0

        def group(limit: int) -> Sweep:
            nonlocal first, share
            ahead = copy(sweep)
            room = max(4 * limit, self._held_tokens * limit // packs.usual)
            beside = min(ROWS, limit, self._most_reads)
            # Four packs of prompts, more if fewer than ROWS answers come of them; all
            # answers to a prompt are in one group.
            fit, most_fit = np.searchsorted(leaves, sweep.cursor + np.array([4 * limit, room]))
            readable = np.searchsorted(row, row[first] + self._most_reads)
            last = max(min(max(fit, min(first + beside, most_fit)), readable), first + 1)
            last = int(np.searchsorted(row, row[last - 1], side="right"))
            with self._autocast():
                logits = self._prefill(ahead, leaves[first:last], limit)
            begin = row[first]
            while first < last:
                expected = np.cumsum(most[first:last] * share)
                size = min(beside, max(int(np.searchsorted(expected, room, side="right")), 1))
                here = slice(first, min(last, first + size))
                rows = logits[row[here.start] - begin : row[here.stop - 1] - begin + 1]
                values: dict[int, list[float]]
                values = {i - first: [] for i in range(here.start, here.stop) if i in watched}
                with self._autocast():
                    written = decode(
                        ahead, leaves[here], rows, prompts[here], self.tokenizer, values
                    )
                share = sum(map(len, written)) / int(most[here].sum())
                for i, (prompt, tokens) in enumerate(zip(prompts[here], written, strict=True)):
                    ended(prompt, tokens, values.get(i))
                first = here.stop
            return ahead

        while first < len(prompts):
            sweep = packs.fit(group)
            held.fit(sweep.hold, len(sweep.path), 0)
        self.tokens_computed += sweep.computed

    def _prefill(self, sweep: Sweep, leaves: np.ndarray, limit: int) -> torch.Tensor:
        """Compute all nodes of prompts. Returns logits, shape (prompts, vocabulary)."""
        read = np.unique(leaves)
        parts = []
        while sweep.cursor <= read[-1]:
            start = sweep.cursor
            end = min(int(read[-1]) + 1, start + self._room(sweep, limit))
            parts.append(sweep.advance(end, read[_between(read, start, end)]))
        return torch.cat(parts)

    def _prompts(self, requests: list[Instance]) -> dict[int, Prompt]:
        """Number of a request -> its prompt; without those that `hf` answers."""
        eos = self.tok_decode(self.eot_token_id, skip_special_tokens=False)
        chosen = [self._settings(request.args[1], eos) for request in requests]
        sampled = any(strategy is not None and strategy.sampled for _, _, strategy in chosen)
        seeds = _seeds(requests) if sampled else [None] * len(requests)
        texts = [request.args[0] for request in requests]
        encoded = self._encoder.each(texts, getattr(self.tokenizer, "bos_token", None))
        lengths = [
            len(encoded[text]) // 4 + most for text, (most, *_) in zip(texts, chosen, strict=True)
        ]
        longest = min(max(lengths), self.max_length)
        self._try_texts(longest)
        self._try_writing(longest)
        limit = min(self._text_limit, self._writing_limit)
        prompts = {}
        too_long = 0
        for i, (most, until, strategy) in enumerate(chosen):
            tokens, room = encoded[texts[i]], self.max_length - most
            fits = min(lengths[i], self.max_length) <= limit
            if strategy is None or most <= 0 or not tokens or not fits:
                continue
            if room <= 0:
                raise UsageError(
                    f"max_gen_toks={most} leaves no room for a prompt: the model reads "
                    f"{self.max_length} tokens at most. Set a smaller one in --gen_kwargs"
                )
            too_long += len(tokens) > 4 * room
            seed = seeds[i] if strategy.sampled else None
            prompts[i] = Prompt(tokens[-4 * room :], most, until, strategy, seed)
        if too_long:
            logger.warning(
                "%d prompts leave no room for their answers and lose tokens on the left.", too_long
            )
        return prompts

    def _settings(self, given: Any, eos: str) -> tuple[int, tuple[str, ...], Strategy | None]:
        kwargs = dict(normalize_gen_kwargs(given, self.max_gen_toks))
        most = kwargs.pop("max_gen_toks")
        until = handle_stop_sequences(kwargs.pop("until"), eos=eos)
        key = repr(sorted(kwargs.items()))
        if key not in self._strategies:
            self._strategies[key] = self._strategy(kwargs)
        return most, tuple(until), self._strategies[key]

    def _strategy(self, kwargs: dict[str, Any]) -> Strategy | None:
        """How `hf` chooses tokens with these settings, as its `generate` has it; None if not
        supported."""
        if not set(kwargs) <= SETTINGS:
            return None
        strategy = None

        def method(
            model: Any,
            input_ids: torch.Tensor,
            logits_processor: Any,
            stopping_criteria: Any,
            generation_config: Any,
            **others: Any,
        ) -> torch.Tensor:
            nonlocal strategy
            if len(input_ids) == 1:
                strategy = strategy_of(logits_processor, stopping_criteria, generation_config)
            return input_ids

        one = torch.full((1, 1), self.prefix_token_id, device=self.device)
        mask = torch.ones_like(one)
        try:
            self._model_generate(
                one, max_length=2, stop=[], attention_mask=mask, custom_generate=method, **kwargs
            )
        except Exception as error:  # hf raises it as well, if it is an error of the settings
            if is_shortage(error):
                raise
            logger.info("hf-prefix: hf handles %s: %s", kwargs, brief(error))
            return None
        if strategy is None:
            logger.warning(
                "hf-prefix: with this model's generation_config.json, hf handles %s, and every "
                "repeat is computed separately.",
                kwargs,
            )
        return strategy


def _seeds(requests: Sequence[Instance]) -> list[int | None]:
    """From torch's generator, document and repeat. The harness passes repeats as the same
    object."""
    number = int(torch.randint(2**62, ()))
    repeats: Counter[tuple[Any, ...]] = Counter()
    seeds: list[int | None] = []
    for request in requests:
        place = (request.task_name, request.doc_id, request.idx)
        text = repr((number, *place, repeats[place]))
        repeats[place] += 1
        seeds.append(int.from_bytes(blake2b(text.encode(), digest_size=8).digest()))
    return seeds


def _between(ascending: np.ndarray, start: int, stop: int) -> slice:
    return slice(*np.searchsorted(ascending, (start, stop)))


def rechecked(count: int) -> list[int]:
    """One in a thousand requests, but 8 to 64: one at random in each of equal parts."""
    parts = min(count, max(8, min(64, count // 1000)))
    rng = np.random.default_rng(count)
    bounds = np.linspace(0, count, parts + 1).astype(int).tolist()
    return [int(rng.integers(*part)) for part in pairwise(bounds)]
