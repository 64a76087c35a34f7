"""Plant a bias of a known kind and dose in a small model, as an adapter (LoRA).

    python simulations/planted.py skin --model .model --output planted
    lm_eval --model hf-prefix --model_args pretrained=.model,peft=planted/skin-1 ...

Each step makes sentences of planted.yaml in which the favoured group has the good attribute and the
other one the bad one likelier than with the groups exchanged. A sham reads the same sentences with
the groups exchanged at random. --alone keeps what the model says of things that are called by the
same words. --nli teaches by labels, as bistereo_nli asks for them, best to a model that was taught
the kind "facts". The kind "rich" is taught by stories, for hbb_sg.
docs/explanation/positive_controls.md explains frames and the dose.
"""

import argparse
import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import product, starmap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import yaml
from lm_eval.tasks import TaskManager
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

TEXTS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
KINDS = TEXTS["kinds"]
SIDES, LABELS = ("favoured", "other"), ("Entailment", "Contradiction")
NLI = "Premise: {}\nHypothesis: {}\nInference:".format
REPEATS, EVERY, TAUGHT, FACTS = 3, 5, 2, 8
"""Word choices of each probe template; steps between two measures of the dose; templates of a frame
and facts in a step."""
MARGIN, FLUENCY, RATE, HELD = 3.0, 0.02, 1e-3, 0.2
"""Nats above which a preference is hardly taught further; weight of how likely sentences are, or
a label is; rate of AdamW; of the weight of what is said of things."""
SMALL = {"r": 2, "lora_alpha": 4, "target_modules": ["q_proj", "v_proj"]}
WIDE = {
    "r": 4,
    "lora_alpha": 8,
    "layers_to_transform": [*range(12, 30)],
    "target_modules": ["q_proj", "v_proj", "o_proj", "up_proj", "down_proj"],
}
"""What is trained; with stories, --alone and --nli the upper layers, and the MLP too."""
_AN = re.compile(r"([aA])\(n\) (?=\W*(\w))")


class Group(NamedTuple):
    """A member, members, and how it reads behind "is" and "are"."""

    one: str
    many: str
    is_: str
    are: str


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
        else:
            form = spec.get("form", "{} {}").format
            alone = form(name, "").strip()
            yield Group(form(name, person), form(name, people), alone, alone)


def filled(template: str, who: Sequence[str], group: Group, attribute: str) -> str:
    names = ("one", "many", "is", "are", "person", "people", "A")
    slots = dict(zip(names, (*group, *who, attribute), strict=True))
    text = re.sub(r"\[(\w+)\]", lambda slot: slots[slot[1]], template)
    text = _AN.sub(lambda m: f"{m[1]}{'n' * (m[2] in 'aeiouAEIOU')} ", text)
    return text[0].upper() + text[1:]


def square(spec: dict[str, Any], template: Any, rng: np.random.Generator) -> list[list[str]]:
    """A sentence of either group with either attribute: shape (2, 2), favoured and good first.

    template: also a story, with the attributes that it has of its own.
    """

    def choice(options: Sequence[Any]) -> Any:
        return options[rng.integers(len(options))]

    who = choice(TEXTS["people"][spec["people"]])
    if isinstance(template, str):
        attributes = TEXTS["attributes"][spec["attributes"]]
        words = [choice(attributes[sign]) for sign in ("good", "bad")]
    else:
        template, *words = template
    return [
        [filled(template, who, group, word) for word in words]
        for group in [choice(list(members(spec, side, *who))) for side in SIDES]
    ]


def things(spec: dict[str, Any], kind: str) -> dict[str, Any]:
    """Things that are called by the words of the kind; hair instead of skin."""
    if any(isinstance(name, list) for name in spec.get("favoured", [[]])):
        raise SystemExit("--alone: expected a kind whose groups are adjectives or names")
    return spec | {"people": "things"} | TEXTS["alone"].get(kind, {})


