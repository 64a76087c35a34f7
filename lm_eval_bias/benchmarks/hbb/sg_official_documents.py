"""HBB-SG on the authors' released concept pairs, with the ten sentences that they wrote for each
option, or with the one of `hbb_official`.

data: the authors' questions (1,547 concept pairs) and their sentence variations (fetched),
items/hbb.yaml, items/hbb_official.yaml abstract: as `hbb_sg`, with the paper's own contexts and
sentences languages: en tags: age, gender, race and ethnicity, socioeconomic status, religion,
hidden bias paper: Beneath the Surface: How Large Language Models Reflect Hidden Bias, section 5,
appendix E
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from lm_eval_bias.benchmarks.hbb import official_documents as hbb_official
from lm_eval_bias.benchmarks.hbb import sg_documents as hbb_sg
from lm_eval_bias.benchmarks.hbb.sg_documents import Sentences
from lm_eval_bias.data.downloads import sha256
from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.data.schema import checked
from lm_eval_bias.data.sources import official_file
from lm_eval_bias.harness.dataset import CustomDataset
from lm_eval_bias.metrics.hidden_bias import THRESHOLD
from lm_eval_bias.usage import UsageError, choice, flag, number

VARIATIONS = "20241207-0945_all_data_more_contexts_questions.csv"
SENTENCES = {"released": 10, "one": 1}
"""How many sentences an option has; ten in appendix E.1."""
FILES = hbb_official.FILES
# What the authors' notebook reads of the file; the two below it are checked where they are.
NEEDED = ("id", "s1", "s2")
CONCEPTS = ("bias type1", "bias type2")
CURE = "sentences=one in --metadata asks with the one sentence that each option has in the questions' file"


def options(
    sentences: str = "released",
    threshold: float = THRESHOLD,
    placebo: bool = True,
    groups: str | None = None,
) -> dict[str, Any]:
    """What --metadata may set. sentences: "released" takes the ten of the authors' variations for
    each option, and the results name their checksum (`checksums`); "one" takes the option of
    `hbb_official` alone, which is equation 2 with n = 1. threshold, groups: as for `hbb_sg`.
    placebo: false leaves our four placebo types out. Nothing is fetched."""
    return {
        "sentences": choice("sentences", sentences, SENTENCES),
        "threshold": number("threshold", threshold, 0, 100),
        "placebo": flag("placebo", placebo),
        **checked(FILES, groups=groups),
    }


# ---- The sentences


def _released_file() -> Path:
    """The authors' variations. Nobody here has seen the file; its checksum is not known, so
    whatever it holds is checked in `released`."""
    try:
        return official_file("hbb", VARIATIONS)
    except UsageError as error:
        raise UsageError(
            "hbb_sg_official: sentences=released lacks the authors' sentence variations, which `lm-eval-bias data fetch hbb` fetches: "
            f"{error}. {CURE}"
        ) from error


def one() -> list[Sentences]:
    """Of each concept pair, in the order of `concept_pairs`, the two options that the questions'
    file has."""
    return [
        ([concept["option_1"]], [concept["option_2"]]) for concept in hbb_official.concept_pairs()
    ]


def released(path: Path) -> list[Sentences]:
    """Of each concept pair, in the order of `concept_pairs`, the authors' sentences, with the
    placeholders of `hbb`: as many as there are.

    path: a table in whose rows stand a sentence of option 1 (s1), one of option 2 (s2), and the
    number of the concept pair, from 0 (id); one of the sentences may be empty. This much the
    authors' notebook shows (src/questions_final.ipynb), which finds 15,470 rows. Raises UsageError,
    in one line, for another layout, for concepts that are not those of the concept pair, and for an
    option without a sentence.
    """
    concepts = hbb_official.concept_pairs()
    found: list[tuple[list[str], list[str]]] = [([], []) for _ in concepts]
    for line, row in _rows(path):
        n = _number(row["id"], len(concepts))
        if n is None:
            raise _wrong(
                path,
                f"line {line}: id {row['id']!r} is no whole number from 0 to {len(concepts) - 1}",
            )
        for column, theirs in zip(
            CONCEPTS, (concepts[n]["concept_1"], concepts[n]["concept_2"]), strict=True
        ):
            if column in row and _same(row[column]) != _same(theirs):
                raise _wrong(
                    path,
                    f"line {line}: {column} is {row[column]!r}, and {theirs!r} for this id in {hbb_official.QUESTIONS}",
                )
        for s, option in enumerate(found[n], start=1):
            if text := (row[f"s{s}"] or "").strip():
                option.append(_with_forms(text))
    for n, each in enumerate(found):
        for s, option in enumerate(each, start=1):
            if not option:
                raise _wrong(path, f"id {n} has no sentence in s{s}")
    return found


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each row with the line that it ends in."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as f:
            reader = csv.DictReader(f)
            columns = reader.fieldnames or []
            if not set(NEEDED) <= set(columns):
                seen = ", ".join(repr(column[:40]) for column in columns[:20]) or "nothing"
                raise _wrong(
                    path,
                    f"expected the columns {', '.join(NEEDED)}, which the authors' program reads, and found {seen}",
                )
            for row in reader:
                if None in row.values():
                    raise _wrong(path, f"line {reader.line_num}: fewer columns than the header")
                yield reader.line_num, row
    except (UnicodeDecodeError, csv.Error) as error:
        raise _wrong(path, f"not a table in UTF-8 ({error})") from error


def _wrong(path: Path, cause: str) -> UsageError:
    return UsageError(
        f"{path}: {cause}. No checksum of this file is known: remove it if it is another than the authors'. {CURE}"
    )


def _number(text: str, end: int) -> int | None:
    """A whole number below `end`, which pandas may have written as 7.0."""
    found = re.fullmatch(r"\s*(\d{1,9})(?:\.0*)?\s*", text)
    return int(found[1]) if found and int(found[1]) < end else None


def _same(text: str) -> str:
    return " ".join(text.casefold().split())


def _with_forms(text: str) -> str:
    """A sentence with the placeholders of `hbb`, the object's form behind the words that ask for
    one."""
    places = enumerate(hbb_official.PLACEHOLDER.finditer(text), start=1)
    return hbb_official.with_forms(
        text,
        {place for place, found in places if _asks_for_object().search(text, 0, found.start())},
    )


@cache
def _asks_for_object() -> re.Pattern[str]:
    return re.compile(
        rf"\b(?:{'|'.join(lexicon('hbb_official')['object_after'])})\s$", re.IGNORECASE
    )


# ---- The questions


def documents(
    sentences: str = "released",
    groups: str | None = None,
    category: str | None = None,
    placebo: bool = True,
) -> list[dict[str, Any]]:
    """The questions of `hbb_official` in one order, each with the sentences of both options."""
    given = hbb_official.groups_with_forms(groups)
    concepts = hbb_official.concept_pairs()
    texts: Sequence[Sentences] = released(_released_file()) if sentences == "released" else one()
    by_id: Mapping[str, Sentences] = {
        concept["id"]: each for concept, each in zip(concepts, texts, strict=True)
    }
    return [
        question
        for concept in hbb_official.spread(concepts)
        for question in hbb_sg.questions(
            concept, by_id[concept["id"]], given, category, placebo, SENTENCES[sentences]
        )
    ]


def count(
    groups: str | None = None, category: str | None = None, placebo: bool = True, **setting: Any
) -> int:
    """How many `documents` there are; needs no file of the authors."""
    return hbb_official.count("paper", groups, category, placebo)


def checksums(sentences: str = "released", **setting: Any) -> dict[str, str]:
    """What the results tell of the authors' variations, of which no checksum is known."""
    return {"sentences_sha256": sha256(_released_file())} if sentences == "released" else {}


build = CustomDataset(documents, count, FILES, checksums)
