"""The exhibits of MIST, HBB and StereoSet, on scripted answers whose rows can be counted by hand."""

from math import inf, isnan, log, nan

import pytest
from exhibit_slips import compared, place
from overt_rows import rows as overt_rows
from scipy.stats import t as student

from lm_eval_bias.benchmarks.hbb import documents as hbb
from lm_eval_bias.benchmarks.hbb import exhibits as hbb_exhibits
from lm_eval_bias.benchmarks.hbb import generate_measure as hbb_generate
from lm_eval_bias.benchmarks.hbb import measure as hbb_measure
from lm_eval_bias.benchmarks.hbb import sg_documents as hbb_sg
from lm_eval_bias.benchmarks.hbb import sg_measure
from lm_eval_bias.benchmarks.mist import documents as mist
from lm_eval_bias.benchmarks.mist import exhibits as mist_exhibits
from lm_eval_bias.benchmarks.mist import measure as mist_measure
from lm_eval_bias.benchmarks.stereoset import documents as stereoset
from lm_eval_bias.benchmarks.stereoset import exhibits as stereoset_exhibits
from lm_eval_bias.benchmarks.stereoset import measure as stereoset_measure
from lm_eval_bias.exhibit import rows
from lm_eval_bias.measure import tables

PER_CONCEPT = 116


def shown(measure, made, name):
    """The rows of the exhibit of that name."""
    (exhibit,) = [exhibit for exhibit in measure.exhibits if exhibit.name == name]
    return rows(exhibit, made)


def by(found, *keys):
    """Rows by the values of some columns."""
    result = {
        tuple(row[key] for key in keys) if len(keys) > 1 else row[keys[0]]: row for row in found
    }
    assert len(result) == len(found)
    return result


# ---- MIST, word lists


@pytest.fixture(scope="module")
def wabt():
    """Two samples of ten pairs. African: good words to S_a (score 1); Asian: the reverse (-1);
    Male: all words to S_a, so no score; Arab: refused; the six others: no valid list."""
    rule = {
        "African": lambda doc: [0 if good else 1 for good in doc["positive"]],
        "Asian": lambda doc: [1 if good else 0 for good in doc["positive"]],
        "Male": lambda doc: [0] * 10,
        "Arab": lambda doc: "refused",
    }
    docs = mist.word_lists(samples=2)
    records = [
        mist_measure.record_wabt(doc, [rule.get(doc["pair"], lambda doc: "unparsed")(doc)])
        for doc in docs
    ]
    return tables(mist_measure.WABT, mist_measure.summary_wabt(records))


def test_table_4_of_mist_counts_lists_by_dimension(wabt):
    """Of ten pairs, six lists each: two have a score, of 1 and -1, one is undefined, seven are
    invalid, one of these refused."""
    found = by(shown(mist_measure.WABT, wabt, "Table 4"), "dimension")
    assert list(found) == ["competence", "sociability", "morality"]
    for row in found.values():
        assert (
            row["bias_score_n"],
            row["bias_score"],
            row["bias_score_std"],
            row["bias_score_t"],
            row["bias_score_p"],
        ) == (12, 0, 1, 0, 1)
        assert (row["invalid"], row["undefined"], row["refused"]) == (70, 10, 10)


def test_figure_3_of_mist_has_each_group_and_dimension_and_a_gap_where_no_list_has_a_score(wabt):
    found = by(shown(mist_measure.WABT, wabt, "Figure 3"), "pair", "dimension")
    assert len(found) == 30 and not any(pair == "all" for pair, _ in found)
    assert {pair: found[pair, "morality"]["mean"] for pair in ("African", "Asian")} == {
        "African": 1,
        "Asian": -1,
    }
    for pair in ("Male", "Arab", "Aged"):
        row = found[pair, "competence"]
        assert (row["lists"], row["n"]) == (6, 0) and isnan(row["mean"]) and isnan(row["mean_low"])
    assert (
        found["Male", "morality"]["undefined"] == 100
        and found["Arab", "morality"]["refused"] == 100
    )


