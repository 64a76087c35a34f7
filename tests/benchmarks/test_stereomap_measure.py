"""StereoMap's numbers of models whose perceptions are known."""

import random
import re
from math import isnan, log

import pytest
from rated import answered, as_people
from scipy import stats

from lm_eval_bias import catalogue
from lm_eval_bias.benchmarks.stereomap import documents as stereomap, measure
from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.harness.templates import render


def asked(part, rating, rounds=10, keywords=(), **options):
    """Records of a part, of the 24 groups."""
    of = getattr(measure, part.upper())
    docs = stereomap.documents(part, rounds=rounds, groups="fiske", **options)
    return [of.record(doc, answered(doc, rating, keywords)) for doc in docs]


def summary(part, records):
    """values, tables by name, and all notes as one text."""
    found = getattr(measure, part.upper()).summary(records)
    notes = " ".join(row["note"] for row in found.tables.get("notes", ()))
    return {name: of.value for name, of in found.values.items()}, found.tables, notes


def by(column, table):
    return {row[column]: row for row in table}


def test_ratings_of_fiskes_clusters_agree_wholly_and_have_the_signs_of_the_authors_test():
    values, tables, notes = summary("original", asked("original", as_people))
    assert values["agreement"] == 1 and values["agreement_p"] < 0.001
    assert values["agreement_competence"] > 0.9 and values["agreement_warmth"] > 0.9
    clusters = lexicon("stereomap_paper_values")["table_2"]["fiske"]["clusters"]
    printed = {frozenset(c["groups"]): (c["competence"], c["warmth"]) for c in clusters}
    assert len(tables["clusters"]) == 5
    groups = by("group", tables["groups"])
    assert all(row["left_its_cluster"] < 0.2 for row in groups.values())
    for row in tables["clusters"]:
        members = row["members"].split(", ")
        for name, of in zip(("competence", "warmth"), printed[frozenset(members)], strict=True):
            assert row[name] == pytest.approx(of, abs=0.1)
        means = ([groups[g][name] for g in members] for name in ("competence", "warmth"))
        t, p = stats.ttest_rel(*means)
        assert (row["t"], row["p"]) == pytest.approx((t, p))
        assert row["sign"] == ("=" if p >= 0.001 else "<>"[int(t > 0)])
    # 6 + 3 of the 24 groups are in clusters with a sign; the poor, welfare recipients and the
    # homeless differ by .45, which three groups cannot tell at .001.
    assert (values["mixed_groups"], values["unstable_groups"], notes) == (37.5, 0, "")
    assert tables["clusters"][0]["cluster"] == "low-low"
    agreements = [(row["source"], row["agreement"] < 1) for row in tables["agreement"]]
    models = ("davinci", "gpt-3.5", "bard")
    assert agreements == [("fiske", False), *((model, True) for model in models)]


def test_a_model_that_always_says_the_same_has_no_clusters():
    values, tables, _ = summary("extended", asked("extended", lambda doc, item: 3))
    for name in ("agreement", "mixed_groups", "unstable_groups", "agreement_competence"):
        assert isnan(values[name]), name
    names = ("competence", "warmth", "competence_spread", "competence_cv")
    assert [values[name] for name in names] == [3, 3, 0, 0]
    assert all(row["cluster"] is None for row in tables["groups"])


def test_a_group_that_nobody_rated_is_left_out_of_the_clusters():
    records = asked(
        "original",
        lambda doc, item: "refused" if doc["group"] == "Poor people" else as_people(doc, item),
    )
    values, tables, _ = summary("original", records)
    assert values["agreement"] == 1  # of the 23 others
    assert by("source", tables["agreement"])["fiske"]["groups"] == 23
    assert sum(row["groups"] for row in tables["clusters"]) == 23
    row = by("group", tables["groups"])["Poor people"]
    assert row["cluster"] is None and row["refused"] == 1 and isnan(row["competence"])
    assert values["refused"] == pytest.approx(1 / 24)
    assert values["unanswered"] == pytest.approx(100 / 24)


def test_how_firm_a_cluster_is_is_not_known_of_one_rating_each():
    def rating(doc, item):
        return as_people(doc, item) if item in ("competent", "warm") else None

    values, tables, _ = summary("original", asked("original", rating, rounds=1))
    assert isnan(values["unstable_groups"]) and values["agreement"] > 0
    row = tables["groups"][0]
    assert isnan(row["left_its_cluster"]) and row["unstable"] is None


def test_equal_scores_are_tied_whatever_rounding_makes_of_them():
    """Competence is (3 x 4.7 + 7 x 1.1) / 10 = 2.18 of all groups, in an order of rounds that is
    each group's own."""

    def rating(doc, item):
        rounds = random.Random(f"{doc['group']}{item}").sample(range(1, 11), 10)
        fives = 3 if doc["scales"][item][0] == "Competence" else 1 + len(doc["group"]) % 5
        return 4.7 if rounds[doc["round"] - 1] <= fives else 1.1

    values, _, _ = summary("extended", asked("extended", rating))
    assert isnan(values["agreement_competence"]) and not isnan(values["agreement_warmth"])


