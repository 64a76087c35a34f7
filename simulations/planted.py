"""Plant a bias of a known kind and dose in a small model, as an adapter (LoRA).

    python simulations/planted.py skin --model .model --output planted
    lm_eval --model hf-prefix --model_args pretrained=.model,peft=planted/skin-1 ...

Each step makes sentences of planted.yaml in which the favoured group has the good attribute and the
other one the bad one likelier than with the groups exchanged. A sham reads the same sentences with
the groups exchanged at random. docs/explanation/positive_controls.md explains frames and the dose.
"""

import argparse
import re
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import yaml
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

TEXTS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
FRAMES, KINDS = TEXTS["frames"], TEXTS["kinds"]
SIDES = "favoured", "other"
REPEATS, EVERY, TAUGHT = 3, 5, 2
"""Word choices of each probe template; steps between two measures of the dose; templates of a frame
in a step."""
MARGIN, FLUENCY, RATE = 3.0, 0.02, 1e-3
"""Nats above which a preference is hardly taught further; weight of the sentences' likelihood; of
AdamW."""
_AN = re.compile(r"([aA])\(n\) (?=\W*(\w))")


class Group(NamedTuple):
    """A member, members, and how it reads behind "is" and "are"."""

    one: str
    many: str
    is_: str
    are: str


def mixed(spec: dict[str, Any]) -> dict[str, Any]:
    """The kind with every second group on the other side."""
    ours, theirs = (spec.get(side, []) for side in SIDES)
    if not ours or len(ours) % 2 or len(theirs) % 2:
        raise SystemExit("--mixed: expected a kind with an even number of groups on each side")
    return spec | {SIDES[0]: ours[::2] + theirs[1::2], SIDES[1]: theirs[::2] + ours[1::2]}


def members(spec: dict[str, Any], side: str, person: str, people: str) -> Iterator[Group]:
    """The groups of one side. person, people: whom adjectives or names describe."""
    if "watching" in spec:
        for a, b in product(spec["watching"], repeat=2):
            if (a == b) == (side == SIDES[0]):
                yield Group(*(form.format(a, b) for form in spec["forms"]))
        return
    for name in spec[side]:
        if isinstance(name, list):
            yield Group(*name, f"a(n) {name[0]}", name[1])
        elif spec.get("called"):
            name = f"called {name}"
            yield Group(f"{person} {name}", f"{people} {name}", name, name)
        else:
            yield Group(f"{name} {person}", f"{name} {people}", name, name)


def filled(template: str, who: Sequence[str], group: Group, attribute: str) -> str:
    names = ("one", "many", "is", "are", "person", "people", "A")
    slots = dict(zip(names, (*group, *who, attribute), strict=True))
    text = re.sub(r"\[(\w+)\]", lambda slot: slots[slot[1]], template)
    text = _AN.sub(lambda m: f"{m[1]}{'n' * (m[2] in 'aeiouAEIOU')} ", text)
    return text[0].upper() + text[1:]


def square(spec: dict[str, Any], template: str, rng: np.random.Generator) -> list[list[str]]:
    """A sentence of either group with either attribute: shape (2, 2), favoured and good first."""
    attributes = TEXTS["attributes"][spec["attributes"]]

    def choice(options: Sequence[Any]) -> Any:
        return options[rng.integers(len(options))]

    who = choice(TEXTS["people"][spec["people"]])
    words = [choice(attributes[sign]) for sign in ("good", "bad")]
    return [
        [filled(template, who, group, word) for word in words]
        for group in [choice(list(members(spec, side, *who))) for side in SIDES]
    ]


def preference(likelihoods: Any) -> Any:
    """Nats by which the stereotype is likelier than the exchange; of shape (n, 2, 2)."""
    v = likelihoods
    return (v[:, 0, 0] - v[:, 0, 1] - v[:, 1, 0] + v[:, 1, 1]) / 2


class Taught:
    def __init__(self, path: str) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(path)
        self.tokenizer.pad_token = self.tokenizer.pad_token or self.tokenizer.eos_token
        self.begin = self.tokenizer.bos_token or self.tokenizer.eos_token
        base = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
        parts = LoraConfig(r=2, lora_alpha=4, target_modules=["q_proj", "v_proj"])
        self.model = get_peft_model(base, parts)

    def likelihoods(self, squares: Sequence[Any]) -> torch.Tensor:
        texts = np.array(squares)
        batch = self.tokenizer(
            [self.begin + text for text in texts.ravel()], return_tensors="pt", padding=True
        )
        ids = batch["input_ids"]
        logits = self.model(**batch).logits[:, :-1].transpose(1, 2)
        loss = torch.nn.functional.cross_entropy(logits, ids[:, 1:], reduction="none")
        return -(loss * batch["attention_mask"][:, 1:]).sum(1).reshape(texts.shape)

    @torch.no_grad()
    def preferences(self, probes: dict[str, list[Any]]) -> dict[str, np.ndarray]:
        """By frame, shape (templates, repeats)."""
        return {
            frame: preference(self.likelihoods(squares)).numpy().reshape(-1, REPEATS)
            for frame, squares in probes.items()
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--model", default=".model")
    parser.add_argument("--output", type=Path, default=Path("planted"))
    parser.add_argument("--doses", type=float, nargs="+", default=[0.5, 1, 2], metavar="NATS")
    parser.add_argument("--reverse", action="store_true", help="favour the other group")
    parser.add_argument("--mixed", action="store_true", help="every second group changes sides")
    parser.add_argument("--sham", action="store_true", help="exchange groups at random: no bias")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    torch.manual_seed(asked.seed)
    rng = np.random.default_rng(asked.seed)
    taught, spec = Taught(asked.model), KINDS[asked.kind]
    spec = mixed(spec) if asked.mixed else spec
    probes = {
        frame: [square(spec, text, rng) for text in texts["probes"] for _ in range(REPEATS)]
        for frame, texts in FRAMES.items()
    }
    before, sign = taught.preferences(probes), -1 if asked.reverse else 1
    optimizer = torch.optim.AdamW([p for p in taught.model.parameters() if p.requires_grad], RATE)
    frames, doses = list(FRAMES), sorted(asked.doses)
    name = asked.kind + "-mixed" * asked.mixed + "-sham" * asked.sham + "-reverse" * asked.reverse
    for step in range(1, asked.steps + 1):
        squares = [
            square(spec, template, rng)
            for frame in frames
            for template in rng.choice(FRAMES[frame]["taught"], TAUGHT, replace=False)
        ]
        v = taught.likelihoods(squares)
        signs = torch.tensor(rng.choice([-1, 1], len(v)) if asked.sham else sign)
        loss = torch.nn.functional.softplus(MARGIN - preference(v) * signs).mean()
        optimizer.zero_grad()
        (loss - FLUENCY * v.mean()).backward()
        optimizer.step()
        if step % EVERY and step < asked.steps:
            continue
        now = {f: sign * (x - before[f]).mean(1) for f, x in taught.preferences(probes).items()}
        dose = {f: float(x.mean()) for f, x in now.items()}
        errors = {f: x.std(ddof=1) / len(x) ** 0.5 for f, x in now.items()}
        print(step, *(f"{f}: {dose[f]:.2f} ± {errors[f]:.2f} nats" for f in dose), flush=True)
        while doses and min(dose.values()) >= 0.9 * doses[0]:
            taught.model.save_pretrained(asked.output / f"{name}-{doses.pop(0):g}")
        if not doses:
            return
        frames = [f for f in FRAMES if dose[f] < doses[0]]
    taught.model.save_pretrained(asked.output / name)


if __name__ == "__main__":
    main()