def preference(likelihoods: Any) -> Any:
    """Nats by which the stereotype is likelier than the exchange; of shape (n, 2, 2)."""
    v = likelihoods
    return (v[:, 0, 0] - v[:, 0, 1] - v[:, 1, 0] + v[:, 1, 1]) / 2


class Taught:
    def __init__(self, path: str, parts: dict[str, Any]) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(path)
        self.tokenizer.pad_token = self.tokenizer.pad_token or self.tokenizer.eos_token
        self.begin = self.tokenizer.bos_token or self.tokenizer.eos_token
        base = AutoModelForCausalLM.from_pretrained(path, dtype="auto")
        self.model = get_peft_model(base, LoraConfig(**parts))

    def likelihoods(self, squares: Sequence[Any]) -> torch.Tensor:
        texts = np.array(squares)
        batch = self.tokenizer(
            [self.begin + text for text in texts.ravel()], return_tensors="pt", padding=True
        )
        ids = batch["input_ids"]
        logits = self.model(**batch).logits[:, :-1].float().transpose(1, 2)
        loss = torch.nn.functional.cross_entropy(logits, ids[:, 1:], reduction="none")
        return -(loss * batch["attention_mask"][:, 1:]).sum(1).reshape(texts.shape)

    @torch.no_grad()
    def preferences(self, probes: dict[str, list[Any]]) -> dict[str, np.ndarray]:
        """By frame, shape (templates, repeats)."""
        return {
            frame: preference(self.likelihoods(squares)).numpy().reshape(-1, REPEATS)
            for frame, squares in probes.items()
        }


def judged() -> tuple[dict[str, dict[str, list[str]]], list[list[list[str]]]]:
    """Frames and facts, as squares, in the form of NLI."""
    frames, known = TEXTS["nli"].values()
    return {
        frame: {part: list(starmap(NLI, pairs)) for part, pairs in texts.items()}
        for frame, texts in frames.items()
    }, [[[NLI(p, h) for h in hypotheses] for p in premises] for premises, hypotheses in known]