def test_lists_that_all_agree_have_no_interval_and_others_students_over_samples(wabt):
    """African scores by sample: 1, then -1, ... of four samples, so t has three degrees of freedom;
    an end beyond 1 is 1."""
    assert isnan(
        by(shown(mist_measure.WABT, wabt, "Bias scores with intervals"), "pair", "dimension")[
            "African", "morality"
        ]["mean_low"]
    )
    docs = [doc for doc in mist.word_lists(samples=4) if doc["pair"] == "African"]
    samples = list(dict.fromkeys(doc["sample"] for doc in docs))
    records = []
    for doc in docs:
        turned = samples.index(doc["sample"]) == 0
        records.append(
            mist_measure.record_wabt(doc, [[int(good == turned) for good in doc["positive"]]])
        )
    made = tables(mist_measure.WABT, mist_measure.summary_wabt(records))
    row = by(shown(mist_measure.WABT, made, "Bias scores with intervals"), "pair", "dimension")[
        "African", "morality"
    ]
    half = student.ppf(0.975, 3) * row["mean_stderr"]
    assert row["mean"] == pytest.approx(0.5) and half > 0.5
    assert (row["mean_low"], row["mean_high"]) == (pytest.approx(max(-1, 0.5 - half)), 1)
    one = by(shown(mist_measure.WABT, made, "Table 4"), "dimension")["morality"]
    assert (one["bias_score_low"], one["bias_score_high"]) == (row["mean_low"], row["mean_high"])


def test_the_likelihood_test_has_the_same_exhibits_and_no_refusals():
    docs = mist.word_lists_in_both_orders(samples=2)[:180]
    half = [(log(0.5), False)] * 20
    records = [mist_measure.record_wabt_likelihood(doc, half) for doc in docs]
    made = tables(mist_measure.WABT_LIKELIHOOD, mist_measure.summary_wabt_likelihood(records))
    assert [e.name for e in mist_measure.WABT_LIKELIHOOD.exhibits] == [
        e.name for e in mist_measure.WABT.exhibits
    ]
    row = by(shown(mist_measure.WABT_LIKELIHOOD, made, "Table 4"), "dimension")["morality"]
    assert (row["bias_score"], row["invalid"]) == (0, 0) and "refused" not in row


# ---- MIST, verdicts


@pytest.fixture(scope="module")
def aat():
    """Comedy for S_a, refused in template 1; tragedy for S_b, but for Asian names, which are
    neutral."""

    def verdict(doc):
        if doc["side"] == "a":
            return "comedy" if doc["template"] > 1 else "refused"
        return "neutrality" if doc["group"] == "Asian" else "tragedy"

    records = [mist_measure.record_aat(doc, [verdict(doc)]) for doc in mist.attributions()]
    return tables(mist_measure.AAT, mist_measure.summary_aat(records))


def test_table_5_of_mist_has_both_sides_in_one_row_with_the_verdicts_counted(aat):
    """Of 750 verdicts on either side a third of S_a is refused; Asian is 75 of the 750 of S_b."""
    (row,) = shown(mist_measure.AAT, aat, "Table 5")
    assert [row[f"{v}_a"] for v in ("comedy", "tragedy", "neutrality")] == [1, 0, 0]
    assert [row[f"{v}_b"] for v in ("comedy", "tragedy", "neutrality")] == pytest.approx(
        [0, 0.9, 0.1]
    )
    assert (row["verdicts_a"], row["verdicts_b"]) == (500, 750)
    assert row["refused"] == pytest.approx(100 / 6) and row["unparsed"] == 0


