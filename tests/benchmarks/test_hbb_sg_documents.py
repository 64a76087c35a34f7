"""The documents of HBB-SG: those of `hbb` in one order, each option with three more sentences; and
the prompt."""

import json
import re

import pytest
from rule_model import RuleLM, evaluate

from lm_eval_bias.benchmarks.hbb import documents as hbb
from lm_eval_bias.benchmarks.hbb.concepts_documents import unfit
from lm_eval_bias.benchmarks.hbb.sg_documents import documents, options, sentences
from lm_eval_bias.data.lexicons import lexicon, table
from lm_eval_bias.usage import UsageError

COLUMNS = (
    "concept",
    "theme",
    "concept_1",
    "concept_2",
    "favourable",
    "category",
    "type",
    "placebo",
    "identities",
    "identity",
    "context",
)


@pytest.fixture(scope="module")
def docs():
    return documents()


def test_every_option_has_three_variations_and_all_eight_sentences_differ():
    found = [(row["id"], row["option"], row["variation"]) for row in table("hbb_variations")]
    assert sorted(found) == sorted(
        (c["id"], o, v) for c in table("hbb_concepts") for o in "12" for v in "123"
    )
    for concept in table("hbb_concepts"):
        one, two = sentences()[concept["id"]]
        assert (one[0], two[0]) == (concept["option_1"], concept["option_2"])
        assert len({*one, *two}) == 8, concept["id"]


def test_every_variation_is_as_fit_as_an_option():
    """It names the person, does not say the concept aloud, and stands beside one of the other
    option that is not twice as long."""
    forms = next(iter(lexicon("hbb")["pronouns"].values()))
    for concept in table("hbb_concepts"):
        for one, two in zip(*sentences()[concept["id"]], strict=True):
            assert list(unfit({**concept, "option_1": one, "option_2": two}, forms)) == [], concept[
                "id"
            ]


def test_the_readme_has_the_lengths_of_the_variations_and_the_cells_of_table_9(root, shared):
    """Table 9: at least 20 points in 1,547 of 1,547 instances of SES 2, for two of five models."""
    chapter = (
        (root / "tasks" / "hbb" / "README.md")
        .read_text()
        .split("## Semi-generation\n")[1]
        .split("\n## ")[0]
    )
    lengths = [
        [len(row["sentence"]) for row in table("hbb_variations") if row["option"] == option]
        for option in "12"
    ]
    assert (
        "on average {:.1f} and {:.1f} characters".format(
            *(sum(each) / len(each) for each in lengths)
        )
        in chapter
    )
    paper = (
        (shared / "papers" / "hbb.txt")
        .read_text()
        .split("Hidden bias score distributions for HBB-SG.")[1]
    )
    (row,) = re.findall(r"SES 2 \(1547\)\t(.*)", paper.split("Table 9: ")[0])
    assert [cell.split()[0] for cell in row.split("\t")].count("1547") == 2
    assert (
        "all 1,547 instances of SES 2 have 20 points or more for two of the five models" in chapter
    )


def test_the_documents_are_those_of_hbb_with_option_1_first(docs):
    """216 concept pairs x 58 identities; the option itself is the first sentence of its four."""
    asked = hbb.documents(order="paper")
    assert len(docs) == 216 * 58 == 12_528
    for mine, other in zip(docs, asked, strict=True):
        assert [mine[key] for key in COLUMNS] == [other[key] for key in COLUMNS] and mine[
            "first"
        ] == 1
        assert (len(mine["choices"]), mine["choices"][0], mine["choices"][4]) == (
            8,
            other["option_a"],
            other["option_b"],
        )


def test_a_category_is_asked_with_the_placebos(docs):
    age = documents(category="Age")
    assert len(age) == 216 * (6 + 8) and {d["instances"] for d in age} == {3}
    assert [d["choices"] for d in age] == [
        d["choices"] for d in docs if d["category"] in ("Age", "Placebo")
    ]


def test_the_pronouns_of_all_sentences_are_those_of_the_identity(docs):
    """All identities of a type share them, but in Gender, where the pronoun follows the noun."""
    assert not any("[[" in text for d in docs for text in d["choices"])
    by_type = {}
    for d in docs[:58]:
        by_type.setdefault((d["category"], d["type"]), []).append(d["choices"])
    for (category, _), each in by_type.items():
        assert (each[0] == each[1]) == (category != "Gender") and (
            category == "Gender" or all(x == each[0] for x in each)
        )
    (mother, father) = by_type["Gender", "Gender 1"]
    assert re.match("She tapped", mother[1]) and mother[1].removeprefix("She") == father[
        1
    ].removeprefix("He")


def test_the_options_are_checked():
    assert options() == {"threshold": 20.0}
    with pytest.raises(UsageError, match="threshold"):
        options(threshold=101)


def test_the_instruction_is_byte_for_byte_the_authors(shared):
    path = shared / "official" / "prompts.json"
    if not path.is_file():
        pytest.skip("the authors' prompts are not beside this checkout")
    theirs = json.loads(path.read_text())["hbb"]["semi-generation"]
    (sample,) = evaluate(RuleLM(lambda *_: -1.0), "hbb_sg", limit=1, log_samples=True)["samples"][
        "hbb_sg"
    ]
    prompts = {prompt for prompt, _ in sample["arguments"]}
    assert prompts == {f"{theirs}\n\nContext: {sample['doc']['context']}"}
    assert [sentence for _, sentence in sample["arguments"]] == [
        f" {each}" for each in sample["doc"]["choices"]
    ]
