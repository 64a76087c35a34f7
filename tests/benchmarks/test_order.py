"""What holds of the documents of every benchmark whose items are its own: no two are the same, and
any first part of them is like the whole, or as its test needs it."""

import re
from collections import Counter

import pytest

from lm_eval_bias.benchmarks.bistereo import analogy_documents, nli_documents, pairs_documents
from lm_eval_bias.benchmarks.mist import documents as mist
from lm_eval_bias.data.lexicons import table


@pytest.mark.parametrize(
    "documents, texts, cells, slack, limits",
    [
        (
            analogy_documents.documents,
            ("analogy", "context", "a", "c"),
            [("gender", "axis")],
            10,
            (50, 200, 505, 1000),
        ),
        (
            mist.word_lists,
            ("sample", "pair", "dimension", "template"),
            [("pair",), ("dimension",), ("template",)],
            4,
            (30, 90, 100, 450, 1000),
        ),
        (
            mist.attributions,
            ("identifier", "word", "template"),
            [("side",), ("side", "domain"), ("side", "template")],
            3,
            (60, 200, 500, 1000),
        ),
    ],
    ids=["analogy", "wabt", "aat"],
)
def test_documents_are_unique_and_any_limit_holds_every_cell_in_proportion(
    built, documents, texts, cells, slack, limits
):
    """texts: what no two documents share. cells: columns whose cells every part has in proportion,
    but for `slack` documents."""
    docs = built(documents)
    assert len({tuple(d[text] for text in texts) for d in docs}) == len(docs)
    for columns in cells:
        labels = [tuple(d[column] for column in columns) for d in docs]
        for limit in limits:
            part = Counter(labels[:limit])
            for cell, n in Counter(labels).items():
                assert abs(part[cell] - limit * n / len(docs)) <= slack, (limit, cell)


@pytest.mark.parametrize(
    "module, texts, cells, question",
    [
        (
            nli_documents,
            ("premise", "hypothesis"),
            ("category", "words"),
            ("wording", "attribute", "direction"),
        ),
        (
            pairs_documents,
            ("desirable_sentence", "undesirable_sentence"),
            ("axis", "words", "sentiment"),
            ("wording", "variant", "gender", "attribute"),
        ),
    ],
)
def test_any_first_part_of_bistereo_has_as_many_placebos_as_bodies_of_every_words(
    built, module, texts, cells, question
):
    """But for what the limit cuts."""
    docs = built(module.documents)
    assert len({tuple(d[text] for text in texts) for d in docs}) == len(docs)
    for limit in (500, 2080, 7472):
        asked = {}
        for d in docs[:limit]:
            if d.get("attribute"):
                cell = (*(d[c] for c in cells), d["placebo"])
                asked.setdefault(cell, set()).add(tuple(d[c] for c in question))
        sizes = [len(asked.get((*of, x), ())) for *of, _ in asked for x in (True, False)]
        assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(
    "module, options",
    [
        (nli_documents, {"gender": "men", "domain": "behaviour"}),
        (pairs_documents, {"axis": "skin", "gender": "men"}),
    ],
)
def test_subsets_are_parts_of_the_whole_in_its_order(built, module, options):
    part = module.build(**options, version=1.0, pretrained="somewhere")["test"]
    chosen = [d for d in built(module.documents) if options.items() <= d.items()]
    assert [d for d in part if not d.get("check")] == chosen


@pytest.mark.parametrize(
    "name, more",
    [
        ("nli", r"skin\w*|tan\w*|smil\w*|polite\w*|black|white|brown"),
        ("pairs", r"tan|tanned|basketball|diet\w*|handsome|pretty|slim|obese"),
    ],
)
def test_no_template_mentions_minors_or_gives_looks_away(name, more):
    hints = rf"(?i)\b(girl|boy|child|kid|teen\w*|pale|complexion|beaut\w*|sunburn\w*|{more})\b"
    for row in table(f"bistereo_{name}_templates"):
        assert not re.search(hints, " ".join(row.values())), row
