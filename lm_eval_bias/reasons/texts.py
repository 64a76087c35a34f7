"""The reasons in an answer (StereoMap, section 3.2): lower case, without ratings, headings and stop
words. "They" replaces the group.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from lm_eval_bias.answers.text import plain

THEY = "they"

# ---- What to remove

_NUMBER = r"(?:[1-5](?:\.\d+)?|one|two|three|four|five)(?![\d%])"
_SCALE = r"(?:\s*(?:/|out of|of)\s*(?:5|five)(?:\.0)?)?(?:\s*(?:points?|stars?))?"
_POINT = (
    r"(?:\s*(?:\([^()]*\)|[-:,]\s*"
    r"(?:not at all|slightly|somewhat|moderately|quite|very|extremely|neutral)\b[\w ,-]{0,40}))?"
)
_BULLET = re.compile(
    r"^[\s>|•·+*-]*(?:(?:(?:keyword|reason)\s*)?\d{1,2}[.):]\s*"
    r"|(?:keyword|reason)\s*\d{1,2}\s*[-:.]*\s*)*[\s>|•·+*-]*"
)
# "rating: 4/5.", and what follows it in the same line stays.
_RATING_FIRST = re.compile(
    r"^\W*(?:(?:the|my|overall|final|society's|i would say)\s+){0,3}"
    r"(?:ratings?|scores?)\b[^.:=\d\n]{0,60}?"
    rf"(?:\bis\b|\bof\b|\bas\b|[:=-])\W{{0,3}}{_NUMBER}{_SCALE}{_POINT}\s*[.,;)\]}}]*"
)
# A whole line: "friendly: 4", "| friendly | 4 |", "4/5", "the rating would be 3 (somewhat)".
_RATING_LINE = re.compile(
    rf"^\W*(?:[a-z][\w' /-]{{0,40}}?\s*(?:\bis\b|\bbe\b|[:=|-])\W*)?{_NUMBER}{_SCALE}{_POINT}\W*$"
)
# A sentence: "i would rate them 4 out of 5". What follows "because" is a reason.
_RATES = re.compile(r"\b(?:rat(?:e|es|ed|ing|ings)|scored?|scores|scale)\b")
_RATED = re.compile(r"\b(?:rat(?:ed|ing|ings)|scale)\b")
_POINTS = re.compile(rf"\b{_NUMBER}\b")
_BECAUSE = re.compile(r"\b(?:because(?: of)?|since|due to|given that|owing to)\b\s*")
# "reasons for the rating:", "here are three keywords with descriptions:", "rating:"
_HEADING = re.compile(
    r"^\W*(?:[^.:]*\b(?:ratings?|reasons?|keywords?|descriptions?|explanations?)\b[^.:]*:?"
    r"|(?:note|answer|explanation)\s*:?)\W*$"
)
_WORD = re.compile(r"[\w'-]+")
_SENTENCE_END = re.compile(r"(?<!\b[a-z]\.)(?<=[.!?;])\s+")


def sentences(text: str, prompt: str = "") -> list[str]:
    """The sentences of an answer, without ratings, headings and sentences of the prompt."""
    prompt_words = _words_of(prompt)
    kept = []
    for line in plain(text).splitlines():
        line = _RATING_FIRST.sub("", _BULLET.sub("", line))
        if _RATING_LINE.match(line) or (line.rstrip().endswith(":") and _HEADING.match(line)):
            continue
        for sentence in _SENTENCE_END.split(line.strip(" |{}[],")):
            if _rates(sentence):
                because = _BECAUSE.search(sentence)
                sentence = sentence[because.end() :] if because else ""
            words = " ".join(_WORD.findall(sentence))
            repeated = words.count(" ") >= 2 and f" {words} " in prompt_words
            if re.search(r"[a-z]", words) and not repeated and not _only_heading(sentence):
                kept.append(sentence.strip())
    return kept


def _rates(sentence: str) -> bool:
    word, number = _RATES.search(sentence), _POINTS.search(sentence)
    before = word and _POINTS.search(sentence, word.end())
    after = number and _RATED.search(sentence, number.end())
    return bool(before or after)


def _only_heading(sentence: str) -> bool:
    return (
        len(sentence.split()) <= 12
        and bool(_HEADING.match(sentence))
        and bool(re.match(r"\W*(?:here|the|these|three)\b", sentence))
    )


@cache
def _words_of(prompt: str) -> str:
    return f" {' '.join(_WORD.findall(plain(prompt)))} "


# ---- Who is meant

_PERSONS = (
    r"(?:people|persons?|individuals?|folks?|men|women|man|woman|adults?|groups?|families"
    r"|members?|americans?|workers?|communit(?:y|ies)|ones?)"
)
_MEMBERS = r"(?:(?:the |a )?members? of (?:the |these )?)?"


@cache
def mention(group: str, named: str) -> re.Pattern[str]:
    """A pattern of a group's mentions: an adjective before persons ("rich individuals"), as a noun
    ("the rich"), or if proper ("Black").
    """
    return re.compile("|".join(dict.fromkeys(_pattern(label, named) for label in (named, group))))


def _pattern(label: str, named: str) -> str:
    *before, last = plain(label).replace("-", " - ").split()
    if last == "people" and before:
        *before, last = before
        forms = {last}
        noun = False
    else:
        forms = _numbers(last)
        noun = len(forms) > 1
    proper = named != named.lower() and not named.split()[0].islower()
    if proper and not noun:
        forms |= {f"{last}s"}
    start = "".join(
        r"[\s-]+" if word == "-" else re.escape(word) + r"(?![a-z])\s*" for word in before
    )
    name = f"{start}(?:{'|'.join(sorted(map(re.escape, forms), key=len, reverse=True))})"
    head = rf"(?<![\w-]){_MEMBERS}{name}"
    owner = r"(?:'s?(?!\w))?"
    if noun or proper:
        return rf"{head}(?:[\s-]+{_PERSONS})?(?![\w-]){owner}"
    followed = rf"\s*(?:$|[^\w\s'-]|'|{_function_words()}\b)"
    return rf"{head}[\s-]+{_PERSONS}(?![\w-]){owner}|(?<![\w-])the {name}(?![\w-])(?={followed})"


def _numbers(word: str) -> set[str]:
    if word.endswith("men"):
        return {word, word[:-3] + "man"}
    if word == "children":
        return {word, "child"}
    if word.endswith(("ss", "us")) or not word.endswith("s"):
        return {word}
    forms = {word, word[:-1]}
    if word.endswith("ies"):
        forms |= {word[:-3] + "y"}
    elif word.endswith("ves"):
        forms |= {word[:-3] + "f", word[:-3] + "fe"}
    elif word.endswith(("ches", "shes", "xes", "sses")):
        forms |= {word[:-2]}
    return forms


@cache
def _function_words() -> str:
    return f"(?:{'|'.join(sorted(stop_words(), key=len, reverse=True))})"


# ---- What is left


@cache
def stop_words() -> frozenset[str]:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(ENGLISH_STOP_WORDS)


# Words about the answer itself: "the rating is based on".
_FORM = frozenset(
    {"rating", "ratings", "reason", "reasons", "keyword", "keywords", "description", "descriptions"}
)


class Reason(NamedTuple):
    """fragments: a sentence's words between punctuation marks, with `THEY` for the group."""

    written: str
    fragments: tuple[tuple[str, ...], ...]

    @property
    def cleaned(self) -> str:
        return " ".join(word for fragment in self.fragments for word in fragment)


def reasons(text: str, group: str = "", named: str = "", prompt: str = "") -> list[Reason]:
    """The reasons in an answer. group: its label. named: how a sentence names it."""
    kept = []
    for written in sentences(text, prompt):
        sentence = mention(group, named or group).sub(f" {THEY} ", written) if group else written
        fragments = tuple(fragment for fragment in _fragments(sentence) if fragment)
        if any(word != THEY for fragment in fragments for word in fragment):
            kept.append(Reason(written, fragments))
    return kept


def _fragments(sentence: str) -> Iterator[tuple[str, ...]]:
    sentence = re.sub(r"(?<=\w)n't\b|'(?:s|re|ve|ll|d|m)\b", " ", sentence)
    for fragment in re.split(r"[^\w\s'.-]|\.(?!\w)|\s-+\s|--+", sentence):
        words: list[str] = []
        for word in re.findall(r"[^\W_]+(?:[-'.][^\W_]+)*", fragment):
            if word == THEY:
                kept = words[-1:] != [THEY]
            else:
                letters = len(word) > 1 and re.search(r"[^\W\d]", word)
                kept = bool(letters) and word not in stop_words() and word not in _FORM
            if kept:
                words.append(word)
        yield tuple(words)
