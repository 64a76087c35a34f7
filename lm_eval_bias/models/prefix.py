"""`--model hf-prefix`: the harness's `hf`, computing every prefix that requests share once.

All requests of a call, encoded (asked.py), form a token trie (token_trie.py). Its nodes are
computed in depth-first order, as many at a time as fill a pack, under a mask that shows each token
its ancestors (tree_attention.py); of earlier packs only one path has to be held (sweep.py). The
output projection and the softmax run where a likelihood is read. docs/performance.md draws it.
"""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
import psutil
import torch
import torch.nn.functional as F
from accelerate.utils.memory import should_reduce_batch_size
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM
from lm_eval.models.utils import (
    handle_stop_sequences,
    normalize_gen_kwargs,
    postprocess_generated_text,
)
from lm_eval.models.utils_hf import clear_torch_cache
from tqdm import tqdm

from lm_eval_bias.harness.gc_pause import gc_frozen
from lm_eval_bias.usage import UsageError

from .asked import Asked, asked
from .decoding import Answer, Stop, Way, decode
from .encoding import Encoder
from .kinds import refuse_encoder
from .processes import share_documents
from .sweep import Sweep
from .token_trie import TokenTrie
from .tree_attention import TreeModel, Unsupported

logger = logging.getLogger(__name__)

# Settings of generation that change how a token is taken, and nothing else; `Way.of` looks at what
# becomes of them.
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


