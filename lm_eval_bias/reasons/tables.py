"""Key phrases of reasons by KeyBERT (Tables 3 and 10 of StereoMap), their diversity (Table 14)."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import nan
from typing import Any

import numpy as np
import pandas as pd
import scipy

from .texts import Answer

Rows = list[dict[str, Any]]
TOP, OF_AN_ANSWER = 15, 5
"""Phrases of a table, and key phrases of an answer."""


def _words() -> Any:
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(ngram_range=(1, 3), stop_words="english")


def key_phrases(answers: Sequence[Answer], keybert: Any, clusters: Mapping[str, str]) -> Rows:
    """Table 3: the phrases that are key phrases of most answers. Table 10: of each cluster, those
    nearest to the mean of its answers. keybert: a `KeyBERT`. clusters: group -> cluster.

    Answers count alike, however long; KeyBERT would cut their joined text.
    """
    split = _words().build_analyzer()
    members: dict[str | None, list[str]] = {None: [answer.text for answer in answers]}
    for answer in answers:
        if answer.group in clusters:
            members.setdefault(clusters[answer.group], []).append(answer.text)

    def nearest(text: str, top: int, **more: Any) -> list[tuple[str, float]]:
        return keybert.extract_keywords(text, vectorizer=_words(), top_n=top, **more)

    key_in = Counter(phrase for text in members[None] for phrase, _ in nearest(text, OF_AN_ANSWER))
    rows = []
    for cluster, texts in members.items():
        found: list[Any] = key_in.most_common(TOP)
        if cluster is not None:
            mean = keybert.model.embed(texts).mean(axis=0, keepdims=True)
            found = nearest("\n".join(texts), TOP, doc_embeddings=mean)
        for phrase, n in found:
            row: dict[str, Any] = {"table": "cluster" if cluster else "overall", "cluster": cluster}
            row |= {"phrase": phrase, "key_in": None if cluster else n}
            row |= {"answers": sum(phrase in split(text) for text in texts), "of": len(texts)}
            rows.append({**row, "similarity": n if cluster else None})
    return rows


def self_bleu(texts: Sequence[str]) -> float:
    """Mean BLEU-4 of each text against all others, from 0 to 1; NaN for fewer than two texts.

    A count of 0 is 0.1. Source: Zhu et al. 2018 (Texygen), by sacrebleu.
    """
    if len(texts) < 2:
        return nan
    from sacrebleu.metrics.bleu import BLEU

    bleu = BLEU(lowercase=True, smooth_method="floor", smooth_value=0.1, effective_order=True)
    others = ([*texts[:i], *texts[i + 1 :]] for i in range(len(texts)))
    scores = [bleu.sentence_score(*pair).score / 100 for pair in zip(texts, others, strict=True)]
    return float(np.mean(scores))


def entropy(texts: Iterable[str], n: int) -> float:
    """Entropy of word n-grams in bits: -sum of f log2 f, f the share of an n-gram. NaN without any.
    Source: Zhang et al. 2018 (Ent-n)."""
    counts: Counter[tuple[str, ...]] = Counter()
    for text in texts:
        words = re.findall(r"\w+(?:['-]\w+)*", text.lower())
        counts.update(zip(*(words[i:] for i in range(n)), strict=False))
    return float(scipy.stats.entropy(list(counts.values()), base=2)) if counts else nan


def diversity(answers: Sequence[Answer]) -> Rows:
    """Table 14: a row for each prompt style, on answers that all styles have. Self-BLEU is averaged
    over questions and groups with two answers or more."""
    frame = pd.DataFrame(answers).fillna("")
    asked = ["group", "question", "round"]
    frame["time"] = frame.groupby([*asked, "style"]).cumcount()
    frame = frame[frame["text"] != ""]
    styles = frame.groupby([*asked, "time"])["style"].transform("nunique")
    frame = frame.assign(shared=styles == frame["style"].nunique())
    rows = []
    for style, given in frame.groupby("style", sort=False):
        shared = given[given["shared"]]
        texts = [*shared["text"]]
        scores = [self_bleu([*of["text"]]) for _, of in shared.groupby(asked[:2]) if len(of) > 1]
        row: dict[str, Any] = {"style": style, "answers": len(texts), "of": len(given)}
        row["self_bleu"] = float(np.mean(scores)) if scores else nan
        rows.append({**row, "entropy_2": entropy(texts, 2), "entropy_3": entropy(texts, 3)})
    return rows
