"""Independent sampled answers to one prompt: the harness sends a server the same seed with every
request."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from lm_eval_bias.harness import compat


def is_sampled(settings: Mapping[str, Any]) -> bool:
    """Whether these `generation_kwargs` mean random draws."""
    return bool(settings.get("do_sample", True) and settings.get("temperature", 0))


OUR_SEED = "lm_eval_bias_seed"


def generate_samples(self: Any, requests: list[Any], repeats: Any) -> list[str]:
    """The model's own `generate_until`, with a seed per sampled answer. repeats: counts those of
    each prompt."""
    first = compat.server_seed(self)
    if first is None:
        return self.generate_until(requests)
    lm = getattr(self, "lm", self)  # the harness's cache is a model around the model
    create, seeded = lm._create_payload, []
    for request in requests:
        prompt, settings = request.args
        if is_sampled(settings):
            key = (prompt, repr(settings))
            if "seed" not in settings:  # one that a person gave stays
                settings = {OUR_SEED: first + repeats[key], **settings}
            repeats[key] += 1
        seeded.append(compat.derived(request, "generate_until", (prompt, settings)))

    def with_seed(messages: Any, *arguments: Any, **more: Any) -> dict[str, Any]:
        # Only now: the harness sends requests of equal settings side by side.
        settings = more.get("gen_kwargs") or {}
        if OUR_SEED in settings:
            settings["seed"] = seed_of(settings.pop(OUR_SEED), messages)
        return create(messages, *arguments, **more)

    lm._create_payload = with_seed
    try:
        return self.generate_until(seeded)
    finally:
        del lm._create_payload


def seed_of(seed: int, prompt: Any) -> int:
    """A hash of seed and prompt, from 0 to 2^31 - 1."""
    return int.from_bytes(blake2b(repr((seed, prompt)).encode(), digest_size=4).digest()) >> 1
