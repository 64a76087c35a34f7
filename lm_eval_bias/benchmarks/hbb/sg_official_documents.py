"""HBB-SG on the authors' concept pairs, with their ten sentences for each option or one.

data: the authors' questions and their sentence variations (fetched), items/hbb.yaml,
items/hbb_official.yaml
languages: en
paper: section 5, appendix E
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lm_eval_bias.benchmarks.hbb import documents as hbb
from lm_eval_bias.benchmarks.hbb import official_documents as hbb_official
from lm_eval_bias.benchmarks.hbb import sg_documents as hbb_sg
from lm_eval_bias.benchmarks.hbb.concepts_documents import object_before
from lm_eval_bias.data.content import Place, read
from lm_eval_bias.data.options import Option
from lm_eval_bias.data.sources import official_file
from lm_eval_bias.harness.dataset import CustomDataset, Document
from lm_eval_bias.usage import UsageError, choice

VARIATIONS = "20241207-0945_all_data_more_contexts_questions.csv"
SENTENCES = {"released": 10, "one": 1}
"""How many sentences an option has; ten in appendix E.1."""
NEEDED = ("id", "s1", "s2")
"""What the authors' notebook reads of the file (src/questions_final.ipynb)."""
CURE = (
    "sentences=one in --metadata asks with the one sentence that each option has in the questions' "
    "file"
)


class Options(hbb_official.SentenceOptions):
    sentences = Option(
        "released",
        choice(SENTENCES),
        "released: the authors' ten variations of each option; one: the option of hbb_official",
    )


# ---- The sentences


def _released_file() -> Path:
    try:
        return official_file("hbb", VARIATIONS)
    except UsageError as error:
        raise UsageError(
            "hbb_sg_official: sentences=released lacks the authors' sentence variations, which "
            f"`lm-eval-bias data fetch hbb` fetches: {error}. {CURE}"
        ) from error


def released(path: Path) -> list[hbb_sg.Sentences]:
    """The authors' sentences of each of `concept_pairs`, with the placeholders of `hbb`.

    path: a table with s1 and s2 (a sentence of either option; one may be empty) and id, the number
    of the concept pair from 0. UsageError for another layout, for other concepts than the pair's,
    and for an option without a sentence.
    """
    concepts, content = hbb_official.concept_pairs(), read(path)

    def wrong(cause: str, place: Place | None = None) -> UsageError:
        line = "" if place is None else f"line {content.line(place)}: "
        return UsageError(f"{path}: {line}{cause}. {CURE}")

    for place, cause in content.problems:
        raise wrong(cause, place)
    columns = list(content.data[0]) if content.data else []
    if not set(NEEDED) <= set(columns):
        seen = ", ".join(repr(column[:40]) for column in columns[:20]) or "nothing"
        expected = f"expected the columns {', '.join(NEEDED)}, which the authors' program reads"
        raise wrong(f"{expected}, and found {seen}")
    # pandas may write 7.0
    numbers = {f"{n}{end}": n for n in range(len(concepts)) for end in ("", ".0")}
    sentences: list[tuple[list[str], list[str]]] = [([], []) for _ in concepts]
    for i, row in enumerate(content.data):
        n = numbers.get(row["id"].strip())
        if n is None:
            expected = f"whole number from 0 to {len(concepts) - 1}"
            raise wrong(f"id {row['id']!r} is no {expected}", (i,))
        for option, of_option in enumerate(sentences[n], start=1):
            column, expected = f"bias type{option}", concepts[n][f"concept_{option}"]
            if row.get(column, expected).casefold().split() != expected.casefold().split():
                known = f"{expected!r} for this id in {hbb_official.QUESTIONS}"
                raise wrong(f"{column} is {row[column]!r}, and {known}", (i,))
            if text := row[f"s{option}"].strip():
                of_option.append(_with_forms(text))
    for n, options in enumerate(sentences):
        for option, of_option in enumerate(options, start=1):
            if not of_option:
                raise wrong(f"id {n} has no sentence in s{option}")
    return list(sentences)


def _with_forms(text: str) -> str:
    """Words before a placeholder tell that it is an object."""
    places = enumerate(hbb_official.PLACEHOLDER.finditer(text), start=1)
    objects = {place for place, x in places if object_before(text, x.start())}
    return hbb_official.with_forms(text, objects)


# ---- The questions


def documents(
    sentences: str = "released",
    groups: str | None = None,
    category: str | None = None,
    placebo: bool = True,
) -> list[Document]:
    """The questions of `hbb_official` in one order, with sentences."""
    content = hbb_official.groups_with_forms(groups)
    types = hbb.types_asked(content, category, placebo)
    concepts = hbb_official.concept_pairs()
    texts: Sequence[hbb_sg.Sentences] = (
        released(_released_file())
        if sentences == "released"
        else [([concept["option_1"]], [concept["option_2"]]) for concept in concepts]
    )
    by_id = {concept["id"]: text for concept, text in zip(concepts, texts, strict=True)}
    return [
        question
        for concept in hbb_official.spread(concepts)
        for question in hbb_sg.questions(
            concept, by_id[concept["id"]], content, types, SENTENCES[sentences]
        )
    ]


def count(
    groups: str | None = None, category: str | None = None, placebo: bool = True, **_: Any
) -> int:
    """The number of `documents`; needs no file of the authors."""
    return hbb_official.count("paper", groups, category, placebo)


build = CustomDataset(documents, count)
