"""A dictionary: keyword about people -> dimensions of stereotype content and direction.

Source: StereoMap, section 3.2 and appendix M; Nicolas et al. 2021.
"""

import csv
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from lm_eval_bias.data.lexicons import table
from lm_eval_bias.data.sources import official_file

from .text import letters, rewritten, rules

_Row = tuple[str, str, str | int]
_Words = tuple[str, ...]
Content = list[tuple[str, int]]
"""(dimension, direction) of a word: 1 high, -1 low, 0 where the dimension has no direction for it.
"""

_DIRECTED = {
    *("sociability", "morality", "ability", "assertiveness", "health", "status"),
    *("work", "politics", "religion", "beliefs_other", "ordinariness", "beauty"),
}
"""The dimensions of the authors' dictionary that have directions."""

# British -> American, and others of which English has two; both a dictionary's words and keywords
# are folded by them
_SPELLINGS = rules(
    {
        r"(?<=[a-z]{2})our(?=$|s$|ed$|ing$|able$|ful$|less$|ite$|ites$|ly$|y$)": "or",
        r"(?<=[a-z]{3})is(?=e$|ed$|es$|er$|ers$|ing$|ation$)": "iz",
        r"(?<=[a-z]{3})lys(?=e$|ed$|es$|er$|ing$)": "lyz",
        r"ll(?=ed$|ing$|ful$|fully$|fulness$|or$|ors$|ment$)": "l",
        r"(?<=[a-z]{2})[eo]able$": "able",  # likeable
        r"(?<=def)ence|(?<=off)ence|(?<=pret)ence": "ense",
        r"sceptic": "skeptic",
        r"(?<=[bht])re$": "er",
        r"judgement": "judgment",
    }
)


class Found(NamedTuple):
    """how: "written", "lemma" or None."""

    content: Content
    how: str | None


NOTHING = Found([], None)


def folded(text: str) -> str:
    """A text without case, accents, hyphens and blanks, in American spelling."""
    return _joined(_words(text))


def _joined(words: Iterable[str]) -> str:
    # each, and all: the rules look at what ends a word, and "street-wise" is "streetwise"
    return _american("".join(map(_american, words)))


@lru_cache(maxsize=100_000)
def _american(word: str) -> str:
    return rewritten(word, _SPELLINGS)


def _words(text: str) -> _Words:
    return tuple(re.findall(r"[^\W_]+", re.sub(r"['’.]", "", letters(text.lower()))))


@lru_cache(maxsize=100_000)
def lemma(word: str) -> str:
    import simplemma  # 0.1 s with its word list, which only those need who look something up

    return simplemma.lemmatize(word, lang="en").lower()


def _bases(words: _Words) -> Iterator[list[str]]:
    *before, last = words
    yield list(map(lemma, words))
    yield [*before, lemma(last)]
    # the library's lemmas of "thieves" and "housewives" end in "ve"
    yield [*before, re.sub("ves$", "fe" if last.endswith("ives") else "f", last)]


class ContentDictionary:
    """rows: word, dimension, direction; 0 if directions of a word differ. lemmas: the same by base
    forms, for base forms of keywords."""

    def __init__(self, rows: Iterable[_Row], lemmas: Iterable[_Row] = ()):
        self._written, self._lemmas = _by_word(rows), _by_word(lemmas)

    def look_up(self, keyword: str) -> Found:
        """The dimensions of a keyword: as written, else by base forms.

        Source: StereoMap, appendix M, Table 15.
        """
        words = _words(re.sub(r"\([^()]*\)", " ", keyword))
        if content := self._written.get(_joined(words)):
            return Found(list(content), "written")
        for key in map(_joined, _bases(words) if words else ()):
            if content := self._written.get(key) or self._lemmas.get(key):
                return Found(list(content), "lemma")
        return NOTHING


def _settled(content: Iterable[tuple[str, int]]) -> Content:
    """One direction for each dimension; 0 if they differ."""
    directions_of = defaultdict(set)
    for dimension, direction in content:
        directions_of[dimension].add(direction)
    return [(dimension, sum(directions)) for dimension, directions in directions_of.items()]


def _by_word(rows: Iterable[_Row]) -> dict[str, Content]:
    contents = defaultdict(list)
    for word, dimension, direction in rows:
        contents[folded(word)].append((dimension, int(direction)))
    return {word: _settled(content) for word, content in contents.items()}


@cache
def ours() -> ContentDictionary:
    rows = table("stereotype_content")
    return ContentDictionary((row["word"], row["dimension"], row["direction"]) for row in rows)


@cache
def official() -> ContentDictionary:
    """The authors' dictionary (Nicolas et al. 2021). Raises UsageError if it is unavailable."""
    path = official_file("stereomap", "Full_Dictionaries.csv")
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    word, low, joined, base, *columns = rows[0]
    written = []
    lemmas = []
    for row in rows:
        # "no" and "na" are NA there: no answer.
        spellings = {row[low], row[joined]} if row[low] != "NA" else {row[word]}
        for column in columns:
            dimension, _, kind = column.lower().partition(" ")
            if kind != "dictionary" or row[column] == "0":
                continue
            direction = row.get(column.replace("dictionary", "direction"), "NA").replace("NA", "0")
            dimension = dimension.replace("agency", "assertiveness")
            written += [(spelling, dimension, direction) for spelling in spellings]
            lemmas.append((row[base], dimension, direction))
    return ContentDictionary(written, lemmas)


def single_words(keywords: Iterable[str]) -> list[tuple[str, Content]]:
    """Known keywords of one word, as the authors' keywords_analysis.py counts: 1 where a dimension
    has no directions."""
    found = []
    for word in keywords:
        content, how = official().look_up(word)
        if how and " " not in word:
            entries = [(d, direction if d in _DIRECTED else 1) for d, direction in content]
            found.append((word if how == "written" else lemma(word), entries))
    return found


DICTIONARIES = {"ours": ours, "official": official}
