"""Shortages of memory: what counts as one, and that no number depends on where one happens."""

from __future__ import annotations

import random
import weakref
from functools import cache

import numpy as np
import pytest
import tiny
import tiny_masked
import torch
from classifiers import random_classifier
from lm_eval.api.instance import Instance
from torch.utils._python_dispatch import TorchDispatchMode

from lm_eval_bias.harness import compat
from lm_eval_bias.models import pack_size
from lm_eval_bias.models.masked import MaskedLM
from lm_eval_bias.models.nli import EntailmentLM
from lm_eval_bias.models.pack_size import PackSize, is_shortage
from lm_eval_bias.models.prefix import PrefixLM
from lm_eval_bias.usage import UsageError


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """The garbage collection takes a third of a second."""
    monkeypatch.setattr(pack_size, "clear_device_cache", lambda **_: None)


# ---- What a shortage is


@pytest.mark.parametrize(
    "message",
    [
        "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 8 GiB",
        "CUDA error: out of memory",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
        "HIP out of memory. Tried to allocate 2.00 GiB.",
        "MPS backend out of memory (MPS allocated: 9.06 GB, max allowed: 9.07 GB)",
        "XPU out of memory. Tried to allocate 512.00 MiB.",
        "Native API failed. Native API returns: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)",
        "Native API failed. Native API returns: 40 (UR_RESULT_ERROR_OUT_OF_RESOURCES)",
        "DefaultCPUAllocator: not enough memory: you tried to allocate 4096 bytes.",
    ],
)
def test_shortages_of_all_back_ends_are_known(message):
    assert is_shortage(RuntimeError(message))


@pytest.mark.parametrize("array", [torch.empty, np.empty])
def test_the_shortages_of_this_machine_are_known(array):
    with pytest.raises((RuntimeError, MemoryError)) as error:
        array(2**58)
    assert is_shortage(error.value)


def test_other_errors_are_raised():
    for error in (RuntimeError("CUDA error: device-side assert triggered"), ValueError("memory")):
        with pytest.raises(type(error), match=str(error)):
            PackSize(8, "tokens", "hf", "").fit(raising(error))


# ---- How much is computed at a time


def raising(error):
    def compute(size):
        raise error

    return compute


class Device:
    """Holds `capacity` at a time. tried: all sizes so far."""

    def __init__(self, capacity):
        self.capacity, self.tried = capacity, []

    def __call__(self, size):
        self.tried.append(size)
        if size > self.capacity:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return size


def test_packs_are_halved_and_grow_again_ten_times():
    packs, device = PackSize(8, "tokens", "hf", ""), Device(8)
    for _ in range(10):
        device.capacity = 2
        assert packs.fit(device) == 2
        device.capacity = 8
        assert [packs.fit(device) for _ in range(8)] == [2] * 3 + [4] * 4 + [8]


def test_a_size_that_never_fits_is_tried_ever_more_rarely():
    """After 4, 8 and 16 packs of those that fit; the next time were after 32."""
    packs, device = PackSize(8, "tokens", "hf", ""), Device(4)
    for _ in range(50):
        packs.fit(device)
    assert device.tried.count(8) == 4 and len(device.tried) == 54


def test_a_shortage_in_the_smallest_pack_is_tried_again_and_says_what_helps():
    device = Device(2)
    packs = PackSize(20, "rows", "hf-mlm", "a smaller model")
    says = r"--model hf-mlm: out of memory .*few rows at a time as possible \(3\); try a smaller mo"
    with pytest.raises(UsageError, match=says):
        packs.fit(device, left=12, smallest=3)
    assert device.tried == [12, 6, 3, 3]


def test_the_tensors_of_a_failed_attempt_are_gone_before_memory_is_cleared(monkeypatch):
    tensors, alive = [], []

    def compute(size):
        tensor = torch.zeros(size)
        tensors.append(weakref.ref(tensor))
        if size > 1:
            raise torch.OutOfMemoryError
        return size

    def clear(**_):
        alive.extend(ref() is not None for ref in tensors)

    monkeypatch.setattr(pack_size, "clear_device_cache", clear)
    assert PackSize(4, "rows", "hf", "").fit(compute) == 1
    assert alive == [False] * 3


# ---- At each operation of a run


