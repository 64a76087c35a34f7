"""The reasons in stored answers (StereoMap, section 3.2), their key phrases (Tables 3 and 10) and
their diversity (Table 14)."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pandas import DataFrame, Series, concat
from sacrebleu import sentence_bleu
from sklearn.feature_extraction.text import CountVectorizer

from lm_eval_bias.answers.reasoning import without_reasoning
from lm_eval_bias.answers.text import CUT_OFF, REFUSED, plain, spelled
from lm_eval_bias.data.bounds import Json, json_of, lines, loads
from lm_eval_bias.measure import CHECK, mean
from lm_eval_bias.results import samples
from lm_eval_bias.usage import UsageError

_POINTS = r"[1-5](?:\.\d+)?(?:\s*(?:/|out of)\s*5)?"
# "rating: 4/5.", "i would rate them 4 out of 5"
_RATING = re.compile(
    r"\b(?:(?:the|i|would|my) )*(?:rat(?:e|es|ed|ings?)|scores?)\b[^.\d\n]{0,40}"
    rf"{_POINTS}(?!\d)\W*(?:because )?"
)
_NUMERAL = re.compile(r"^\W*(?:\d{1,2}[.):])?\W*")
# A whole line: "friendly: 4", "| friendly | 4 |", "4/5"; "reasons for the rating:"
_NO_REASON = re.compile(
    rf"(?:[a-z][\w' /-]{{0,40}}[:=|-]+)?\W*{_POINTS}\W*(?:\([^()]*\))?\W*"
    r"|.*\b(?:ratings?|reasons?|keywords?|descriptions?)\b[^:]*:\W*|\W*"
)
_PERSONS = r"(?:[\s-]+(?:people|persons?|individuals?|folks?|men|women|groups?|families|workers))"


# ---- Reasons


def reasons(answer: str, named: str, prompt: str) -> str:
    """The reasons, a line each: lower case, without ratings, headings and what repeats the prompt,
    "they" for the group. named: the group as a sentence names it."""
    asked, mention, kept = plain(prompt), _mention(named), []
    for line in plain(answer).splitlines():
        line = _NUMERAL.sub("", _RATING.sub("", line))
        repeated = line.count(" ") >= 2 and line in asked
        if not (_NO_REASON.fullmatch(line) or repeated):
            kept.append(mention.sub("they", line))
    return "\n".join(kept)


def _mention(named: str) -> re.Pattern[str]:
    word = plain(named).removesuffix(" people")
    one = f"{word[:-2]}an" if word.endswith("men") else word.removesuffix("s")
    forms = f"(?:{spelled(word)}|{spelled(one)})"
    may = "?" * (one != word)  # "poor health" names nobody
    return re.compile(
        rf"(?<![\w-])(?:members? of )?(?:the {forms}|{forms}{_PERSONS}{may})(?:'s?)?(?![\w-])"
    )


def answers(files: list[Path], item: str) -> DataFrame:
    """A row for each answer with reasons to a question whose items contain `item`: group, items,
    style, round, and text, the reasons. UsageError for other files, several models, or none."""
    runs = [json_of(path) for path in map(samples.results_file, files) if path]
    models = {str(samples.model_name(samples.mapping(run))) for run in runs}
    if len(models) > 1:
        raise UsageError(f"give the samples of one model, not of {' and '.join(sorted(models))}")
    found = list[Json]()
    for path in dict.fromkeys(files):
        for number, line in lines(path):
            try:
                found += _answers(loads(line), item)
            except (ValueError, LookupError, TypeError) as error:
                raise UsageError(
                    f"{path}, line {number}: no answer in words about a group; give logged samples"
                ) from error
    if not found:
        raise UsageError(
            "no answer has reasons (without --diversity, for economic success); give samples of a "
            "task that asks for them, with answers that are not refused"
        )
    return DataFrame(found)


def _answers(sample: Json, item: str) -> Iterator[Json]:
    doc = sample["doc"]
    about = {key: str(doc[key]) for key in ("group", "items", "style", "round")}
    if item not in about["items"] or doc.get(CHECK):
        return
    prompt = samples.requests_of(sample)[0][0]
    for answer, read in zip(sample["resps"][0], sample["filtered_resps"][0], strict=True):
        if read not in (REFUSED, CUT_OFF) and (
            text := reasons(without_reasoning(answer) or "", doc["text"], prompt)
        ):
            yield {**about, "text": text}


# ---- Tables


def key_phrases(answers: DataFrame, keybert: Any, clusters: dict[str, str]) -> DataFrame:
    """The phrases that are key phrases of most answers: of all (Table 3), and of those about the
    groups of each cluster (Table 10). keybert: a `KeyBERT`. clusters: group -> cluster."""
    words = CountVectorizer(ngram_range=(1, 3), stop_words="english")
    split = words.build_analyzer()

    def phrases(text: str) -> list[str]:
        # KeyBERT fails at stop words alone
        found = split(text) and keybert.extract_keywords(text, vectorizer=words, top_n=5)
        return [*dict(found)]

    x = answers.assign(phrase=answers["text"].map(phrases), cluster=answers["group"].map(clusters))
    return concat(
        own["phrase"]
        .explode()
        .value_counts()[:15]
        .reset_index(name="key_in")
        .assign(of=len(own), table="cluster" if cluster else "overall", cluster=cluster)
        for cluster, own in [("", x), *x.groupby("cluster", sort=False)]
    )


def self_bleu(texts: Series) -> float:
    """Mean BLEU-4 of each text against all others, from 0 to 1; NaN for fewer than two texts.

    A count of 0 is 0.1. Source: Zhu et al. 2018 (Texygen), by sacrebleu.
    """
    return mean(
        sentence_bleu(text, [*texts.drop(i)], "floor", 0.1, lowercase=True).score / 100
        for i, text in texts.items()
        if len(texts) > 1
    )


def entropy(texts: Series, n: int) -> float:
    """Entropy of word n-grams in bits: -sum of f log2 f, f the share of an n-gram. NaN without any.
    Source: Zhang et al. 2018 (Ent-n)."""
    words = CountVectorizer(ngram_range=(n, n), token_pattern=r"\w+(?:['-]\w+)*")
    f = texts.map(words.build_analyzer()).explode().value_counts(normalize=True)
    return -(f * np.log2(f)).sum(min_count=1)


def diversity(answers: DataFrame) -> DataFrame:
    """Table 14: a row for each prompt style, on questions that all styles answered with reasons.
    Self-BLEU is averaged over questions and groups with two answers or more."""
    styles = answers.groupby(["group", "items", "round"])["style"].transform("nunique")
    x = answers[styles == answers["style"].nunique()]
    if x.empty:
        raise UsageError("no question has answers with reasons in all prompt styles")
    texts = x.groupby("style")["text"]
    bleu = x.groupby(["style", "group", "items"])["text"].agg(self_bleu).groupby("style").mean()
    entropies = {f"entropy_{n}": texts.agg(entropy, n) for n in (2, 3)}
    return DataFrame({"answers": texts.size(), "self_bleu": bleu, **entropies}).reset_index()
