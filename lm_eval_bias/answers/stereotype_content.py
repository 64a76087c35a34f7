"""A dictionary: keyword about people -> dimensions of stereotype content and direction.

Source: StereoMap, section 3.2 and appendix M; Nicolas et al. 2021.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from lm_eval_bias.data.lexicons import lexicon, table
from lm_eval_bias.data.sources import official_file

from .text import letters

_Row = Mapping[str, str | int]
Content = list[tuple[str, int]]
"""(dimension, direction) of a word: 1 high, -1 low, 0 where the dimension has no direction for it.
"""

LONGEST_PHRASE = 5
"""Keywords of more words are explanations: they are looked up as they are written, and no further.
"""

# British -> American, and others of which English has two; both a dictionary's words and keywords
# are folded by them
_SPELLINGS = [
    (r"(?<=[a-z]{2})our(?=$|s$|ed$|ing$|able$|ful$|less$|ite$|ites$|ly$|y$)", "or"),
    (r"(?<=[a-z]{3})is(?=e$|ed$|es$|er$|ers$|ing$|ation$)", "iz"),
    (r"(?<=[a-z]{3})lys(?=e$|ed$|es$|er$|ing$)", "lyz"),
    (r"ll(?=ed$|ing$|ful$|fully$|fulness$|or$|ors$|ment$)", "l"),
    (r"(?<=[a-z]{2})[eo]able$", "able"),  # likeable
    (r"(?<=def)ence|(?<=off)ence|(?<=pret)ence", "ense"),
    (r"sceptic", "skeptic"),
    (r"(?<=[bht])re$", "er"),
    (r"judgement", "judgment"),
]


class Found(NamedTuple):
    """how: "written", "lemma", "phrase" or None."""

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
    for pattern, spelling in _SPELLINGS:
        word = re.sub(pattern, spelling, word)
    return word


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", re.sub(r"['’.]", "", letters(text.lower())))


@lru_cache(maxsize=100_000)
def lemma(word: str) -> str:
    import simplemma  # 0.1 s with its word list, which only those need who look something up

    return simplemma.lemmatize(word, lang="en").lower()


def _bases(words: tuple[str, ...]) -> Iterator[list[str]]:
    last = lemma(words[-1])
    yield [*map(lemma, words[:-1]), last]
    yield [*words[:-1], last]
    # the lemmas that the library gives of "thieves" and "housewives"
    if words[-1].endswith("ves") and last.endswith("ve"):
        yield from ([*words[:-1], last[:-2] + ending] for ending in ("f", "fe"))


class ContentDictionary:
    """Words with their dimensions.

    rows: word, dimension, direction. lemmas: the same by base forms, for base forms of keywords. If
    directions of a word differ, it is 0.
    """

    def __init__(self, rows: Iterable[_Row], lemmas: Iterable[_Row] = ()) -> None:
        self._written, self._lemmas = _by_word(rows), _by_word(lemmas)

    def __len__(self) -> int:
        return len(self._written)

    def __contains__(self, word: str) -> bool:
        return folded(word) in self._written

    def look_up(self, keyword: str) -> Found:
        """Return the dimensions of a keyword: as written, else by base forms, else as a phrase.

        A phrase is decided by its last words, or those before a preposition or a word for people;
        negations turn it around. Source: StereoMap, appendix M, Table 15.
        """
        keyword = re.sub(r"\([^()]*\)", " ", keyword)
        words = tuple(_words(keyword))
        content, how = self._exact(words)
        if how or not words or len(words) > LONGEST_PHRASE:
            return Found(content, how)
        content = self._joined_content(keyword) or self._phrase(words)
        return Found(content, "phrase") if content else NOTHING

    def _exact(self, words: tuple[str, ...]) -> Found:
        if content := self._written.get(_joined(words)):
            return Found(list(content), "written")
        for key in map(_joined, _bases(words) if words else ()):
            if content := self._written.get(key) or self._lemmas.get(key):
                return Found(list(content), "lemma")
        return NOTHING

    def _part(self, words: tuple[str, ...]) -> Content:
        return (self._exact(words).content or self._phrase(words)) if words else []

    def _phrase(self, words: tuple[str, ...]) -> Content:
        if len(words) == 1:
            return self._contrary_prefix(words[0])
        kinds = _phrase_words()
        for begin in (2, 1):  # "lack of" before "lack"
            if " ".join(words[:begin]) in kinds["contrary"] and (
                content := self._part(words[begin:])
            ):
                return turned(content)
        if words[0] in kinds["bad_of_its_kind"] and (content := self._part(words[1:])):
            return [(dimension, min(direction, -direction)) for dimension, direction in content]
        for size in (3, 2, 1):
            if " ".join(words[:size]) in kinds["openers"]:
                return self._part(words[size:])
        if (
            (words[0] in kinds["degree"] or _adverb(words[0]))
            and words[0] not in kinds["other_matters"]
            and (content := self._part(words[1:]))
        ):
            return content
        for i, word in enumerate(words[1:], start=1):
            if word in kinds["prepositions"]:
                return self._part(words[:i])
        if content := self._agent(words):
            return content
        if lemma(words[-1]) in kinds["bearers"]:
            return self._part(words[:-1])
        return [] if words[0] in kinds["other_matters"] else self._part(words[1:])

    def _agent(self, words: tuple[str, ...]) -> Content:
        """ "risk taking" by "risk taker" and the reverse."""
        *before, last = words
        other = (
            re.sub(r"ing$", "er", last) if last.endswith("ing") else re.sub(r"ers?$", "ing", last)
        )
        return self._exact((*before, other)).content if other != last else []

    def _contrary_prefix(self, word: str) -> Content:
        """Other prefixes are unsafe ("invaluable", "distress")."""
        for prefix in ("un", "non"):
            rest = word.removeprefix(prefix)
            if rest != word and len(rest) > 4 and word not in _phrase_words()["no_contrary"]:
                return turned(
                    [
                        (dimension, direction)
                        for dimension, direction in self._written.get(_joined([rest]), ())
                        if direction
                    ]
                )
        return []

    def _joined_content(self, keyword: str) -> Content:
        """ "rich and famous", "kind/caring" """
        parts = re.split(r"/|,|;|&|\b(?:and|or|but|yet)\b", keyword.lower())
        directions_of: dict[str, set[int]] = defaultdict(set)
        for part in parts if len(parts) > 1 else ():
            for dimension, direction in self._part(tuple(_words(part))):
                directions_of[dimension].add(direction)
        return _settled(directions_of)


def turned(content: Content) -> Content:
    return [(dimension, -direction) for dimension, direction in content]


def _settled(directions_of: Mapping[str, set[int]]) -> Content:
    """One direction for each dimension; 0 if they differ."""
    return [(dimension, sum(directions)) for dimension, directions in directions_of.items()]


def _by_word(rows: Iterable[_Row]) -> dict[str, Content]:
    words: dict[str, dict[str, set[int]]] = {}
    for row in rows:
        dimensions = words.setdefault(folded(str(row["word"])), {})
        dimensions.setdefault(str(row["dimension"]), set()).add(int(row["direction"]))
    return {word: _settled(dimensions) for word, dimensions in words.items()}


def _adverb(word: str) -> bool:
    return len(word) > 4 and word.endswith("ly")


@cache
def _phrase_words() -> dict[str, frozenset[str]]:
    return {
        kind: frozenset(word.replace("'", "") for word in words)
        for kind, words in lexicon("stereotype_content_phrases").items()
    }


@cache
def ours() -> ContentDictionary:
    return ContentDictionary(table("stereotype_content"))


RENAMED = {"agency": "assertiveness"}


@cache
def official() -> ContentDictionary:
    """The authors' dictionary (Nicolas et al. 2021). Raises UsageError if it is unavailable."""
    path = official_file("stereomap", "Full_Dictionaries.csv")
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))

    def column(begin: str) -> str:
        return next(name for name in rows[0] if name.startswith(begin))

    word = column("original word")
    low, joined, base = (column(f"preprocessed word {n}") for n in (1, 2, 3))
    names = [name.removesuffix("dictionary") for name in rows[0] if name.endswith(" dictionary")]
    written: list[_Row] = []
    lemmas: list[_Row] = []
    for row in rows:
        # "no" and "na" are NA there: no answer.
        spellings = {row[low], row[joined]} if row[low] != "NA" else {row[word]}
        for name in names:
            if row[f"{name}dictionary"] == "0":
                continue
            dimension = name.strip().lower()
            direction = row.get(f"{name}direction", "NA").replace("NA", "0")
            content = {"dimension": RENAMED.get(dimension, dimension), "direction": direction}
            written += [{"word": spelling, **content} for spelling in spellings]
            lemmas.append({"word": row[base], **content})
    return ContentDictionary(written, lemmas)


DICTIONARIES = {"ours": ours, "official": official}
