import json
import subprocess
import sys
from collections import Counter

import pytest

from lm_eval_bias.benchmarks.mist import documents as mist
from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.usage import UsageError


@pytest.fixture(scope="module")
def lists():
    return mist.word_lists()


@pytest.fixture(scope="module")
def asked():
    return mist.attributions()


@pytest.fixture(scope="module")
def paper(shared):
    return (shared / "papers" / "mist.txt").read_text()


def test_identifiers_are_table_1s(paper):
    """Each row of the table ends with its identifiers, and stands for the side that we give it."""
    rows = [
        row
        for row in (line.split("\t") for line in paper.splitlines())
        if len(row) == 5 and row[2].startswith("$S_")
    ]
    assert len(rows) == 16
    printed = {row[4]: ("a" if row[2] == "$S_a$" else "b") for row in rows}
    assert printed == {
        ", ".join(g["identifiers"]): g["side"] for g in lexicon("mist")["groups"].values()
    }
    for row in rows:
        if row[3] != "-":
            assert lexicon("mist")["groups"][row[3]]["identifiers"] == tuple(row[4].split(", "))


def test_attributes_are_table_2s(paper):
    rows = [line.split("\t") for line in paper.splitlines() if "\t$X_" in line]
    printed = [tuple(row[2].rstrip(".").split(", ")) for row in rows]
    ours = [
        words
        for polarities in lexicon("mist")["attributes"].values()
        for words in (polarities["positive"], polarities["negative"])
    ]
    assert printed == ours and len(ours) == 6


def test_neutral_words_are_table_3s(paper):
    for category, words in lexicon("mist")["neutral_words"].items():
        assert f"{category}\t{', '.join(words)}" in paper
    assert len(mist.neutral_words()) == len(set(mist.neutral_words())) == 30


def test_ten_pairs_of_one_domain_each():
    groups = lexicon("mist")["groups"]
    assert len(mist.pairs()) == 10
    assert Counter(groups[a]["domain"] for a, _ in mist.pairs().values()) == {
        "race": 4,
        "gender": 2,
        "disability": 1,
        "weight": 1,
        "age": 1,
        "mind": 1,
    }
    assert all(
        groups[a]["side"] == "a"
        and groups[b]["side"] == "b"
        and groups[a]["domain"] == groups[b]["domain"]
        for a, b in mist.pairs().values()
    )


def test_wabt_has_the_papers_size(lists):
    assert len(lists) == 4500
    assert set(Counter((x["pair"], x["dimension"], x["template"]) for x in lists).values()) == {50}


def test_a_list_holds_five_words_of_either_polarity_and_an_identifier_of_either_group(lists):
    groups = lexicon("mist")["groups"]
    for x in lists:
        polarities = lexicon("mist")["attributes"][x["dimension"]]
        assert sum(x["positive"]) == 5 and len(set(x["words"])) == 10
        assert all(
            word in polarities["positive" if positive else "negative"]
            for word, positive in zip(x["words"], x["positive"], strict=True)
        )
        assert all(
            i in groups[group]["identifiers"]
            for i, group in zip(x["groups"], mist.pairs()[x["pair"]], strict=True)
        )
        assert sorted(x["named"]) == sorted(x["groups"])


def test_the_templates_of_a_sample_share_all_but_the_wording(lists):
    samples = {}
    for x in lists:
        samples.setdefault((x["sample"], x["dimension"]), []).append(
            {k: v for k, v in x.items() if k != "template"}
        )
    assert len(samples) == 1500 and all(
        len(same) == 3 and same[0] == same[1] == same[2] for same in samples.values()
    )
    identifiers = {}
    for (sample, _), same in samples.items():
        identifiers.setdefault(sample, set()).add(tuple(same[0]["groups"]))
    assert all(len(found) == 1 for found in identifiers.values())


def test_which_group_is_named_first_is_balanced(lists):
    assert set(
        Counter((x["pair"], x["dimension"], x["named"] == x["groups"]) for x in lists).values()
    ) == {75}


def test_the_order_of_the_words_does_not_show_their_polarity(lists):
    """Positive words stand at each of the ten places about half of the time: 750 of 1,500 lists,
    standard deviation 19."""
    once = [x for x in lists if x["template"] == 1]
    for place in range(10):
        assert abs(sum(x["positive"][place] for x in once) - 750) < 80


@pytest.mark.parametrize("n", [30, 90, 100, 450, 1000])
def test_any_limit_is_a_fair_sample_of_wabt(lists, n):
    for key, levels in (("pair", 10), ("dimension", 3), ("template", 3)):
        counts = Counter(x[key] for x in lists[:n])
        assert len(counts) == levels and max(counts.values()) - min(counts.values()) <= 4
    assert abs(sum(x["named"] == x["groups"] for x in lists[:n]) - n / 2) <= n / 10


def test_another_seed_draws_other_lists_and_the_same_seed_the_same(lists):
    assert mist.word_lists() == lists
    other = mist.word_lists(seed=1, samples=2)
    assert len(other) == 180 and [x["words"] for x in other] != [x["words"] for x in lists[:180]]
    assert mist.word_lists(samples=2) == lists[:180]


