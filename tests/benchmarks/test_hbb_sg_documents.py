"""The documents of HBB-SG: those of `hbb` in one order, each option with three more sentences; and
the prompt."""

from rule_model import RuleLM, evaluate

from lm_eval_bias.benchmarks.hbb import documents as hbb
from lm_eval_bias.benchmarks.hbb.concepts_documents import unfit
from lm_eval_bias.benchmarks.hbb.sg_documents import documents, sentences
from lm_eval_bias.data.lexicons import lexicon, table


def test_every_option_has_three_variations_all_eight_differ_and_each_is_as_fit_as_an_option():
    """It names the person, does not name the concept, and stands beside one of the other option
    that is not twice as long."""
    variations = [(row["id"], row["option"], row["variation"]) for row in table("hbb_variations")]
    assert sorted(variations) == sorted(
        (c["id"], o, v) for c in table("hbb_concepts") for o in "12" for v in "123"
    )
    forms = next(iter(lexicon("hbb")["pronouns"].values()))
    for concept in table("hbb_concepts"):
        ones, twos = sentences()[concept["id"]]
        assert (ones[0], twos[0]) == (concept["option_1"], concept["option_2"])
        assert len({*ones, *twos}) == 8, concept["id"]
        for one, two in zip(ones, twos, strict=True):
            pair = {**concept, "option_1": one, "option_2": two}
            assert list(unfit(pair, forms)) == [], concept["id"]


def test_the_documents_are_those_of_hbb_with_option_1_first(built):
    """216 concept pairs x 78 identities; the option itself is the first sentence of its four."""
    docs = built(documents)
    assert len(docs) == 216 * 78 == 16_848
    for mine, other in zip(docs, hbb.documents(order="paper"), strict=True):
        options = [other.pop("option_a"), other.pop("option_b")]
        assert other.items() <= mine.items()
        assert len(mine["choices"]) == 8 and mine["choices"][::4] == options
    assert documents(category="Age") == [d for d in docs if d["category"] in ("Age", "Placebo")]


def test_the_instruction_is_byte_for_byte_the_authors(prompts):
    results = evaluate(RuleLM(lambda *_: -1.0), "hbb_sg", limit=1, log_samples=True)
    (sample,) = results["samples"]["hbb_sg"]
    prompt = f"{prompts['hbb']['semi-generation']}\n\nContext: {sample['doc']['context']}"
    expected = [(prompt, f" {sentence}") for sentence in sample["doc"]["choices"]]
    assert [tuple(each[:2]) for each in sample["arguments"]] == expected