def test_figure_4_of_mist_is_in_percent_of_the_valid_verdicts_of_each_group(aat):
    found = by(shown(mist_measure.AAT, aat, "Figure 4"), "group", "verdict")
    assert len(found) == 16 * 3
    assert {v: found["Asian", v]["percent"] for v in ("comedy", "tragedy", "neutrality")} == {
        "comedy": 0,
        "tragedy": 0,
        "neutrality": 100,
    }
    assert found["American", "comedy"]["percent"] == 100 and found["American", "comedy"][
        "refused"
    ] == pytest.approx(100 / 3)
    for group in {group for group, _ in found}:
        assert sum(
            found[group, v]["percent"] for v in ("comedy", "tragedy", "neutrality")
        ) == pytest.approx(100)


def test_the_groups_of_a_domain_stand_together_s_a_first(aat):
    groups = list(dict.fromkeys(row["group"] for row in shown(mist_measure.AAT, aat, "Figure 4")))
    assert set(groups[:5]) == {"American", "African", "Asian", "Spanish-speaking", "Arab"}
    assert groups[0] == "American" and groups.index("Female") == min(
        map(groups.index, ("Female", "Male", "Transgender"))
    )
    assert abs(groups.index("Slim") - groups.index("Overweight")) == 1
    pairs = [row["pair"] for row in shown(mist_measure.AAT, aat, "Gaps with intervals")]
    assert (
        pairs[0] == "all"
        and len({pair.split(" − ")[0] for pair in pairs[1:5]}) == 1
        and len(pairs) == 22
    )


def test_a_group_without_a_valid_verdict_has_none_of_a_percentage():
    (row, *_) = mist_exhibits._by_verdict(
        [{"group": "x", "comedy": nan, "comedy_stderr": nan, "n": 3}]
    )
    assert row["percent"] is None and row["percent_stderr"] is None and row["n"] == 3


def test_gaps_name_their_pairs(aat):
    """All of S_a is comedy and nothing of S_b; Asian names have no tragedy either."""
    found = by(shown(mist_measure.AAT, aat, "Gaps with intervals"), "pair", "gap")
    assert len(found) == 22 and found["all", "comedy"]["value"] == pytest.approx(100)
    assert found["American − Asian", "tragedy"]["value"] == pytest.approx(0, abs=1e-9)
    assert found["Female − Male", "tragedy"]["value"] == pytest.approx(-100)


def test_by_likelihood_the_second_gap_is_that_of_the_probability():
    docs = mist.attributions()[:60]
    records = [
        mist_measure.record_aat_likelihood(
            doc, [["A description.", [(log(0.75), False), (log(0.25), False)]]]
        )
        for doc in docs
    ]
    made = tables(mist_measure.AAT_LIKELIHOOD, mist_measure.summary_aat_likelihood(records))
    assert {
        row["gap"] for row in shown(mist_measure.AAT_LIKELIHOOD, made, "Gaps with intervals")
    } == {"comedy", "probability"}
    (row,) = shown(mist_measure.AAT_LIKELIHOOD, made, "Table 5")
    assert (row["comedy_a"], row["comedy_b"], row["unparsed"]) == (1, 1, 0) and "refused" not in row


# ---- HBB by likelihood


def letters(docs, p):
    """Records: p says P(option 1) of a document."""
    found = []
    for doc in docs:
        share = p(doc) if doc["first"] == 1 else 1 - p(doc)
        found.append(
            hbb_measure.record(doc, [(log(share / 2), False), (log((1 - share) / 2), False)])
        )
    return found


def by_age(doc):
    return {"Young": 0.7, "Old": 0.4}.get(doc["identity"], 0.5)


def of_letters(docs, p, **options):
    summary = hbb_measure.summary(
        letters(docs, p), order="both", threshold=20.0, temperature=1.0, **options
    )
    return tables(hbb_measure.HBB, summary)


@pytest.fixture(scope="module")
def docs():
    return hbb.documents()[: 12 * PER_CONCEPT]


@pytest.fixture(scope="module")
def aged(docs):
    """One concept pair, P(option 1) 0.7 for the young, 0.4 for the old, 0.5 for all others: three
    of 67 instances have S = 30."""
    return of_letters(docs[:PER_CONCEPT], by_age)


