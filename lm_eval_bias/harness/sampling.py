"""Answers sampled several times to one prompt: a request for every model of the harness, whose
answers are independent of one another.

The harness sends one seed with every request to a server. A server that honours it gives ten times
the same answer to a prompt that is asked ten times, and a probability that is counted from them is
0 or 1. Here each answer to a prompt is asked with a seed of its own. The seeds of another prompt
are others: with the same random numbers, a model that says the same of two people with the same
probability gives the same answers about both, so that their difference is smaller than chance makes
it. Models that take no seed with a request draw on from where they are. Importing this module adds
the method to the harness's classes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from lm_eval_bias.harness import compat

REQUEST = "generate_samples"


def is_sampled(settings: Mapping[str, Any] | None) -> bool:
    """Whether a request with these `generation_kwargs` is answered by drawing, as the harness
    decides it."""
    return bool(settings and settings.get("do_sample", True) and settings.get("temperature", 0))


def generate_samples(self: Any, requests: list[Any]) -> list[str]:
    """`LM.generate_samples`: the answers of the model's own `generate_until`, each to a request of
    its own."""
    first = compat.server_seed(self)
    if first is None:
        return self.generate_until(requests)
    asked, times = [], Counter[tuple[Any, str]]()
    for r in requests:
        prompt, settings = r.args
        if is_sampled(settings):
            key = (prompt, repr(settings))
            # a seed that a person gave stays
            settings = {"seed": compat.Nth(first + times[key]), **settings}
            times[key] += 1
        asked.append(
            compat.request(
                "generate_until", r.doc, (prompt, settings), r.idx, r.task_name, r.doc_id, r.repeats
            )
        )
    with compat.seeds_by_prompt(self, seed_of):
        return self.generate_until(asked)


def seed_of(seed: int, prompt: Any) -> int:
    """The seed of a server's answer, from 0 to 2^31 - 1: the same for the same seed and prompt, and
    for any others another, but for one pair in two thousand million."""
    return int.from_bytes(blake2b(repr((seed, prompt)).encode(), digest_size=4).digest()) >> 1


compat.add_request_type(REQUEST, generate_samples)