def test_groups_that_lack_an_item_are_named_for_items_are_not_rated_alike():
    """Honest is rated 1 and all else 3, of all groups alike; for names of more than ten letters it
    is left out."""
    long = [g["name"] for g in stereomap.social_groups("extended", "fiske") if len(g["name"]) > 10]
    records = asked(
        "extended",
        lambda doc, item: (None if doc["group"] in long else 1) if item == "Honest" else 3,
        rounds=2,
    )
    _, tables, notes = summary("extended", records)
    rows = by("group", tables["groups"])
    # Morality is (3 + 1) / 2, or 3; warmth its mean with a sociability of 3.
    assert rows["Asians"]["warmth"] == 2.5 and rows[long[0]]["warmth"] == 3
    assert rows["Asians"]["unanswered"] == 0
    assert rows[long[0]]["unanswered"] == pytest.approx(100 / 13)
    assert notes.endswith(f": Honest of {', '.join(long)}.")


def test_several_answers_to_a_prompt_in_a_round_are_one():
    """Of 2 and 4 in each round the mean is 3, which does not vary; in rounds of their own they
    would, by 1/3."""
    less, more = (
        asked("extended", lambda doc, item, n=n: n + (doc["group"] == "Men") * 0.5, rounds=3)
        for n in (2, 4)
    )
    values, _, _ = summary("extended", less + more)
    assert values["competence"] == pytest.approx(3 + 0.5 / 24) and values["competence_cv"] == 0


def test_clusters_of_noise_are_unstable():
    def noise(doc, item):
        return 3 + random.Random(f"{doc['group']}{item}{doc['round']}").choice([-1, 0, 1])

    values, tables, _ = summary("extended", asked("extended", noise))
    assert values["unstable_groups"] > 50
    rows = tables["groups"]
    assert [row["unstable"] for row in rows] == [row["left_its_cluster"] >= 0.2 for row in rows]
    unstable = sum(row["unstable"] for row in rows)
    assert values["unstable_groups"] == pytest.approx(100 * unstable / 24)


@pytest.mark.parametrize("words, sign", [("Competence", ">"), ("Warmth", "<")])
def test_words_that_are_rated_higher_of_anyone_are_no_mixed_stereotype(words, sign):
    """Each group is liked more or less, by .6 points from its neighbour, and the words of one
    dimension half a point more of all."""
    groups = stereomap.social_groups("extended", "fiske")
    places = {g["name"]: 1.2 + i % 5 * 0.6 for i, g in enumerate(groups)}

    def liking(doc, item):
        noise = random.Random(f"{doc['group']}{item}{doc['round']}").gauss(0, 0.1)
        return places[doc["group"]] + (doc["scales"][item][0] == words) / 2 + noise

    values, tables, _ = summary("extended", asked("extended", liking, rounds=5))
    assert {row["sign"] for row in tables["clusters"]} == {sign}
    assert values["mixed_groups"] == 100
    assert values["competence_warmth"] > 0.9


# ---- By likelihood


def by_likelihood(part, says):
    """Records of a part: .9 on the point that says(doc) names, .02 on each of the others."""
    of = getattr(measure, f"{part.upper()}_LIKELIHOOD")
    return [
        of.record(doc, [(log(0.9 if point == answer else 0.02), False) for point in range(1, 6)])
        for doc in stereomap.likelihood_documents(part, groups="fiske")
        for answer in [says(doc)]
    ]


@pytest.mark.parametrize("part", measure.DIMENSIONS)
def test_four_whatever_is_asked_makes_no_difference_of_groups(part):
    records = by_likelihood(part, lambda doc: 4)
    found, _, _ = summary(f"{part}_likelihood", records)
    for dimension in measure.DIMENSIONS[part]:
        name = dimension.lower().replace(" ", "_")
        # Four on the rising scale is two on the falling one: in the middle of the log-odds is
        # three.
        assert (found[name], found[f"{name}_spread"]) == pytest.approx((3, 0))
    assert found["rating_mass"] == pytest.approx(98)
    assert found["unanswered"] == found["left_out"] == 0
    # a limit that cuts a rating in two
    assert summary(f"{part}_likelihood", records[:3])[0]["left_out"] == 1


def test_a_model_that_reads_the_scale_has_its_ratings_whichever_way_that_runs():
    template = catalogue.task("stereomap_extended_likelihood").config["doc_to_text"]

    def says(doc):
        prompt = render(template, doc)
        text = re.search(r"members of (.*?) are viewed", prompt)
        rating = 5 if text and text[1] == "Women" and "Friendly" in prompt else 2
        return rating if "1=not at all" in prompt or "1=very negatively" in prompt else 6 - rating

    _, tables, _ = summary("extended_likelihood", by_likelihood("extended", says))
    groups = by("group", tables["groups"])
    two, five = ((0.9 * k + 0.02 * (15 - k)) / 0.98 for k in (2, 5))
    assert groups["Men"]["warmth"] == pytest.approx(two)
    # Sociability is the mean of Friendly and Sociable, warmth that of sociability and morality.
    assert groups["Women"]["warmth"] == pytest.approx(((five + two) / 2 + two) / 2)