def test_table_1_of_hbb_is_one_row_with_the_placebos_beside(aged):
    (row,) = shown(hbb_measure.HBB, aged, "Table 1")
    assert row["bias_score"] == pytest.approx(30) and (
        row["biased_count"],
        row["instances"],
        row["placebo_share"],
    ) == (3, 67, 0)
    assert row["biased_share"] == pytest.approx(300 / 67) and row[
        "excess_difference"
    ] == pytest.approx(90 / 67)


def test_table_2_of_hbb_has_the_twenty_types_with_their_instances_and_a_gap_for_no_score(aged):
    """Race has ten pairs of identities in each type, Religion six."""
    found = by(shown(hbb_measure.HBB, aged, "Table 2"), "type")
    assert len(found) == 20 and [
        found[name]["n"] for name in ("Age 3", "Race 4", "Religion 1", "Placebo 2")
    ] == [1, 10, 6, 1]
    assert found["Age 3"]["biased"] == 1 and found["Age 3"]["score"] == pytest.approx(30)
    assert (
        found["Race 4"]["biased"] == 0
        and isnan(found["Race 4"]["score"])
        and isnan(found["Placebo 1"]["excess"])
    )


def test_figure_3_of_hbb_counts_by_category_and_shows_the_placebos(aged):
    found = by(shown(hbb_measure.HBB, aged, "Figure 3"), "category")
    assert {name: row["biased"] for name, row in found.items()} == {
        "Age": 3,
        "Gender": 0,
        "Race": 0,
        "SES": 0,
        "Religion": 0,
        "Placebo": 0,
    }
    assert {name: row["n"] for name, row in found.items()} == {
        "Age": 3,
        "Gender": 4,
        "Race": 40,
        "SES": 2,
        "Religion": 18,
        "Placebo": 4,
    }


def test_figure_4_of_hbb_has_all_and_the_placebos_in_percent_of_each(aged):
    found = shown(hbb_measure.HBB, aged, "Figure 4")
    panels = {
        name: [row for row in found if row["instances"] == name]
        for name in ("all but placebos", "Placebo")
    }
    assert len(found) == 40 and all(
        sum(row["share"] for row in panel) == pytest.approx(100) for panel in panels.values()
    )
    assert (
        panels["all but placebos"][0]["share"] == pytest.approx(6400 / 67)
        and panels["Placebo"][0]["share"] == 100
    )
    assert [sum(row["count"] for row in panel) for panel in panels.values()] == [67, 4]


def test_tables_3_and_7_of_hbb_say_who_gets_which_concept(aged, docs):
    """P(option 1) is higher for the young: theirs is concept 1. Of three instances of Age; the
    others have S = 0 and associate nothing."""
    found = shown(hbb_measure.HBB, aged, "Table 7")
    one = docs[0]
    assert [row["type"] for row in found] == ["Age 1", "Age 2", "Age 3"]
    for row in found:
        assert (row["association_1"], row["association_2"]) == (
            f"Young ↔ {one['concept_1']}",
            f"Old ↔ {one['concept_2']}",
        )
        assert row["score"] == pytest.approx(30) and row["of"] == 3
    assert shown(hbb_measure.HBB, aged, "Table 3") == found[:1]


def test_the_excess_is_shown_of_all_and_each_category_and_not_of_the_placebos_themselves(aged):
    found = by(shown(hbb_measure.HBB, aged, "Excess over the placebos"), "category")
    assert list(found) == ["all", "Age", "Gender", "Race", "SES", "Religion"]
    assert found["all"]["excess"] == pytest.approx(90 / 67) and found["Age"][
        "excess"
    ] == pytest.approx(30)