def test_aat_has_the_papers_size_and_balance(asked):
    assert len(asked) == 1500
    once = [x for x in asked if x["template"] == 1]
    assert len({(x["identifier"], x["word"]) for x in once}) == 500
    assert Counter(x["side"] for x in once) == {"a": 250, "b": 250}
    # 25 for each of the ten pairs: American stands in four of them, Female in two
    assert Counter(Counter(x["group"] for x in once if x["side"] == "a").values()) == {
        100: 1,
        50: 1,
        25: 4,
    }
    assert set(Counter(x["group"] for x in once if x["side"] == "b").values()) == {25}
    assert (
        set(Counter(x["word"] for x in once).values()) == {16, 17}
        and len({x["word"] for x in once}) == 30
    )
    for group in lexicon("mist")["groups"].values():
        counts = Counter(x["identifier"] for x in once if x["identifier"] in group["identifiers"])
        assert (
            len(counts) == len(group["identifiers"])
            and max(counts.values()) - min(counts.values()) <= 2
        )
    for side in "ab":
        counts = Counter(x["word"] for x in once if x["side"] == side)
        assert len(counts) == 30 and max(counts.values()) - min(counts.values()) <= 1


@pytest.mark.parametrize("seed", range(6))
def test_each_domain_is_asked_of_both_sides_equally_often(seed):
    """S_a was 42 times race, 41 gender, 167 health, S_b 100, 50, 100: what a model says of a domain
    stood in the gap."""
    once = mist.attributions(seed)[:500]
    counts = Counter((x["domain"], x["side"]) for x in once)
    assert (
        counts["race", "a"] == counts["race", "b"] == 100
        and counts["gender", "a"] == counts["gender", "b"] == 50
    )
    assert all(
        counts[d, side] == 25 for d in ("disability", "weight", "age", "mind") for side in "ab"
    )


def test_an_attribution_knows_the_domain_and_side_of_its_group(asked):
    groups = lexicon("mist")["groups"]
    assert all(
        (x["domain"], x["side"]) == (groups[x["group"]]["domain"], groups[x["group"]]["side"])
        for x in asked
    )


def test_every_combination_is_asked_with_every_template(asked):
    assert set(Counter((x["identifier"], x["word"]) for x in asked).values()) == {3}
    assert len({(x["identifier"], x["word"], x["template"]) for x in asked}) == 1500


@pytest.mark.parametrize("n", [60, 200, 500, 1000])
def test_any_limit_is_a_fair_sample_of_aat(asked, n):
    first = asked[:n]
    assert abs(sum(x["side"] == "a" for x in first) - n / 2) <= 1
    for side in "ab":
        counts = Counter(x["domain"] for x in first if x["side"] == side)
        for domain, share in {
            "race": 0.2,
            "gender": 0.1,
            "disability": 0.05,
            "weight": 0.05,
            "age": 0.05,
            "mind": 0.05,
        }.items():
            assert abs(counts[domain] - share * n) <= 2
        templates = Counter(x["template"] for x in first if x["side"] == side)
        assert max(templates.values()) - min(templates.values()) <= 3
    if n >= 200:  # no group hangs on a template
        assert len({(x["group"], x["template"]) for x in first}) == 48


@pytest.mark.parametrize("combinations", [2, 3, 61, 740])
def test_aat_of_other_sizes(combinations):
    asked = mist.attributions(7, combinations)
    assert (
        len(asked)
        == 3 * combinations
        == len({(x["identifier"], x["word"], x["template"]) for x in asked})
    )


@pytest.mark.parametrize(
    ("options", "chosen", "message"),
    [
        (
            mist.wabt_options,
            {"samples": 0},
            "samples=0 in --metadata: expected a whole number of at least 1",
        ),
        (
            mist.wabt_options,
            {"seed": "x"},
            "seed='x' in --metadata: expected a whole number of at least 0",
        ),
        (mist.wabt_options, {"samples": True}, "samples=True"),
        (
            mist.aat_options,
            {"combinations": 741},
            "combinations=741 in --metadata: expected a whole number from 2 to 740",
        ),
        (mist.aat_options, {"combinations": 2.5}, "combinations=2.5"),
    ],
)
def test_a_mistake_in_the_options_says_what_was_expected(options, chosen, message):
    with pytest.raises(UsageError, match=message.replace("'", ".")):
        options(**chosen)


def test_full_size_documents_build_in_seconds_and_little_memory():
    """All four tasks' datasets, with all that was imported, in a process of its own; ru_maxrss
    would be that of the process that started it."""
    code = (
        "import datasets, re, time, lm_eval_bias.benchmarks.mist.documents as m\n"
        "start = time.process_time()\n"
        "made = [m.build_wabt(), m.build_wabt_in_both_orders(), m.build_aat()]\n"
        "print([len(x['test']) for x in made], time.process_time() - start, int(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1]) / 1024)"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    sizes, rest = out.split("]")
    seconds, megabytes = map(float, rest.split())
    assert json.loads(sizes + "]") == [4500, 9000, 1500] and seconds < 10 and megabytes < 500


def test_choices_come_in_pairs_as_the_prompt_asks_for_them(lists):
    x = lists[0]
    assert mist.pair_choices(x)[:2] == [
        f"({x['words'][0]}, {x['groups'][0]})",
        f"({x['words'][0]}, {x['groups'][1]})",
    ]
    assert len(mist.pair_choices(x)) == 20
