"""What all model types have in common: shortages of memory, and the harness's cache."""

import sys
import weakref
from contextlib import contextmanager
from functools import cache
from itertools import groupby

import classifiers
import numpy as np
import peft
import pytest
import tiny
import tiny_masked
import torch
from lm_eval.api.model import CacheHook, CachingLM
from lm_eval.models.huggingface import HFLM
from tiny import asked, assert_same
from torch.utils._python_dispatch import TorchDispatchMode

from lm_eval_bias.models import pack_size
from lm_eval_bias.models.pack_size import PackSize, is_shortage
from lm_eval_bias.models.prefix import PrefixLM
from lm_eval_bias.models.tree_attention import TreeModel
from tests.cut_off import full_cache
from tests.mistakes import refused


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """The garbage collection takes a third of a second."""
    monkeypatch.setattr(pack_size, "clear_device_cache", lambda **_: None)


# ---- What a shortage is


@pytest.mark.parametrize(
    "message",
    [
        "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 8 GiB",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
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


def test_other_errors_are_none():
    assert not is_shortage(RuntimeError("CUDA error: device-side assert triggered"))
    assert not is_shortage(ValueError("not enough memory"))


# ---- How much is computed at a time


class Device:
    """Holds `capacity` at a time. tried: all sizes so far. stop: the time at which it is told to
    end."""

    def __init__(self, capacity):
        self.capacity, self.tried, self.stop = capacity, [], sys.maxsize

    def __call__(self, size):
        self.tried.append(size)
        if len(self.tried) == self.stop:
            raise KeyboardInterrupt
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
    with refused(says):
        packs.fit(device, left=12, smallest=3)
    assert device.tried == [12, 6, 3, 3]


def test_the_tensors_of_a_failed_attempt_are_gone_before_memory_is_cleared(monkeypatch):
    tensors, alive = [], []

    def compute(size):
        tensor = torch.zeros(size)
        tensors.append(weakref.ref(tensor))
        if size > 1:
            raise torch.OutOfMemoryError

    monkeypatch.setattr(
        pack_size, "clear_device_cache", lambda **_: alive.extend(ref() for ref in tensors)
    )
    PackSize(4, "rows", "hf", "").fit(compute)
    assert alive == [None] * 3


# ---- At each operation of a run


class Shortage(TorchDispatchMode):
    """Fails one operation of torch."""

    def __init__(self, at=None):
        super().__init__()
        self.at, self.operations = at, 0

    def __torch_dispatch__(self, operation, types, arguments=(), options=None):
        # reading a number takes no memory
        self.operations += operation is not torch.ops.aten._local_scalar_dense.default
        if self.operations == self.at:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return operation(*arguments, **(options or {}))


def prefix():
    """Likelihoods with a cache held from pack to pack, answers of all kinds, and what hf does."""
    settings = {"until": [], "max_gen_toks": 2}
    drawn = {**settings, "do_sample": True, "temperature": 1.0, "repetition_penalty": 1.1}
    beams = {**settings, "num_beams": 2}
    model = tiny.model("Llama", num_hidden_layers=1)
    lm = tiny.prefix(model, pack_tokens=24, batch_size=2)
    pairs = [("The sun and the moon", end) for end in (" rise", " rises", " go")]
    prompts = [("Say sun", settings), *[("Say rain", drawn)] * 2, ("a", beams), ("tree", beams)]
    return lm, [
        *asked("loglikelihood", *pairs, ("sun", " in rain")),
        *asked("generate_until", *prompts),
        *asked("loglikelihood_rolling", ("sun",), ("tree",)),
    ]


def masked():
    lm = tiny_masked.masked(batch_size=64)
    lm.AT_A_TIME = (60, 60)
    pairs = ("", "The women say it."), ("He was", " kind."), ("", "She was kind to me.")
    return lm, asked("loglikelihood", *pairs)


def entailment():
    requests, rain = [], "It rains."
    for one, two in (("Sun.", rain), (rain, "Sun."), ("Sun." * 7, rain), (rain, "Sun." * 7)):
        doc = {"premise": one, "hypothesis": two}
        labels = [("", label) for label in ("entailment", "neutral", "contradiction")]
        requests += asked("loglikelihood", *labels, doc=doc)
    return classifiers.entailment(batch_size=3), requests


loaded = cache(lambda kind: kind())


def run(kind, cached=lambda lm: lm):
    """All that a model answers, with the trials of how it can be asked."""
    lm, requests = loaded(kind)
    lm.set_cache_hook(CacheHook(None))  # that of another test has its answers
    torch.manual_seed(1)
    found = []
    if kind is prefix:
        lm._strategies.clear()
    for name, group in groupby(requests, lambda request: request.request_type):
        found += getattr(cached(lm), name)(list(group))
    return found


@contextmanager
def reading(lm):
    """What runs a model's forward passes."""
    device = Device(sys.maxsize)
    with lm.model.get_input_embeddings().register_forward_pre_hook(
        lambda module, arguments: device(arguments[0].numel()) and None
    ):
        yield device


KINDS = pytest.mark.parametrize("kind", [prefix, masked, entailment])


@pytest.mark.parametrize("step", tiny.slow_but([397], [397, 97]))
@KINDS
def test_no_number_depends_on_the_operation_that_lacks_memory(kind, step):
    expected = run(kind)
    with Shortage() as undisturbed:
        assert run(kind) == expected
    for at in range(1, undisturbed.operations + 1, step):
        with Shortage(at):
            assert_same(run(kind), expected)


@KINDS
def test_no_number_depends_on_how_little_a_device_holds(kind):
    with reading(loaded(kind)[0]) as device:
        expected = run(kind)
        device.capacity = max(device.tried) - 1
        assert_same(run(kind), expected)


def test_a_shortage_in_the_trial_at_the_start_does_not_make_a_model_run_as_hf(monkeypatch):
    forward, shortages = TreeModel.forward, [torch.OutOfMemoryError()]

    def passing(*arguments):
        if shortages:
            raise shortages.pop()
        return forward(*arguments)

    monkeypatch.setattr(TreeModel, "forward", passing)
    assert prefix()[0].runs_as_hf is None and not shortages
    shortages += [torch.OutOfMemoryError()] * 2
    with refused("try dtype=bfloat16 in --model_args, a smaller max_len"):
        prefix()


# ---- The harness's cache


@pytest.mark.parametrize("kind, stop", [(prefix, 3), (masked, 4), (entailment, 2)])
def test_a_run_that_was_stopped_goes_on_where_it_was(kind, stop, tmp_path):
    def cached(lm):
        return CachingLM(lm, str(tmp_path / "cache.db"))

    with reading(loaded(kind)[0]) as device:
        expected, whole = run(kind), sum(device.tried)
        device.tried, device.stop = [], stop
        with pytest.raises(KeyboardInterrupt):
            run(kind, cached)
        device.tried = [0] * stop
        assert_same(run(kind, cached), expected)
    assert 0 < sum(device.tried) < whole


@pytest.mark.parametrize("rows", [0, 2])
@KINDS
def test_a_cache_that_is_full_costs_no_answer(kind, rows, tmp_path, caplog):
    expected, count = run(kind), full_cache(tmp_path / "full.db", rows)
    assert_same(run(kind, lambda lm: CachingLM(lm, str(tmp_path / "full.db"))), expected)
    assert count() == rows and "(database or disk is full)" in caplog.text


def test_a_cache_holds_answers_of_one_model_as_it_is(tmp_path, caplog):
    """First hf's; then those of an adapter, other weights and settings; the last model twice."""
    base, half, tuned, penal, lora = (tiny.model("Llama", num_hidden_layers=1) for _ in range(5))
    half.to(torch.float16)
    tuned.lm_head.weight.data[5] *= 2
    penal.generation_config.repetition_penalty = 1.3
    lora = peft.get_peft_model(lora, peft.LoraConfig(r=2, target_modules=["q_proj"])).eval()
    options, pairs = {"tokenizer": tiny.tokenizer()}, asked("loglikelihood", ("a", "b"))
    lms = [HFLM(base, **options), PrefixLM(base, max_length=99, **options)]
    lms += [PrefixLM(model, **options) for model in (lora, half, tuned, penal, base, base)]
    new = []
    for lm in lms * 2:
        with reading(lm) as device:
            CachingLM(lm, str(tmp_path / "cache.db")).loglikelihood(pairs)
        new.append(bool(device.tried))
    assert new == [True] * 7 + [False] * 9
    assert caplog.text.count("requests are computed anew") == 6