def test_a_model_that_reacts_to_any_words_has_all_of_age_biased_and_no_excess(docs):
    """0.7 for the identity named first, 0.4 for the others, whoever they are: S is 30 in every type
    of two identities, placebos too."""
    made = of_letters(
        docs[:PER_CONCEPT], lambda doc: 0.7 if doc["identity"] == doc["identities"][0] else 0.4
    )
    found = by(shown(hbb_measure.HBB, made, "Figure 3"), "category")
    assert found["Age"]["share"] == found["Placebo"]["share"] == 100
    (row,) = shown(hbb_measure.HBB, made, "Table 1")
    assert row["placebo_share"] == 100 and row["biased_share"] < 100
    assert by(shown(hbb_measure.HBB, made, "Excess over the placebos"), "category")["Age"][
        "excess"
    ] == pytest.approx(0, abs=1e-9)


def test_the_favourable_option_has_a_direction(docs):
    """Option 1 is favourable in some concept pairs and option 2 in others; 0.7 and 0.4 for option 1
    are +30 and -30 points for it."""
    chosen = docs[: 6 * PER_CONCEPT]
    made = of_letters(chosen, by_age)
    judged = {
        doc["concept"]: {1: 30, 2: -30}[doc["favourable"]] for doc in chosen if doc["favourable"]
    }
    found = by(shown(hbb_measure.HBB, made, "Who gets the favourable option"), "pair")
    assert judged and found["Young − Old (Age 2)"]["advantage"] == pytest.approx(
        sum(judged.values()) / len(judged)
    )
    assert found["Asian − Black (Race 3)"]["advantage"] == pytest.approx(0, abs=1e-9)


def test_where_no_option_is_judged_favourable_nothing_is_shown_and_what_is_lacking_is_said(docs):
    made = of_letters([{**doc, "favourable": 0} for doc in docs[:PER_CONCEPT]], by_age)
    assert shown(hbb_measure.HBB, made, "Who gets the favourable option") == []
    assert hbb_exhibits.ADVANTAGE.needs


def test_without_placebos_the_excess_has_no_rows_and_figure_4_one_panel(docs):
    made = of_letters([doc for doc in docs[:PER_CONCEPT] if not doc["placebo"]], by_age)
    assert shown(hbb_measure.HBB, made, "Excess over the placebos") == []
    assert {row["instances"] for row in shown(hbb_measure.HBB, made, "Figure 4")} == {
        "all but placebos"
    }
    (row,) = shown(hbb_measure.HBB, made, "Table 1")
    assert (
        isnan(row["placebo_share"]) and isnan(row["excess_difference"]) and row["biased_count"] == 3
    )


def test_placebos_of_ones_own_are_told_by_their_types_not_by_their_name(docs):
    own = [
        {**doc, "category": "Nothing" if doc["placebo"] else "Placebo"}
        for doc in docs[:PER_CONCEPT]
    ]
    made = of_letters(own, by_age)
    assert {row["instances"]: None for row in shown(hbb_measure.HBB, made, "Figure 4")} == {
        "all but placebos": None,
        "Nothing": None,
    }


@pytest.fixture(scope="module")
def of_twelve_themes(docs):
    """Of the young 0.5 + 0.03 i in the i-th concept pair, so that themes differ; placebos move a
    little."""
    number = {concept: i for i, concept in enumerate(dict.fromkeys(doc["concept"] for doc in docs))}
    assert len({doc["theme"] for doc in docs}) == 12
    return of_letters(
        docs,
        lambda doc: (
            0.5 + 0.03 * number[doc["concept"]] * (doc["identity"] in ("Young", "April", "Asian"))
        ),
    )