class PrefixLM(HFLM):
    """The harness's `hf` model, which computes shared prefixes once.

    prefix_memory: how much of the attention cache may be held from one pack to the next, such as
    "2GiB"; by default a quarter of what is free. pack_tokens: how many tokens go through the model
    at a time; by default what saturates the device, no more than about what `batch_size` requests
    hold. All other arguments are `HFLM`'s. `loglikelihood_rolling`, beam search and other settings
    of generation that `decoding.Way` does not know, and models that this cannot run (`runs_as_hf`
    says why) go the way of `HFLM`.

    Sampled answers have the distribution that `HFLM` gives them. The random numbers of each are its
    own: they come from one number that is drawn of torch's generator for a call, and from the task,
    the document and the repeat. So the same `--seed` gives the same answers, whatever is asked
    beside them, in packs of any size, by any number of processes, but for draws so close that
    rounding decides them.
    """

    def __init__(
        self,
        pretrained,
        *,
        prefix_memory: str | int | None = None,
        pack_tokens: int | None = None,
        **kwargs,
    ):
        _check_names(kwargs)
        memory = None if prefix_memory is None else _bytes(prefix_memory)
        if pack_tokens is not None and (
            isinstance(pack_tokens, bool) or not isinstance(pack_tokens, int) or pack_tokens < 1
        ):
            raise UsageError(
                f"pack_tokens={pack_tokens} in --model_args: expected a number of tokens, such as 512"
            )
        if not isinstance(pretrained, str):
            refuse_encoder("hf-prefix", pretrained, pretrained.config)
        super().__init__(pretrained, **kwargs)
        share_documents(self)
        self._pack_tokens = pack_tokens
        self.tokens_computed = 0
        """How many tokens went through the model so far on the shared way."""
        self.runs_as_hf: str | None = None
        """Why this model runs as `hf`; None if it does not."""
        self._told: set[str] = set()
        try:
            if self.backend != "causal":
                raise Unsupported("is an encoder-decoder")
            self._tree = TreeModel(self.model)
            with self._autocast():
                per_token = self._tree.check()
        except Exception as error:
            reason = (
                str(error)
                if isinstance(error, Unsupported)
                else f"fails on a tree of tokens ({_first_line(error)})"
            )
            self.runs_as_hf = reason
            logger.warning("hf-prefix: %s %s; it runs as hf.", type(self.model).__name__, reason)
            return
        if memory is None:
            memory = _free_memory(self.device) // 4
        self._encoder = Encoder(self.tokenizer, self.add_bos_token)
        self._held_tokens = int(memory / per_token)
        on_cpu = self.device.type == "cpu"
        self._most_tokens = 512 if on_cpu else 4096
        self._most_reads = max(64, (2**27 if on_cpu else 2**30) // (4 * self._tree.vocabulary))
        # What one more attention call costs, as query-key pairs: measured on a CPU; on a GPU it is
        # the launch of some kernels.
        self._call_cost = 2_000 if on_cpu else 500_000

    def _get_config(self, pretrained: str, **kwargs: Any) -> None:
        super()._get_config(pretrained, **kwargs)
        refuse_encoder("hf-prefix", pretrained, self._config)

    def _autocast(self):
        return torch.autocast(
            self.device.type,
            dtype=self.mixed_precision_dtype,
            enabled=self.mixed_precision_dtype is not None,
        )

    def _pack_limit(self, longest: int) -> int:
        """Tokens in a pack, for requests of at most `longest` tokens."""
        if self._pack_tokens is not None:
            return self._pack_tokens
        if self.batch_size == "auto":
            return self._most_tokens
        return min(self._most_tokens, max(512, int(self.batch_size) * longest))

    def loglikelihood(
        self, requests: list[Instance], disable_tqdm: bool = False
    ) -> list[tuple[float, bool]]:
        if self.runs_as_hf or not requests:
            return super().loglikelihood(requests, disable_tqdm=disable_tqdm)
        pairs = [request.args for request in requests]
        with gc_frozen():
            return self._likelihoods(pairs, self._asked(pairs, disable_tqdm), disable_tqdm)

    def _asked(self, pairs: Sequence[tuple[str, str]], disable_tqdm: bool) -> Asked:
        bos = self.tokenizer.decode(self.prefix_token_id)
        with tqdm(
            total=len(pairs), desc="Tokenizing inputs", disable=disable_tqdm or self.rank != 0
        ) as bar:
            return asked(
                self._encoder, pairs, self.prefix_token_id, bos, self.max_length, bar.update
            )

    def _likelihoods(
        self, pairs: Sequence[tuple[str, str]], made: Asked, disable_tqdm: bool
    ) -> list[tuple[float, bool]]:
        """For each pair, the log-likelihood of its continuation, and whether it is the greedy one."""
        place, inputs, which, continuations = made
        count, lengths = len(which), continuations.lengths
        longest = np.zeros(len(inputs), np.int64)
        np.maximum.at(longest, which, lengths)
        trie = TokenTrie(inputs, tails=longest)
        read = int((np.array([len(tokens) // 4 for tokens in inputs]))[which].sum())
        logger.info(
            "hf-prefix: %d requests of %d tokens, %d of them distinct", count, read, trie.size
        )
        node = trie.tails.ends(which, lengths)
        finished_at = node[continuations.offsets[1:] - 1]
        order = np.argsort(node, kind="stable")
        request, node, token = (
            np.repeat(place, lengths)[order],
            node[order],
            continuations.values[order],
        )
        total, greedy = np.zeros(count), np.ones(count, dtype=bool)
        # Finished requests go to the harness's cache as they come. `dbdict`, not documented, is
        # None without one; if it is gone, all go.
        caching = getattr(self.cache_hook, "dbdict", self) is not None
        by_end = np.argsort(finished_at, kind="stable") if caching else finished_at[:0]
        done = 0

        sweep = Sweep(self._tree, trie, self._call_cost)
        limit = self._pack_limit(max(map(len, inputs)) // 4)
        del made, inputs, which
        read_nodes = np.unique(node)
        bar = tqdm(
            total=trie.size,
            disable=disable_tqdm or self.rank != 0,
            desc=f"Running {count} loglikelihood requests",
            unit=" tokens",
        )
        while sweep.cursor < trie.size:
            start = sweep.cursor
            stop = self._pack_end(sweep, limit, read_nodes)
            read = read_nodes[
                np.searchsorted(read_nodes, start) : np.searchsorted(read_nodes, stop)
            ]
            here = slice(np.searchsorted(node, start), np.searchsorted(node, stop))
            try:
                with self._autocast():
                    logits = sweep.advance(stop, read)
            except RuntimeError as error:
                if not should_reduce_batch_size(error) or limit == 1:
                    raise
                limit = self._halved(limit)
                continue
            values, matches = self._read(logits, np.searchsorted(read, node[here]), token[here])
            del logits
            np.add.at(total, request[here], values)
            np.logical_and.at(greedy, request[here], matches)
            sweep.hold(self._held_tokens)
            bar.update(stop - start)
            while done < len(by_end) and finished_at[by_end[done]] < stop:
                i = place[by_end[done]]
                self.cache_hook.add_partial(
                    "loglikelihood", pairs[i], (float(total[i]), bool(greedy[i]))
                )
                done += 1
        bar.close()
        self.tokens_computed += sweep.computed
        return list(zip(total.tolist(), greedy.tolist(), strict=True))

    def _pack_end(self, sweep: Sweep, limit: int, read_nodes: np.ndarray) -> int:
        """Where the next pack ends: full, unless its logits would take too much memory or a better
        place to cut is near."""
        trie, start = sweep.trie, sweep.cursor
        stop = min(trie.size, start + _room(sweep, limit))
        last_read = np.searchsorted(read_nodes, start) + self._most_reads
        if last_read < len(read_nodes):
            stop = min(stop, int(read_nodes[last_read]))
        if stop < trie.size and trie.depth[stop] > self._held_tokens:
            # What cannot be held is computed again, so cut where least is needed afterwards; of
            # equals, the last; never inside a branch.
            middle = start + (stop - start + 1) // 2
            stop -= int(np.argmin(trie.depth[middle : stop + 1][::-1]))
            while stop < trie.size and trie.depth[stop] == trie.depth[stop - 1] + 1:
                stop += 1
        return stop

    def _halved(self, limit: int) -> int:
        clear_torch_cache()
        logger.warning(
            "hf-prefix: out of memory with packs of %d tokens; going on with %d.", limit, limit // 2
        )
        return limit // 2

    def _read(
        self, logits: torch.Tensor, row: np.ndarray, token: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Log-probabilities of tokens, and whether each is the likeliest of its row; both of shape
        (n,).

        row: ascending, shape (n,). token: shape (n,).
        """
        on_cpu = logits.device.type == "cpu"
        # A CPU reads a few rows while they are in its cache; a device gets them all at once, as far
        # as a copy of them takes little memory.
        at_once = 8 if on_cpu else max(64, 2**28 // (4 * logits.shape[1]))
        bounds = np.searchsorted(row, np.arange(0, len(logits) + at_once, at_once))
        rows, tokens = (
            torch.as_tensor(a.astype(np.int64), device=logits.device) for a in (row, token)
        )
        values, matches = [], []
        for n, (start, stop) in enumerate(pairwise(bounds.tolist())):
            if start == stop:
                continue
            log_probs = F.log_softmax(
                logits[n * at_once : (n + 1) * at_once], dim=-1, dtype=self.softmax_dtype
            )
            # numpy's argmax takes a quarter of the time of torch's on a CPU; both name the first of
            # equals
            likeliest = (
                torch.from_numpy(log_probs.float().numpy().argmax(axis=-1))
                if on_cpu
                else log_probs.argmax(dim=-1)
            )
            r, t = rows[start:stop] - n * at_once, tokens[start:stop]
            values.append(log_probs[r, t].float())
            matches.append(likeliest[r] == t)
        if not values:
            return np.zeros(0), np.zeros(0, dtype=bool)
        return torch.cat(values).cpu().numpy(), torch.cat(matches).cpu().numpy()

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str]:
        if self.runs_as_hf or self.think_end_token is not None:
            return super().generate_until(requests, disable_tqdm=disable_tqdm)
        answers = self._answers(requests)
        usual = [i for i, answer in enumerate(answers) if answer is None]
        texts: list[str] = [""] * len(requests)
        if usual:
            for i, text in zip(
                usual,
                super().generate_until([requests[i] for i in usual], disable_tqdm=disable_tqdm),
                strict=True,
            ):
                texts[i] = text
        asking: dict[Answer, list[int]] = {}
        for i, answer in enumerate(answers):
            if answer is not None:
                asking.setdefault(answer, []).append(i)
        if not asking:
            return texts
        trie = TokenTrie([answer.prompt for answer in asking])
        logger.info(
            "hf-prefix: %d prompts of %d tokens, %d of them distinct",
            len(requests) - len(usual),
            sum(len(answer.prompt) // 4 * len(same) for answer, same in asking.items()),
            trie.size,
        )
        # What is written counts as well as what is read: a group of prompts may write for minutes
        # before its first answer is whole.
        bar = tqdm(
            total=trie.size + sum(answer.most for answer in asking),
            disable=disable_tqdm or self.rank != 0,
            desc=f"Running {len(requests) - len(usual)} generate_until requests",
            unit=" tokens",
        )
        for answer, written in self._decoded(trie, list(asking), bar):
            text = postprocess_generated_text(
                self.tok_decode(written), stop=list(answer.until), think_end_token=None
            )
            for i in asking[answer]:
                texts[i] = text
                self.cache_hook.add_partial("generate_until", requests[i].args, text)
        bar.close()
        return texts

    def _decoded(
        self, trie: TokenTrie, asked: list[Answer], bar: tqdm
    ) -> Iterator[tuple[Answer, list[int]]]:
        """The answers, group by group of prompts that are neighbours in the trie, and batch by
        batch within a group.

        bar: counts the tokens that are read and written, and those that an answer may have and does
        without.
        """
        sweep = Sweep(self._tree, trie, self._call_cost)
        stop = Stop(self.tokenizer)
        order = np.argsort(trie.tails.values, kind="stable")
        asked, leaves = [asked[i] for i in order], trie.tails.values[order]
        most = np.array([answer.most for answer in asked])
        prompt = np.unique(leaves, return_inverse=True)[1]
        limit = self._pack_limit(max(len(answer.prompt) for answer in asked) // 4)
        share = 1.0  # how much of what they may have the latest answers have taken
        first = 0
        while first < len(asked):
            # At least one prompt, and more as long as they fill four packs at most; never a part of
            # a prompt's answers.
            last = min(
                np.searchsorted(leaves, sweep.cursor + 4 * limit),
                np.searchsorted(prompt, prompt[first] + self._most_reads),
            )
            last = max(int(last), int(np.searchsorted(prompt, prompt[first], side="right")))
            before, counted = sweep.snapshot(), bar.n
            try:
                with self._autocast():
                    logits = self._prefill(sweep, leaves[first:last], limit, bar)
                begin = prompt[first]
                while first < last:
                    some = slice(
                        first, min(last, first + self._rows(most[first:last] * share, limit))
                    )
                    read = bar.n
                    rows = logits[prompt[some.start] - begin : prompt[some.stop - 1] - begin + 1]
                    with self._autocast():
                        written = decode(
                            sweep, leaves[some], rows, asked[some], stop, counted=bar.update
                        )
                    counted += bar.n - read
                    share = sum(map(len, written)) / int(most[some].sum())
                    yield from zip(asked[some], written, strict=True)
                    first = some.stop
            except RuntimeError as error:
                if not should_reduce_batch_size(error) or limit == 1:
                    raise
                sweep.restore(before)
                bar.update(counted - bar.n)
                limit = self._halved(limit)
                continue
            sweep.hold(self._held_tokens)
        self.tokens_computed += sweep.computed

    def _rows(self, expected: np.ndarray, limit: int) -> int:
        """How many answers are written at a time: as many as fill four packs, and some at least.

        expected: how many tokens each takes, shape (n,).
        """
        full = int(np.searchsorted(np.cumsum(expected), 4 * limit, side="right"))
        return min(max(full, limit // 16, 1), self._most_reads)

    def _prefill(self, sweep: Sweep, leaves: np.ndarray, limit: int, bar: tqdm) -> torch.Tensor:
        """Compute everything up to the last of some prompts, and hold it. Returns the logits after
        each, shape (prompts, vocabulary)."""
        read = np.unique(leaves)
        parts = []
        while sweep.cursor <= read[-1]:
            start = sweep.cursor
            end = min(int(read[-1]) + 1, start + _room(sweep, limit))
            parts.append(
                sweep.advance(end, read[np.searchsorted(read, start) : np.searchsorted(read, end)])
            )
            bar.update(end - start)
        return torch.cat(parts)

    def _answers(self, requests: list[Instance]) -> list[Answer | None]:
        """What each request asks for; None where its settings are such that only `generate` of
        transformers knows what they do."""
        eos = self.tok_decode(self.eot_token_id, skip_special_tokens=False)
        settings: list[tuple[int, tuple[str, ...], Way] | None] = []
        ways: dict[str, Way | None] = {}
        for request in requests:
            kwargs = dict(normalize_gen_kwargs(request.args[1], self.max_gen_toks))
            most, until = (
                kwargs.pop("max_gen_toks"),
                handle_stop_sequences(kwargs.pop("until"), eos=eos),
            )
            name = repr(sorted(kwargs.items()))
            if name not in ways:
                ways[name] = self._way(kwargs)
            way = ways[name]
            settings.append(None if way is None or most < 1 else (most, tuple(until), way))
        chosen = [i for i, s in enumerate(settings) if s is not None]
        texts = [requests[i].args[0] for i in chosen]
        bos = getattr(self.tokenizer, "bos_token", None)
        encoded = self._encoder.each(texts, bos, truncated=bool(self.truncation)) if texts else {}
        prompts = dict(zip(chosen, map(encoded.__getitem__, texts), strict=True))
        seeds = _seeds(requests) if any(s is not None and s[2].sampled for s in settings) else []
        answers: list[Answer | None] = [None] * len(requests)
        max_length, too_long = self.max_length, 0
        for i in chosen:
            most, until, way = settings[i]
            room = max_length - most
            assert room > 0, (
                f"Invalid configuration: requested max tokens to generate ({most}) must be less than model's maximum sequence length "
                f"({max_length})."
            )
            too_long += len(prompts[i]) > 4 * room
            if prompts[i]:
                answers[i] = Answer(
                    prompts[i][-4 * room :], most, until, way, seeds[i] if way.sampled else None
                )
        if too_long:
            logger.warning(
                "%d prompts leave no room for their answers and lose tokens on the left.", too_long
            )
        return answers

    def _way(self, kwargs: dict[str, Any]) -> Way | None:
        """How `hf` takes a token with these settings; None if that is not reproduced here.

        It is asked, with a decoding method of our own: what the harness and `generate` fill in (a
        model's generation_config, defaults such as top_k=50) and the order of it all are theirs.
        """
        if not set(kwargs) <= SETTINGS:
            return None
        ways = []

        def read(
            model, input_ids, logits_processor, stopping_criteria, generation_config, **others
        ):
            ways.append(
                Way.of(logits_processor, stopping_criteria, generation_config, 2)
                if len(input_ids) == 1
                else None
            )
            return input_ids

        one = torch.full((1, 1), self.prefix_token_id, device=self.device)
        try:
            self._model_generate(
                one,
                max_length=2,
                stop=[],
                attention_mask=torch.ones_like(one),
                custom_generate=read,
                **kwargs,
            )
        except Exception as error:  # so does hf, if it is an error of the settings
            logger.info("hf-prefix: %s goes the way of hf: %s", kwargs, _first_line(error))
            return None
        if ways and ways[0] is not None:
            return ways[0]
        if (name := repr(kwargs)) not in self._told:
            self._told.add(name)
            said = "hf-prefix: with this model's generation_config.json, %s goes the way of hf, and every repeat is computed by itself."
            logger.warning(said, kwargs)
        return None


def _seeds(requests: Sequence[Instance]) -> list[int]:
    """The seed of each request, from a number of torch's generator, and from which document's and
    repeat's it is.

    The harness hands over the repeats of a request as the same object. Requests that do not say
    where they come from are counted.
    """
    drawn = int(torch.randint(2**62, ()))
    counted: dict[tuple[Any, ...], int] = {}
    seeds = []
    for request in requests:
        place = (request.task_name, request.doc_id, request.idx)
        repeat = counted[place] = counted.get(place, -1) + 1
        seeds.append(
            int.from_bytes(blake2b(repr((drawn, *place, repeat)).encode(), digest_size=8).digest())
        )
    return seeds


def _room(sweep: Sweep, limit: int) -> int:
    """New nodes in a pack of `limit` tokens, beside those that are computed again; some at least."""
    return max(limit - len(sweep.missing), limit // 4, 1)


def _bytes(size: str | int) -> int:
    """A size in bytes, from a number of bytes or a text such as 2GiB or 500 MB."""
    units = {
        "": 1,
        "B": 1,
        "KB": 10**3,
        "MB": 10**6,
        "GB": 10**9,
        "KIB": 2**10,
        "MIB": 2**20,
        "GIB": 2**30,
    }
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", str(size).strip(), re.IGNORECASE)
    if isinstance(size, bool) or match is None or match[2].upper() not in units:
        raise UsageError(
            f"prefix_memory={size} in --model_args: expected a size such as 2GiB, 500MB or 0"
        )
    return int(float(match[1]) * units[match[2].upper()])


def _free_memory(device: torch.device) -> int:
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return psutil.virtual_memory().available


def _check_names(kwargs: dict[str, Any]) -> None:
    """Refuse what this model type cannot do, and misspelt names of its own options."""
    if kwargs.get("tp_plan") is not None:
        raise UsageError("hf-prefix has no tp_plan; use parallelize=True, or --model hf")
    for name in kwargs:
        for guess in difflib.get_close_matches(
            name, ["prefix_memory", "pack_tokens"], n=1, cutoff=0.8
        ):
            raise UsageError(f"unknown option '{name}' in --model_args. Did you mean '{guess}'?")


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
