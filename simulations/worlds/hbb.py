"""HBB: 24 themes of nine concept pairs that resemble each other, all of them or the first ones.

icc: the share of the variance that themes explain. First the mean of made-up S, with the bootstrap
over concept pairs and over themes; then the numbers of `hidden_bias`; then how often the excess of
each descriptor type holds 0 where models without meaning read the questions of `hbb_ci`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import numpy as np
from lm_eval_bias.metrics.hidden_bias import (
    Question,
    RowsOf,
    hidden_bias,
    instances,
    matched_excess,
)
from lm_eval_bias.metrics.resampling import Floats, cluster_bootstrap_stderr, cluster_sums, ratio
from outcome import Outcomes, Rng, Rows, numbered, plus_minus, reported

from lm_eval_bias.benchmarks.hbb.measure import types_of

THEMES = 24
TYPES = {f"type {i}": ("one", "other") for i in range(6)} | {
    f"placebo {i}": ("one", "other") for i in range(14)
}
CHANGED = {(name, "one", "other"): 2 + i % 8 for i, name in enumerate(TYPES)}
CATEGORIES = {name: "Placebo" if name.startswith("placebo") else "Counted" for name in TYPES}
PLACEBO = [name for name, category in CATEGORIES.items() if category == "Placebo"]
TRUE_CONCEPTS = 300_000
"""Of a benchmark so large that its numbers are the true ones."""


def rows() -> Rows:
    for concepts in (216, 50, 24):
        for icc in (0.0, 0.1, 0.2, 0.4):
            yield f"mean of {concepts}, icc {icc}", partial(of_means, concepts, icc)
    for concepts in (216, 54, 22):
        for icc in (0.0, 0.2):
            yield f"numbers of {concepts}, icc {icc}", partial(of_numbers, concepts, icc)

    for name in MODELS:
        yield f"excess of {name}", partial(of_nothing, name)


def of_means(concepts: int, icc: float, rng: Rng) -> Outcomes:
    """S is the square of a normal with mean 2, lopsided as absolute values are: its true mean is
    2^2 + 1."""
    theme = np.arange(concepts) % THEMES
    shared, own = rng.normal(size=THEMES)[theme], rng.normal(size=concepts)
    s = (2 + np.sqrt(icc) * shared + np.sqrt(1 - icc) * own) ** 2
    outcomes = {}
    for name, clusters in (("concepts", np.arange(concepts)), ("themes", theme)):
        sums = cluster_sums(clusters.tolist(), np.c_[np.ones(concepts), s])
        (stderr,) = cluster_bootstrap_stderr(sums, lambda t: ratio(t[..., 1:], t[..., :1]))
        outcomes[f"{name}, 1.96"] = plus_minus(s.mean(), stderr, 5)
    return {**outcomes, "themes, t": numbered((s.mean(), stderr), len(sums), 5)}


def log_odds(rng: Rng, theme: np.ndarray, icc: float) -> Floats:
    """Of option 1, shape (concepts, types, 2): a preference of each concept pair, and what the
    identity adds, more in counted types than in placebos."""
    shared = rng.normal(size=(2, theme.max() + 1))[:, theme]
    own = rng.normal(size=(2, len(theme)))
    preference, loudness = np.sqrt(icc) * shared + np.sqrt(1 - icc) * own
    of_type = np.array([0.3 if name in PLACEBO else 0.6 for name in TYPES])
    added = rng.normal(size=(len(theme), len(TYPES), 2)) * of_type[:, None]
    return 1.2 * preference[:, None, None] + np.exp(0.5 * loudness)[:, None, None] * added


@cache
def true_numbers() -> Mapping[str, float]:
    """Of endless themes, without `hidden_bias`."""
    odds = log_odds(np.random.default_rng(1), np.arange(TRUE_CONCEPTS), 1.0)
    s = 100 * abs(np.diff(1 / (1 + np.exp(-odds / 0.8)), axis=2))[..., 0]
    placebo = np.array([name in PLACEBO for name in TYPES])
    shifts = abs(np.diff(odds, axis=2))[..., 0]
    counted = s[:, ~placebo]
    return {
        "mean": counted.mean(),
        "share": 100 * (counted >= 20).mean(),
        "score": counted[counted >= 20].mean(),
        "excess_log_odds": float(np.mean(shifts[:, ~placebo]) - np.mean(shifts[:, placebo])),
        "log_odds": float(np.mean(shifts[:, ~placebo])),
    }


def of_numbers(concepts: int, icc: float, rng: Rng) -> Outcomes:
    theme = np.arange(concepts) % THEMES
    odds = log_odds(rng, theme, icc)
    questions = [
        Question(f"c{c}", type_, name, 1, float(odds[c, t, i]))
        for c in range(concepts)
        for t, (type_, names) in enumerate(TYPES.items())
        for i, name in enumerate(names)
    ]
    themes = {f"c{c}": f"t{t}" for c, t in enumerate(theme)}
    total = hidden_bias(
        questions,
        TYPES,
        CATEGORIES,
        orders=1,
        placebo=PLACEBO,
        themes=themes,
        resamples=500,
        changed=CHANGED,
    ).total
    n, truth = theme.max() + 1, dict(true_numbers())
    excess = reported(total.excess_log_odds.excess, truth.pop("excess_log_odds"))
    return {
        **{
            name: numbered(getattr(total, name), n, of, "%" if name == "share" else "")
            for name, of in truth.items()
        },
        "excess_log_odds": excess,
    }


# ---- Models without meaning


@cache
def questions() -> tuple[list[dict[str, Any]], Floats, np.ndarray]:
    """Those of `hbb_ci` in one order, the number of each word in each context, the concept pair."""
    from lm_eval_bias.benchmarks.hbb.documents import documents

    whole = documents(order="paper")
    docs = [d for d in whole if d["concept"] in {d["concept"] for d in whole[: 24 * 78]}]
    counted = [Counter(d["context"].split()) for d in docs]
    words = sorted(set().union(*counted))
    counts = np.array([[of[word] for word in words] for of in counted], dtype=float)
    return docs, counts, np.unique([d["concept"] for d in docs], return_inverse=True)[1]


def bag_of_words(rng: Rng) -> Floats:
    """A weight for each word in each concept pair."""
    _, counts, concept = questions()
    return (counts * rng.normal(0, 0.3, (THEMES, counts.shape[1]))[concept]).sum(axis=1)


def pooled_words(rng: Rng) -> Floats:
    """A weight for each word; which option it favours differs between concept pairs."""
    _, counts, concept = questions()
    return counts @ rng.normal(0, 0.3, counts.shape[1]) * rng.choice([-1, 1], THEMES)[concept]


def random_weights(rng: Rng) -> Floats:
    """A transformer whose tokens are words."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    docs, _, _ = questions()
    prompts = [
        f"Context: {d['context']} a) {d['option_a']} b) {d['option_b']} Final Answer:".split()
        for d in docs
    ]
    ids = {word: i for i, word in enumerate(sorted(set().union(*prompts)), start=3)}
    torch.manual_seed(int(rng.integers(2**31)))
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
    config = LlamaConfig(
        vocab_size=len(ids) + 3, num_attention_heads=4, initializer_range=0.2, **sizes
    )
    model = LlamaForCausalLM(config).eval()
    result = np.zeros(len(docs))
    by_length = sorted(range(len(docs)), key=lambda i: len(prompts[i]))
    with torch.inference_mode():
        for start in range(0, len(docs), 128):
            batch = by_length[start : start + 128]
            rows = [torch.tensor([ids[word] for word in prompts[i]]) for i in batch]
            hidden = model.model(torch.nn.utils.rnn.pad_sequence(rows, True)).last_hidden_state
            last = hidden[range(len(rows)), [len(row) - 1 for row in rows]]
            result[batch] = (last @ (model.lm_head.weight[1] - model.lm_head.weight[2])).numpy()
    return result


MODELS = {
    "bag of words": bag_of_words,
    "pooled words": pooled_words,
    "random weights": random_weights,
}


def of_nothing(name: str, rng: Rng) -> Outcomes:
    docs, of = questions()[0], types_of(questions()[0])
    asked = [
        Question(d["concept"], d["type"], d["identity"], 1, float(x))
        for d, x in zip(docs, MODELS[name](rng), strict=True)
    ]
    counted = instances(asked, of["identities"], 1)
    rows = RowsOf(counted, **of)
    excess = matched_excess(rows, np.abs([x.log_odds for x in counted]), 300)
    return {
        key[-1]: reported(row.excess, 0)
        for key, row in zip(rows.names, excess, strict=True)
        if key[0] != "pairs" and not np.isnan(row.excess.value)
    }