def test_intervals_of_the_rows_are_students_over_themes_within_their_bounds(of_twelve_themes):
    """Twelve themes: t with 11 degrees of freedom, the bootstrap's variance times 12/11. S of Age
    is 3 i points, 20 or more for i from 7."""
    half = student.ppf(0.975, 11) * (12 / 11) ** 0.5
    row = by(shown(hbb_measure.HBB, of_twelve_themes, "Figure 3"), "category")["Age"]
    assert (row["n"], row["biased"], row["score"]) == (
        36,
        15,
        pytest.approx(3 * (7 + 8 + 9 + 10 + 11) / 5),
    )
    assert row["mean"] == pytest.approx(3 * 5.5)
    for name, least, most in (("biased", 0, 36), ("share", 0, 100), ("mean", 0, 100)):
        value, error = row[name], row[f"{name}_stderr"]
        assert error > 0
        assert row[f"{name}_low"] == pytest.approx(max(least, value - half * error))
        assert row[f"{name}_high"] == pytest.approx(min(most, value + half * error))
    assert isnan(row["score_stderr"]) and isnan(row["score_low"])  # five biased themes
    directed = by(shown(hbb_measure.HBB, of_twelve_themes, "Table 2"), "type")["Gender 1"]
    assert directed["share"] == 0 and isnan(directed["share_low"]), (
        "all themes agree: no width is no interval"
    )


def test_the_excess_of_table_1_has_the_interval_of_the_table_of_categories(of_twelve_themes):
    (row,) = shown(hbb_measure.HBB, of_twelve_themes, "Table 1")
    one = by(of_twelve_themes["categories"], "category")["all"]
    for end in ("", "_stderr", "_low", "_high"):
        assert row[f"excess_difference{end}"] == one[f"excess{end}"]
    assert row["excess_difference_low"] < row["excess_difference"] < row["excess_difference_high"]


def test_neither_letter_is_what_likelihoods_leave(aged):
    found = by(shown(hbb_measure.HBB, aged, "Neither letter"), "category")
    assert found["all"]["other"] == pytest.approx(50) and (
        found["Age"]["questions"],
        found["all"]["unanswered"],
    ) == (12, 0)


def test_results_without_the_newer_columns_are_shown_all_the_same(of_twelve_themes):
    """As an earlier version wrote them: no intervals but that of the excess, and no word of which
    category is the placebos."""

    def older(row):
        return {
            key: v
            for key, v in row.items()
            if key != "placebo"
            and not (key.endswith(("_low", "_high")) and not key.startswith("excess"))
        }

    made = {name: [older(row) for row in table] for name, table in of_twelve_themes.items()}
    made["numbers"] = [
        row for row in made["numbers"] if not row["metric"].endswith(("_low", "_high"))
    ]
    for exhibit in hbb_measure.HBB.exhibits:
        old, new = rows(exhibit, made), rows(exhibit, of_twelve_themes)
        assert len(old) == len(new)
        for one, other in zip(old, new, strict=True):
            assert {key for key in one if one[key] is None and other[key] is not None} <= {
                k for k in other if k.endswith(("_low", "_high"))
            }


# ---- HBB, sampled


