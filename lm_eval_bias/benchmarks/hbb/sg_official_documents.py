"""HBB-SG on the authors' concept pairs, with their ten sentences for each option or one.

data: the authors' questions and their sentence variations (fetched), items/hbb.yaml,
items/hbb_official.yaml
languages: en
paper: section 5, appendix E
"""

import csv
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from lm_eval_bias.benchmarks.hbb import official_documents as hbb_official
from lm_eval_bias.benchmarks.hbb import sg_documents as hbb_sg
from lm_eval_bias.data.options import Option
from lm_eval_bias.data.sources import official_file
from lm_eval_bias.harness.dataset import CustomDataset, Document
from lm_eval_bias.usage import UsageError, choice

VARIATIONS = "20241207-0945_all_data_more_contexts_questions.csv"
SENTENCES = {"released": 10, "one": 1}
"""How many sentences an option has; ten in appendix E.1."""
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

    path: as the authors' notebook reads it (src/questions_final.ipynb): s1 and s2, a sentence of
    either option (one may be empty), and id, the number of the concept pair from 0. UsageError for
    another layout, for other concepts than the pair's, and for an option without a sentence.
    """
    concepts = hbb_official.concept_pairs()
    # pandas may write 7.0
    numbers = {f"{n}{end}": n for n in range(len(concepts)) for end in ("", ".0")}
    sentences: list[tuple[list[str], list[str]]] = [([], []) for _ in concepts]
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for row in csv.DictReader(file):
                n = numbers[row["id"]]
                for option, of_option in enumerate(sentences[n], start=1):
                    expected = concepts[n][f"concept_{option}"]
                    found = row.get(f"bias type{option}", expected)
                    if found.casefold().split() != expected.casefold().split():
                        raise ValueError(f"id {n} is about {found!r}, not {expected!r}")
                    if text := row[f"s{option}"].strip():
                        of_option.append(hbb_official.with_forms(text))
        if lacking := [n for n, options in enumerate(sentences) if not all(options)]:
            raise ValueError(f"id {lacking[0]} has no sentence in s1 or s2")
    except (KeyError, ValueError) as error:
        raise UsageError(
            f"{path} is not as the authors' program reads it ({type(error).__name__}: {error}). "
            f"{CURE}"
        ) from error
    return list(sentences)


# ---- The questions


def documents(
    sentences: str = "released",
    groups: str | None = None,
    category: str | None = None,
    placebo: bool = True,
) -> list[Document]:
    """The questions of `hbb_official` in one order, with sentences."""
    content, types = hbb_official.content_and_types(groups, category, placebo)
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


build = CustomDataset(documents, partial(hbb_official.count, "paper"))