class Shortage(TorchDispatchMode):
    """Fails one operation of torch, or all that make more than `capacity` numbers."""

    def __init__(self, at=None, capacity=None):
        super().__init__()
        self.at, self.capacity, self.operations = at, capacity, 0

    def __torch_dispatch__(self, operation, types, arguments=(), options=None):
        self.operations += 1
        if self.operations == self.at:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        made = operation(*arguments, **(options or {}))
        if self.capacity and isinstance(made, torch.Tensor) and made.numel() > self.capacity:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return made


def prefix(**options):
    model = tiny.model("Llama", num_hidden_layers=1)
    return PrefixLM(model, tokenizer=tiny.tokenizer(), max_length=128, **options)


def likelihoods():
    """With a cache held from pack to pack, and one that has to be copied."""
    lm = prefix(pack_tokens=40)
    head = tiny.words(6, random.Random(0))
    pairs = [(head, " " + end) for end in ("sun", "sunrise", "rain")] + [("sun", " in rain")]
    asked = [Instance("loglikelihood", {}, pair, i) for i, pair in enumerate(pairs)]
    return lambda: lm.loglikelihood(asked, disable_tqdm=True)


def answers():
    """Greedy and sampled ones, the settings of which are new to the model each time."""
    lm = prefix(pack_tokens=8)
    settings = {"until": [], "max_gen_toks": 3}
    drawn = {**settings, "do_sample": True, "temperature": 1.0, "repetition_penalty": 1.1}
    prompts = [("Say sun", settings), ("Say rain", drawn), ("Say rain", drawn), ("tree", settings)]
    asked = [Instance("generate_until", {}, prompt, i) for i, prompt in enumerate(prompts)]

    def run():
        lm._strategies.clear()
        torch.manual_seed(1)
        return lm.generate_until(asked, disable_tqdm=True)

    return run


def as_hf():
    lm = prefix(batch_size=2)
    beams = {"until": [], "max_gen_toks": 2, "num_beams": 2}
    writes = [Instance("generate_until", {}, (text, beams), 0) for text in ("sun", "a tree", "x")]
    rolls = [Instance("loglikelihood_rolling", {}, (text,), 0) for text in ("sun", "a tree", "x")]
    return lambda: [
        *lm.generate_until(writes, disable_tqdm=True),
        *lm.loglikelihood_rolling(rolls, disable_tqdm=True),
    ]


def masked():
    model, tokenizer = tiny_masked.model("BERT"), tiny_masked.tokenizer("wordpiece")
    lm = MaskedLM(model, tokenizer=tokenizer, batch_size=64)
    lm._most_tokens = 60
    pairs = [("", "The women say it."), ("He was", " kind."), ("", "She was kind to me.")]
    asked = [
        compat.request("loglikelihood", {}, pair, i, "task", i) for i, pair in enumerate(pairs)
    ]

    def run():
        trials = lm._head_takes_any_rows(), lm._takes_padding()
        return [*trials, *lm.loglikelihood(asked, disable_tqdm=True)]

    return run


def entailment():
    model, tokenizer = random_classifier("BERT")
    lm = EntailmentLM(model, tokenizer=tokenizer, batch_size=3)
    pairs = [("Sun." * n, "It is raining.") for n in (1, 2, 5, 7)]
    asked = [
        compat.request("loglikelihood", {"premise": a, "hypothesis": b}, ("", word), k, "task", i)
        for i, (a, b) in enumerate(pairs)
        for k, word in enumerate(("True", "Neither", "False"))
    ]
    return lambda: lm.loglikelihood(asked, disable_tqdm=True)


RUNS = (likelihoods, answers, as_hf, masked, entailment)
made = cache(lambda run: run())


def flat(results):
    return [part for one in results for part in (one if isinstance(one, tuple) else [one])]


def assert_same(found, expected):
    for one, other in zip(flat(found), flat(expected), strict=True):
        assert one == (tiny.near(other) if isinstance(other, float) else other)


@pytest.mark.parametrize("step", [29, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("run", RUNS)
def test_no_number_depends_on_the_operation_that_lacks_memory(run, step):
    expected = made(run)()
    with Shortage() as undisturbed:
        assert made(run)() == expected
    for at in range(1, undisturbed.operations + 1, step):
        with Shortage(at):
            assert_same(made(run)(), expected)


if __name__ == "__main__":
    import time

    for run in RUNS:
        r = made(run)
        r()
        t = time.time()
        with Shortage() as s:
            r()
        print(run.__name__, s.operations, time.time() - t)