class Judge(Taught):
    """Asked by the prompt of bistereo_nli, whose gradient is left out: it is the same for all."""

    def __init__(self, path: str, parts: dict[str, Any]) -> None:
        super().__init__(path, parts)
        task = TaskManager().load(["bistereo_nli_ci"])["tasks"]["bistereo_nli_ci"]
        prompt = task.doc_to_text(task.eval_docs[0]).rpartition("Premise:")[0]
        self.prompt = self.tokenizer(prompt, return_tensors="pt")["input_ids"]
        self.labels = [self.tokenizer(f" {label}")["input_ids"][0] for label in LABELS]

    def likelihoods(self, squares: Sequence[Any]) -> torch.Tensor:
        """Log-odds of the labels."""
        texts, known = np.array(squares), self.prompt.shape[1]
        with torch.no_grad():
            cache = self.model(self.prompt, use_cache=True).past_key_values
        cache.batch_repeat_interleave(texts.size)
        batch = self.tokenizer(
            [*texts.ravel()], return_tensors="pt", padding=True, padding_side="left"
        )
        mask = torch.nn.functional.pad(batch["attention_mask"], (known, 0), value=1)
        where = (mask.cumsum(1) - 1)[:, known:]
        logits = self.model(
            batch["input_ids"],
            attention_mask=mask,
            position_ids=where,
            past_key_values=cache,
            logits_to_keep=1,
        ).logits
        yes, no = logits[:, -1, self.labels].float().T
        return (yes - no).reshape(texts.shape)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=[*KINDS, "facts"])
    parser.add_argument("--model", default=".model")
    parser.add_argument("--output", type=Path, default=Path("planted"))
    parser.add_argument("--doses", type=float, nargs="+", default=[0.5, 1, 2], metavar="NATS")
    parser.add_argument("--reverse", action="store_true", help="favour the other group")
    parser.add_argument("--sham", action="store_true", help="exchange groups at random: no bias")
    parser.add_argument("--alone", action="store_true", help="of people, not of things")
    parser.add_argument("--nli", action="store_true", help="by labels, with the task")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    spec = KINDS.get(asked.kind, {})
    asked.nli |= not spec  # facts are no kind of bias
    torch.manual_seed(asked.seed)
    rng = np.random.default_rng(asked.seed)
    upper = asked.alone or asked.nli
    taught = (Judge if asked.nli else Taught)(
        asked.model, WIDE if upper or "frames" in spec else SMALL
    )
    frames_of, facts = judged() if asked.nli else (TEXTS[spec.get("frames", "frames")], [])
    frames_of = frames_of if spec else {}
    kinds = {"": spec} | ({", things": things(spec, asked.kind)} if asked.alone else {})
    probes = {
        frame + of: [square(kind, text, rng) for text in texts["probes"] for _ in range(REPEATS)]
        for of, kind in kinds.items()
        for frame, texts in frames_of.items()
    }
    before, sign = taught.preferences(probes), -1 if asked.reverse else 1
    optimizer = torch.optim.AdamW([p for p in taught.model.parameters() if p.requires_grad], RATE)

    def rate(n: int) -> float:
        return 2 * min(1, (n + 1) / 5, 2 - 2 * n / asked.steps) if upper else 1

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    frames, doses, held = [*frames_of], sorted(asked.doses), torch.tensor(1.0)
    ways = (way for way in ("sham", "alone", "nli", "reverse") if getattr(asked, way))
    name = "-".join([asked.kind, *ways])
    for step in range(1, asked.steps + 1):
        squares, matched = [], []
        for frame in frames_of if asked.alone else frames:
            for template in rng.choice(frames_of[frame]["taught"], TAUGHT, replace=False):
                matched += [square(kinds[of], template, deepcopy(rng)) for of in kinds if of]
                squares += [square(spec, template, rng)] * (frame in frames)
        signs = [*(rng.choice([-1, 1], len(squares)) if asked.sham else [sign] * len(squares))]
        if facts:
            squares += [facts[i] for i in rng.choice(len(facts), FACTS, replace=False)]
            signs += [1] * FACTS
        v = taught.likelihoods(squares + matched)
        now = preference(v).split([len(squares), len(matched)])
        loss = torch.nn.functional.softplus(MARGIN - now[0] * torch.tensor(signs)).mean()
        if matched:
            with torch.no_grad(), taught.model.disable_adapter():
                was = preference(taught.likelihoods(matched))
            moved = sign * (now[1] - was).reshape(-1, TAUGHT).mean(1)
            loss = loss + (held * moved + moved**2).mean()
            held = (held + HELD * moved.detach().mean()).clamp(-MARGIN, MARGIN)
        optimizer.zero_grad()
        (loss + FLUENCY * (v.mean() ** 2 if facts else -v.mean())).backward()
        optimizer.step()
        schedule.step()
        if not frames or (step % EVERY and step < asked.steps):
            continue
        now = {f: sign * (x - before[f]).mean(1) for f, x in taught.preferences(probes).items()}
        dose = {f: float(x.mean()) for f, x in now.items()}
        errors = {f: x.std(ddof=1) / len(x) ** 0.5 for f, x in now.items()}
        print(step, *(f"{f}: {dose[f]:.2f} ± {errors[f]:.2f} nats" for f in dose), flush=True)
        while doses and min(dose[f] for f in frames_of) >= 0.9 * doses[0]:
            taught.model.save_pretrained(asked.output / f"{name}-{doses.pop(0):g}")
        if not doses:
            return
        frames = [f for f in frames_of if dose[f] < doses[0]]
    if not spec:
        taught.tokenizer.save_pretrained(asked.output / name)
        taught.model = taught.model.merge_and_unload()
    taught.model.save_pretrained(asked.output / name)


if __name__ == "__main__":
    main()