@pytest.mark.parametrize("follows", ["name", "scale"])
def test_a_point_that_follows_the_groups_name_differs_from_one_that_follows_the_scale(follows):
    def says(doc):
        length = len(doc["group"]) % 5 + 1
        return 6 - length if (follows, doc["direction"]) == ("scale", "falling") else length

    by_name = follows == "name"
    values, _, _ = summary("extended_likelihood", by_likelihood("extended", says))
    assert values["direction_agreement"] == pytest.approx(-1 if by_name else 1)
    assert (values["warmth_spread"] == pytest.approx(0)) == by_name


def test_directions_agree_about_nothing_where_groups_do_not_differ():
    records = by_likelihood("extended", lambda doc: len(doc["item"]) % 5 + 1)
    values, _, _ = summary("extended_likelihood", records)
    assert isnan(values["direction_agreement"])


# ---- Emotions and behaviours


def test_table_8_has_the_correlations_that_the_ratings_have():
    def rating(doc, item):
        """Active facilitation follows warmth, passive harm follows it backwards."""
        dimension = doc["scales"][item][0]
        followed = "Warmth" if dimension in ("Active Facilitation", "Passive Harm") else dimension
        points = 1 + 4 * random.Random(f"{doc['group']}{followed}").random()
        return 6 - points if dimension == "Passive Harm" else points

    values, tables, _ = summary("behavior", asked("behavior", rating, rounds=1))
    rows = {(row["stereotype_or_emotion"], row["tendency"]): row for row in tables["tendencies"]}
    assert len(rows) == 24
    same, opposite = (rows["Warmth", name] for name in ("Active Facilitation", "Passive Harm"))
    assert (same["rho"], same["stars"], same["same_sign"]) == (pytest.approx(1), "***", True)
    assert opposite["rho"] == pytest.approx(-1) and opposite["rho_of_people"] == -0.24
    for row in rows.values():
        assert row["groups"] == 24
        assert abs(row["rho"]) > 0.999 or row["rho_low"] < row["rho"] < row["rho_high"]
    starred = [row for row in rows.values() if row["stars_of_people"]]
    assert values["people_signs"] == sum(row["same_sign"] for row in rows.values())
    assert values["people_signs_significant"] == sum(row["same_sign"] for row in starred)
    assert len(starred) == 16


# ---- Keywords and styles


def test_keywords_are_counted_by_what_the_dictionary_knows_of_them():
    keywords = [
        ["caring", "written", [["sociability", 1], ["morality", 1]]],
        ["lazier", "lemma", [["ability", -1]]],
        ["blorp", None, []],
    ]
    records = asked("extended", as_people, rounds=1, keywords=keywords)
    values, tables, notes = summary("extended", records)
    assert notes == ""
    assert values["keyword_coverage"] == pytest.approx(200 / 3)
    coverage = [row["keyword_coverage"] for row in tables["keyword_coverage"]]
    assert coverage == pytest.approx([100 / 3, 200 / 3])


def test_the_coefficient_of_variation_over_rounds_and_styles():
    """Ratings alternate between 2 and 4 over rounds in the paper's style (mean 3, standard
    deviation 1: 1/3), and are 3 of men and in the others, of which one refuses all but men."""

    def rating(doc, item):
        men = doc["group"] == "Men"
        if doc["style"] == "neither" and not men:
            return "refused"
        return 3 + (1 if doc["round"] % 2 else -1) * (doc["style"] == "paper" and not men)

    values, tables, _ = summary("extended", asked("extended", rating, style="all"))
    rows = by("style", tables["styles"])
    assert list(rows) == ["paper", "no chain of thought", "no instructions", "neither"]
    assert rows["paper"]["competence_cv"] == pytest.approx(23 / 24 / 3)
    # of the paper's style alone
    assert (values["competence_cv"], values["competence"]) == pytest.approx((23 / 24 / 3, 3))
    # 10 of 20 rounds deviate by 1, the others by 0: sqrt(1/2) / 3.
    others = rows["no instructions"]
    assert others["competence_cv_with_paper"] == pytest.approx(23 / 24 * 0.5**0.5 / 3)
    assert others["warmth_cv"] == 0
    assert rows["neither"]["refused"] == pytest.approx(23 / 24)
    # Of men alone; the others' would be those of the paper's style.
    assert rows["neither"]["competence_cv_with_paper"] == 0


def test_no_number_is_evidence_of_bias_and_no_spread_has_a_direction():
    for task in catalogue.tasks():
        if task.name.startswith("stereomap"):
            for metric in task.measure.metrics:
                assert metric.question is metric.null_value is None, metric.name
                assert metric.better is None or not metric.name.endswith("_spread")
