"""HBB-SG, semi-generation: how likely is each of several sentences, as the next of a story?

data: items/hbb_concepts.tsv and items/hbb_variations.tsv (ours), items/hbb.yaml
languages: en
paper: section 5, appendix E
"""

from collections.abc import Iterator, Mapping, Sequence

from lm_eval_bias.benchmarks.hbb import documents as hbb
from lm_eval_bias.data.lexicons import table
from lm_eval_bias.data.schema import Data, Row, load
from lm_eval_bias.harness.dataset import CustomDataset, Document

Sentences = tuple[Sequence[str], Sequence[str]]
"""Of option 1 and of option 2 of one concept pair, with [[X]] for the person."""


def sentences() -> dict[str, tuple[list[str], list[str]]]:
    """Id of our concept pair -> each option of `hbb`, then its variations."""
    sentences = {
        concept["id"]: ([concept["option_1"]], [concept["option_2"]])
        for concept in table("hbb_concepts")
    }
    for row in table("hbb_variations"):
        sentences[row["id"]][int(row["option"]) - 1].append(row["sentence"])
    return sentences


def questions(
    concept: Row, sentences: Sentences, groups: Data, types: Mapping[str, Data]
) -> Iterator[Document]:
    """`hbb.described` with choices: the sentences of option 1, then those of option 2.

    split: how many are of option 1.
    """
    written = {}  # by pronoun, so that 78 questions share few lists
    for question, pronoun in hbb.described(concept, groups, types):
        if pronoun not in written:
            written[pronoun] = [
                hbb.refer(text, pronoun, groups) for of_option in sentences for text in of_option
            ]
        yield {**question, "first": 1, "choices": written[pronoun], "split": len(sentences[0])}


def documents(groups: str | None = None, category: str | None = None) -> list[Document]:
    content, texts = load(hbb.SentenceOptions.files, groups=groups)["groups"], sentences()
    types = hbb.types_asked(content, category)
    return [
        question
        for concept, some in hbb.portions(table("hbb_concepts"), types)
        for question in questions(concept, texts[concept["id"]], content, some)
    ]


def attention() -> list[Document]:
    """The checks of `hbb`, with their options as sentences in both orders."""
    return [
        {**check, "choices": [check["option_a"], check["option_b"]], "split": 1}
        for check in hbb.attention()
    ]


build = CustomDataset(documents, checks=attention)