@pytest.fixture(scope="module")
def sampled():
    """Ten answers to each question in one order: 6 to 2 for option 1 of the young, 2 to 6 of the
    old, 4 to 4 of all others; of each ten one refused, one another choice. S of Age is 100 (6/8 -
    2/8) = 50."""
    found = []
    for doc in [doc for doc in hbb.documents() if doc["first"] == 1][: PER_CONCEPT // 2]:
        n = {"Young": 6, "Old": 2}.get(doc["identity"], 4)
        found.append(hbb_generate.record(doc, ["a"] * n + ["b"] * (8 - n) + ["refused", "another"]))
    return tables(
        hbb_generate.HBB_GENERATE, hbb_generate.summary(found, order="paper", threshold=20)
    )


def test_the_sampled_protocol_has_the_papers_tables_with_chance_beside(sampled):
    names = [exhibit.name for exhibit in hbb_generate.HBB_GENERATE.exhibits]
    assert {"Table 1", "Table 2", "Table 3", "Table 6", "Table 7", "Figure 3", "Figure 4"} <= set(
        names
    )
    (row,) = shown(hbb_generate.HBB_GENERATE, sampled, "Table 1")
    assert (row["bias_score"], row["biased_count"], row["instances"]) == (
        pytest.approx(50),
        3,
        67,
    ) and 0 < row["chance_share"] < 100
    found = by(
        shown(hbb_generate.HBB_GENERATE, sampled, "Found and expected by chance"),
        "category",
        "which",
    )
    assert found["Age", "found"]["share"] == 100 and found["Gender", "found"]["share"] == 0
    # 8 of 16 answers chose option 1. Drawn without replacement, both have 4 with probability
    # C(8,4)^2 / C(16,8): else S is 25 or more.
    assert found["Age", "by chance"]["share"] == pytest.approx(100 * (1 - 70 * 70 / 12870))
    assert found["Age", "by chance"]["significant_share"] is None


def test_table_6_of_hbb_is_of_all_answers_with_its_parts(sampled):
    found = by(shown(hbb_generate.HBB_GENERATE, sampled, "Table 6"), "category")
    assert found["all"]["answers"] == 500 and found["Placebo"]["answers"] == 80
    for row in found.values():
        assert (
            row["refused"],
            row["declined"],
            row["another"],
            row["unparsed"],
            row["cut_off"],
        ) == (20, 10, 10, 0, 0)


# ---- HBB-SG


def test_semi_generation_has_tables_8_and_9_and_figures_8_and_9():
    """All sentences of option 1 are 3 times as likely per token of the young as those of option 2:
    P = 0.75; otherwise 0.5. S is 25."""

    def likelihoods(doc):
        one = -1.0 + (log(3) if doc["identity"] == "Young" else 0)
        return [
            (10 * (one if i < doc["split"] else -1.0), False, 10)
            for i in range(len(doc["choices"]))
        ]

    records = [
        sg_measure.record(doc, likelihoods(doc))
        for doc in list(hbb_sg.documents())[: PER_CONCEPT // 2]
    ]
    made = tables(sg_measure.HBB_SG, sg_measure.summary(records, threshold=20))
    names = [exhibit.name for exhibit in sg_measure.HBB_SG.exhibits]
    assert {"Table 8", "Table 9", "Figure 8", "Figure 9"} <= set(names)
    assert not {"Table 1", "Table 2", "Figure 3", "Figure 4", "Table 6"} & set(names)
    (row,) = shown(sg_measure.HBB_SG, made, "Table 8")
    assert (row["bias_score"], row["biased_count"]) == (pytest.approx(25), 3)
    assert by(shown(sg_measure.HBB_SG, made, "Table 9"), "type")["Age 2"]["score"] == pytest.approx(
        25
    )
    assert by(shown(sg_measure.HBB_SG, made, "Figure 8"), "category")["Age"]["biased"] == 3
    assert shown(sg_measure.HBB_SG, made, "Figure 9")[5]["count"] == 3  # from 25 to 30


# ---- StereoSet


@pytest.fixture(scope="module")
def chosen():
    """Always the letter of the stereotype, of terms that begin before "m"; of the others that of
    its opposite."""
    found = []
    for doc in stereoset.letters(overt_rows("intrasentence")):
        best = doc["letters"][0 if doc["target"] < "m" else 1]
        found.append(
            stereoset_measure.choice_record(
                doc, [(log(0.8) if letter == best else log(0.1), False) for letter in "abc"]
            )
        )
    return found, tables(
        stereoset_measure.INTRASENTENCE_CHOICE, stereoset_measure.choice_summary(found)
    )


def test_stereoset_sets_its_column_of_table_1_beside_the_domains(chosen):
    """lms is 100, since the unrelated sentence is never chosen; ss the share of terms before "m"."""
    records, made = chosen
    terms = {r["target"] for r in records}
    ss = 100 * sum(term < "m" for term in terms) / len(terms)
    (row,) = shown(stereoset_measure.INTRASENTENCE_CHOICE, made, "Table 1")
    assert row["chosen_lms"] == 100 and row["chosen_ss"] == pytest.approx(ss)
    assert row["chosen_icat"] == pytest.approx(100 * min(ss, 100 - ss) / 50)
    titles = [
        measure.exhibits[0].columns[0].title
        for measure in (
            stereoset_measure.INTRASENTENCE_CHOICE,
            stereoset_measure.INTERSENTENCE_CHOICE,
        )
    ]
    assert titles == ["SC-intra", "SC-inter"]
    found = by(shown(stereoset_measure.INTRASENTENCE_CHOICE, made, "Scores by domain"), "bias_type")
    assert found["all"]["ss"] == pytest.approx(ss)


def test_an_ss_near_50_may_be_made_of_terms_at_both_ends(chosen):
    records, made = chosen
    found = shown(stereoset_measure.INTRASENTENCE_CHOICE, made, "Stereotype score by term")
    terms = {(r["bias_type"], r["target"]) for r in records}
    assert sum(row["count"] for row in found if row["from"] == 90) == sum(
        term < "m" for _, term in terms
    )
    assert sum(row["count"] for row in found if row["from"] == 0) == sum(
        term >= "m" for _, term in terms
    )
    assert sum(row["count"] for row in found) == len(terms)


def test_terms_fall_into_the_bin_that_begins_with_their_score_and_those_without_one_are_left_out():
    """100 belongs to the last bin; 30 to that from 30, also where it comes out a hair below."""
    scores = [0.0, 9.9, 10.0, 100 * 0.3 - 1e-12, 100.0, nan, None, "50", inf]
    found = stereoset_exhibits._counted(
        [{"bias_type": "d", "ss": ss} for ss in scores] + [{"bias_type": "none", "ss": nan}]
    )
    assert {row["from"]: row["count"] for row in found if row["count"]} == {
        0: 2,
        10: 1,
        30: 1,
        90: 1,
    }
    assert {row["bias_type"] for row in found} == {"d"} and {row["terms"] for row in found} == {5}


# ---- All of them


def test_every_cell_that_a_paper_prints_finds_its_row_and_column(wabt, aat, aged, sampled, chosen):
    """MIST 4 and 5: 8 models, 3 dimensions and 5 numbers, and 6 numbers. HBB 1 and 2: 6 models, 2
    numbers, and 16 types of 2; sampled, Table 6 too. StereoSet: one column."""
    expected = [
        (mist_measure.WABT, wabt, 8 * 3 * 5),
        (mist_measure.AAT, aat, 8 * 6),
        (hbb_measure.HBB, aged, 6 * 2 + 6 * 16 * 2),
        (hbb_generate.HBB_GENERATE, sampled, 6 * 2 + 6 * 16 * 2 + 6),
        (stereoset_measure.INTRASENTENCE_CHOICE, chosen[1], 6),
    ]
    for measure, made, count in expected:
        cells = list(compared(measure))
        assert len(cells) == count
        assert all(place(exhibit, cell, made) is not None for exhibit, cell in cells)


@pytest.mark.parametrize("wrong", [None, "text", nan, inf, -inf, True])
def test_a_cell_that_is_no_number_breaks_nothing(wrong, wabt, aat, aged, sampled, chosen):
    """A results file may have been written by anything."""
    for measure, made in (
        (mist_measure.WABT, wabt),
        (mist_measure.AAT, aat),
        (hbb_measure.HBB, aged),
        (hbb_generate.HBB_GENERATE, sampled),
        (stereoset_measure.INTRASENTENCE_CHOICE, chosen[1]),
    ):
        spoilt = {
            name: [{key: wrong for key in row} for row in table]
            for name, table in made.items()
            if name != "numbers"
        }
        for exhibit in measure.exhibits:
            rows(exhibit, spoilt)
            rows(exhibit, {name: [{} for _ in table] for name, table in spoilt.items()})
            assert rows(exhibit, {}) == []
