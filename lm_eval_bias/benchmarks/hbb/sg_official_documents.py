"""HBB-SG on the authors' concept pairs, with their ten sentences for each option or one.

data: the authors' questions and their sentence variations (fetched), items/hbb.yaml,
items/hbb_official.yaml
languages: en
paper: section 5, appendix E
"""

from functools import partial
from pathlib import Path

from lm_eval_bias.benchmarks.hbb import official_documents as hbb_official
from lm_eval_bias.benchmarks.hbb import sg_documents as hbb_sg
from lm_eval_bias.data.content import read
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


def released(path: Path) -> dict[str, tuple[list[str], list[str]]]:
    """Id of a concept pair -> the authors' sentences, with the placeholders of `hbb`.

    path: as the authors' notebook reads it (src/questions_final.ipynb): s1 and s2, a sentence of
    either option (one may be empty), and id, the number of the concept pair from 0. UsageError for
    another layout, for other concepts than the pair's, and for an option without a sentence.
    """
    concepts = hbb_official.concept_pairs()
    # pandas may write 7.0
    numbered = {f"{n}{end}": pair for n, pair in enumerate(concepts) for end in ("", ".0")}
    sentences: dict[str, tuple[list[str], list[str]]] = {pair["id"]: ([], []) for pair in concepts}
    try:
        content = read(path)
        for place, cause in content.problems:
            raise ValueError(f"line {content.line(place)}: {cause}")
        for row in content.data:
            pair = numbered[row["id"].strip()]
            for option, of_option in enumerate(sentences[pair["id"]], start=1):
                expected = pair[f"concept_{option}"]
                found = row.get(f"bias type{option}", expected)
                if found.casefold().split() != expected.casefold().split():
                    raise ValueError(f"id {row['id']} is about {found!r}, not {expected!r}")
                if text := row[f"s{option}"].strip():
                    of_option.append(hbb_official.with_forms(text))
        if lacking := [id_ for id_, options in sentences.items() if not all(options)]:
            raise ValueError(f"concept pair {lacking[0]} has no sentence in s1 or s2")
    except (KeyError, ValueError) as error:
        raise UsageError(
            f"{path} is not as the authors' program reads it ({type(error).__name__}: {error}). "
            f"{CURE}"
        ) from error
    return sentences


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
    texts = (
        released(_released_file())
        if sentences == "released"
        else {pair["id"]: ([pair["option_1"]], [pair["option_2"]]) for pair in concepts}
    )
    return [
        question
        for concept in hbb_official.spread(concepts)
        for question in hbb_sg.questions(
            concept, texts[concept["id"]], content, types, SENTENCES[sentences]
        )
    ]


build = CustomDataset(documents, partial(hbb_official.count, "paper"))
