"""HBB-SG on the authors' concept pairs: the options of `hbb_official` as sentences.

data: the authors' questions (fetched), items/hbb.yaml, items/hbb_official.yaml
languages: en
paper: section 5, appendix E
"""

from functools import partial

from lm_eval_bias.benchmarks.hbb import official_documents as hbb_official, sg_documents as hbb_sg
from lm_eval_bias.harness.dataset import CustomDataset, Document


def documents(
    groups: str | None = None, category: str | None = None, placebo: bool = True
) -> list[Document]:
    """The questions of `hbb_official` in one order."""
    content, types = hbb_official.content_and_types(groups, category, placebo)
    return [
        question
        for concept in hbb_official.spread(hbb_official.concept_pairs())
        for question in hbb_sg.questions(
            concept, ([concept["option_1"]], [concept["option_2"]]), content, types
        )
    ]


build = CustomDataset(documents, partial(hbb_official.count, "paper"), checks=hbb_sg.attention)
