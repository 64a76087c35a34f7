"""StereoMap's numbers of models whose perceptions are known."""

import random
import re
from math import isnan, log

import numpy as np
import pytest
from lm_eval_bias.metrics.partition import rand_test
from rule_model import RuleLM, evaluate, numbers_of

from lm_eval_bias.benchmarks.stereomap import documents as stereomap
from lm_eval_bias.benchmarks.stereomap import measure, ratings
from lm_eval_bias.data.lexicons import lexicon

REFUSAL_READ = "refused"


@pytest.fixture(scope="module", autouse=True)
def quickly():
    """Fewer starts and resamples of k-means than a run has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ratings, "STARTS", 10)
        patch.setattr(ratings, "DRAWS", 25)
        yield


def asked(part, rating, groups="fiske", rounds=10, keywords=(), **options):
    """Records of a part: rating(doc, item) is what the model says, None for no rating, a text for a
    whole answer."""
    documents = stereomap.documents(part, rounds=rounds, groups=groups, **options)
    records = []
    for doc in documents:
        found = {item: rating(doc, item) for item in doc["items"]}
        said = next((value for value in found.values() if isinstance(value, str)), None)
        answer = {
            "ratings": {item: value for item, value in found.items() if value is not None},
            "keywords": [k for k, *_ in keywords],
        }
        records.append(
            getattr(measure, part.upper()).record(
                doc, [said or {**answer, "content": list(keywords)}]
            )
        )
    return records


def summary(part, records):
    return getattr(measure, part.upper()).summary(records)


def as_people(doc, item):
    """The mean of the group's cluster among people, with noise."""
    dimension = doc["scales"][item][0].lower()
    people = doc["published"]["fiske"]
    random_ = random.Random(f"{doc['group']}{item}{doc['round']}")
    return people.get(dimension, 3) + random_.gauss(0, 0.3)


def test_ratings_of_fiskes_clusters_agree_wholly_and_have_the_signs_of_table_2():
    found = summary("original", asked("original", as_people))
    assert found.values["agreement"][0] == 1 and found.values["agreement_p"][0] < 0.001
    assert (
        found.values["agreement_competence"][0] > 0.9 and found.values["agreement_warmth"][0] > 0.9
    )
    printed = {
        frozenset(c["groups"]): c
        for c in lexicon("stereomap_paper_values")["table_2"]["fiske"]["clusters"]
    }
    assert len(found.tables["clusters"]) == 5
    for row in found.tables["clusters"]:
        theirs = printed[frozenset(row["members"].split(", "))]
        assert row["sign"] == theirs["sign"]
        assert row["competence"] == pytest.approx(theirs["competence"], abs=0.1) and row[
            "warmth"
        ] == pytest.approx(theirs["warmth"], abs=0.1)
    # 6 + 3 + 3 of the 24 groups are in clusters with a sign.
    assert found.values["mixed_groups"][0] == 50 and found.values["unstable_groups"][0] == 0
    assert "notes" not in found.tables
    names = [row["cluster"] for row in found.tables["clusters"]]
    assert names[0] == "low-low" and names[-1].startswith("high")
    models = {row["source"]: row["agreement"] for row in found.tables["agreement"]}
    assert list(models) == ["fiske", "davinci", "gpt-3.5", "bard"] and all(
        value < 1 for source, value in models.items() if source != "fiske"
    )


@pytest.mark.parametrize("model", ["davinci", "gpt-3.5", "bard"])
@pytest.mark.parametrize("printed", ["table_2", "table_5"])
def test_k_means_on_the_printed_means_gives_the_printed_clusters(model, printed):
    clusters = lexicon("stereomap_paper_values")[printed][model]["clusters"]
    places = [(c["competence"], c["warmth"]) for c in clusters for _ in c["groups"]]
    labels = [i for i, c in enumerate(clusters) for _ in c["groups"]]
    assert rand_test(ratings.k_means(np.array(places), 10), labels).value == 1


def test_a_model_that_always_says_the_same_has_no_clusters_and_a_sentence_says_so():
    found = summary("extended", asked("extended", lambda doc, item: 3))
    for name in (
        "agreement",
        "agreement_p",
        "mixed_groups",
        "unstable_groups",
        "agreement_competence",
    ):
        assert isnan(found.values[name][0]), name
    assert (
        found.values["competence"][0] == found.values["warmth"][0] == 3
        and found.values["competence_spread"][0] == 0
    )
    assert found.values["competence_cv"][0] == 0
    assert {row["note"] for row in found.tables["notes"]} >= {
        "No clusters: 5 different places are needed, and the groups with warmth and competence "
        "(24) have 1."
    }
    assert all(row["cluster"] is None for row in found.tables["groups"])


def test_a_model_that_refuses_everything_has_rates_of_one_and_a_sentence():
    found = summary("extended", asked("extended", lambda doc, item: REFUSAL_READ, rounds=2))
    values = {name: number[0] for name, number in found.values.items()}
    assert (values["refused"], values["unanswered"], values["groups"]) == (1, 100, 24)
    for name in ("agreement", "competence", "warmth_spread", "keyword_coverage"):
        assert isnan(values[name]), name
    assert {row["refused"] for row in found.tables["groups"]} == {1}
    notes = str(found.tables["notes"])
    assert "the groups with warmth and competence (0) have 0" in notes
    assert "Every answer refuses for 24 of 24 groups" in notes


def test_a_group_that_nobody_rated_is_left_out_of_the_clusters_and_named():
    records = asked(
        "original",
        lambda doc, item: "refused" if doc["group"] == "Poor people" else as_people(doc, item),
    )
    found = summary("original", records)
    assert found.values["agreement"][0] == 1  # of the 23 others
    assert {row["groups"] for row in found.tables["agreement"] if row["source"] == "fiske"} == {23}
    assert sum(row["groups"] for row in found.tables["clusters"]) == 23
    row = next(row for row in found.tables["groups"] if row["group"] == "Poor people")
    assert row["cluster"] is None and row["refused"] == 1 and isnan(row["competence"])
    assert any(
        "Left out of the clusters" in note["note"] and "Poor people" in note["note"]
        for note in found.tables["notes"]
    )
    assert found.values["refused"][0] == pytest.approx(1 / 24) and found.values["unanswered"][
        0
    ] == pytest.approx(100 / 24)


@pytest.mark.slow
def test_ten_copies_of_an_answer_are_one_pair_of_the_test():
    """At temperature 0 every round is the same: the test is that of one round, and not of ten times
    as many pairs."""

    def rating(doc, item):
        return as_people({**doc, "round": 1}, item) + random.Random(f"{doc['group']}{item}").gauss(
            0, 0.5
        )

    once, copied = (
        summary("original", asked("original", rating, rounds=rounds)) for rounds in (1, 10)
    )
    assert [(row["n"], row["sign"]) for row in copied.tables["clusters"]] == [
        (row["n"], row["sign"]) for row in once.tables["clusters"]
    ]
    assert sum(row["n"] for row in copied.tables["clusters"]) == 24
    assert copied.values["mixed_groups"] == once.values["mixed_groups"] != 100
    # A limit that cuts the last round leaves copies copies.
    cut = asked("original", rating, rounds=3)[:-100]
    assert sum(row["n"] for row in summary("original", cut).tables["clusters"]) == 24
    assert (
        sum(
            row["n"]
            for row in summary("original", asked("original", as_people, rounds=2)).tables[
                "clusters"
            ]
        )
        == 48
    )


def test_how_firm_a_cluster_is_is_not_known_of_one_rating_each():
    def rating(doc, item):
        return as_people(doc, item) if item in ("competent", "warm") else None

    found = summary("original", asked("original", rating, rounds=1))
    assert isnan(found.values["unstable_groups"][0]) and found.values["agreement"][0] > 0
    assert all(
        isnan(row["left_its_cluster"]) and row["unstable"] is None for row in found.tables["groups"]
    )
    assert "it is unknown how firmly" in str(found.tables["notes"])


def test_equal_scores_are_tied_whatever_rounding_makes_of_them():
    """Competence is (3 x 4.7 + 7 x 1.1) / 10 = 2.18 of all groups, in an order of rounds that is
    each group's own."""

    def rating(doc, item):
        rounds = random.Random(f"{doc['group']}{item}").sample(range(1, 11), 10)
        fives = 3 if doc["scales"][item][0] == "Competence" else 1 + len(doc["group"]) % 5
        return 4.7 if rounds[doc["round"] - 1] <= fives else 1.1

    found = summary("extended", asked("extended", rating))
    assert isnan(found.values["agreement_competence"][0]) and not isnan(
        found.values["agreement_warmth"][0]
    )


def test_groups_that_lack_an_item_are_named_for_items_are_not_rated_alike():
    """Honest is rated 1 and all else 3, of all groups alike; for names of more than ten letters it
    is left out."""
    long = [g["name"] for g in stereomap.social_groups("extended", "fiske") if len(g["name"]) > 10]
    records = asked(
        "extended",
        lambda doc, item: (None if doc["group"] in long else 1) if item == "Honest" else 3,
        rounds=2,
    )
    found = summary("extended", records)
    rows = {row["group"]: row for row in found.tables["groups"]}
    # Morality is (3 + 1) / 2, or 3; warmth its mean with a sociability of 3.
    assert rows["Asians"]["warmth"] == 2.5 and rows[long[0]]["warmth"] == 3
    assert rows["Asians"]["unanswered"] == 0 and rows[long[0]]["unanswered"] == pytest.approx(
        100 / 13
    )
    assert any(
        row["note"].endswith(f": Honest of {', '.join(long)}.") for row in found.tables["notes"]
    )


def test_several_answers_to_a_prompt_in_a_round_are_one_and_a_sentence_says_what_that_does():
    """Of 2 and 4 in each round the mean is 3, which does not vary; in rounds of their own they
    would, by 1/3."""
    again = [
        record
        for answer in (2, 4)
        for record in asked(
            "extended",
            lambda doc, item, answer=answer: answer + (doc["group"] == "Men") * 0.5,
            rounds=3,
        )
    ]
    found = summary("extended", again)
    assert (
        found.values["competence"][0] == pytest.approx(3 + 0.5 / 24)
        and found.values["competence_cv"][0] == 0
    )
    assert any("`rounds` asks for more" in row["note"] for row in found.tables["notes"])
    assert "`rounds` asks" not in str(summary("extended", again[: 3 * 24]).tables["notes"])


def test_clusters_of_noise_may_be_chance_and_a_sentence_says_so():
    def noise(doc, item):
        return 3 + random.Random(f"{doc['group']}{item}{doc['round']}").choice([-1, 0, 1])

    found = summary("extended", asked("extended", noise))
    assert found.values["unstable_groups"][0] > 50
    assert any(
        row["note"].startswith("The clusters may be chance") for row in found.tables["notes"]
    )


@pytest.mark.slow
def test_words_that_are_rated_higher_of_anyone_are_no_mixed_stereotype_and_a_sentence_says_so():
    """Each group is liked more or less, by .6 points from its neighbour, and the words for
    competence half a point more of all."""
    places = {
        g["name"]: 1.2 + i % 5 * 0.6
        for i, g in enumerate(stereomap.social_groups("extended", "fiske"))
    }

    def liking(words):
        return lambda doc, item: (
            places[doc["group"]]
            + (doc["scales"][item][0] == words) / 2
            + random.Random(f"{doc['group']}{item}{doc['round']}").gauss(0, 0.1)
        )

    for words, sign in (("Competence", ">"), ("Warmth", "<")):
        found = summary("extended", asked("extended", liking(words)))
        assert {row["sign"] for row in found.tables["clusters"]} == {sign} and found.values[
            "mixed_groups"
        ][0] == 100
        assert (
            sum(row["note"].startswith(f"{words} is above ") for row in found.tables["notes"]) == 1
        )
        assert found.values["competence_warmth"][0] > 0.9


def test_a_group_between_two_clusters_is_marked():
    """Four groups stand fast; the fifth and sixth are one place apart, and the rounds of the last
    one stray between two clusters."""
    places = {
        "Asians": (5, 1),
        "Women": (1, 5),
        "Poor people": (1, 1),
        "Jews": (5, 5),
        "Men": (3, 3),
    }

    def rating(doc, item):
        competence, warmth = places.get(doc["group"], (3, 3))
        if doc["group"] == "Muslims":  # halfway between the middle and the corner
            competence = warmth = 4 + (1 if doc["round"] % 2 else -1)
        return {"Competence": competence, "Warmth": warmth}.get(doc["dimension"], 3)

    found = summary("original", asked("original", rating))
    left = {
        row["group"]: (row["left_its_cluster"], row["unstable"]) for row in found.tables["groups"]
    }
    assert left["Asians"] == left["Men"] == (0, False)
    assert left["Muslims"][0] >= 0.2 and left["Muslims"][1]
    assert found.values["unstable_groups"][0] == pytest.approx(100 / 24)


# ---- By likelihood

TEXTS = {
    group["text"]: group["published"].get("fiske") for group in stereomap.social_groups("extended")
}


def point(says):
    """A model that puts nine tenths on the point that says(prompt) names."""
    return lambda prompt, choice: log(0.9) if choice.strip() == str(says(prompt)) else log(0.02)


def by_likelihood(part, says, groups="fiske"):
    """Records of a part: .9 on the point that says(doc) names, .02 on each of the others."""
    of = getattr(measure, f"{part.upper()}_LIKELIHOOD")
    return [
        of.record(doc, [(log(0.9 if point == says(doc) else 0.02), False) for point in range(1, 6)])
        for doc in stereomap.likelihood_documents(part, groups=groups)
    ]


@pytest.mark.parametrize("part", list(measure.DIMENSIONS))
def test_four_whatever_is_asked_makes_no_difference_of_groups(part):
    records = by_likelihood(part, lambda doc: 4)
    found = measure.summary_likelihood(records, part).values
    for dimension in measure.DIMENSIONS[part]:
        name = dimension.lower().replace(" ", "_")
        # Four on the rising scale is two on the falling one: in the middle of the log-odds is
        # three.
        assert found[name].value == pytest.approx(3)
        assert found[f"{name}_spread"].value == pytest.approx(0)
    # The point has .9 of all, the others .02 each, .98 together: 4 by .9184, (1 + 2 + 3 + 5) by
    # .0204: 3.898; falling 6 less that.
    expectation = (0.9 * 4 + 0.02 * 11) / 0.98
    assert found["direction_effect"].value == pytest.approx(2 * expectation - 6)
    assert found["rating_mass"].value == pytest.approx(98)
    assert found["unanswered"].value == found["left_out"].value == 0
    # a limit that cuts a rating in two
    assert measure.summary_likelihood(records[:3], part).values["left_out"].value == 1


@pytest.mark.slow
def test_a_model_that_reads_the_scale_has_its_ratings_whichever_way_that_runs():
    def says(prompt):
        text = re.search(r"members of (.*?) are viewed", prompt)
        rating = 5 if text and text[1] == "women" and "Friendly" in prompt else 2
        return rating if "1=not at all" in prompt or "1=very negatively" in prompt else 6 - rating

    results = evaluate(
        RuleLM(point(says)), "stereomap_extended_likelihood", {"groups": "fiske"}, log_samples=True
    )
    assert numbers_of(results, "stereomap_extended_likelihood")[
        "direction_effect", None
    ] == pytest.approx(0)
    groups = {
        row["group"]: row
        for row in results["configs"]["stereomap_extended_likelihood"]["cells"]["groups"]
    }
    two, five = ((0.9 * k + 0.02 * (15 - k)) / 0.98 for k in (2, 5))
    assert groups["Men"]["warmth"] == pytest.approx(two)
    # Sociability is the mean of Friendly and Sociable, warmth that of sociability and morality.
    assert groups["Women"]["warmth"] == pytest.approx(((five + two) / 2 + two) / 2)


def test_a_point_that_follows_the_groups_name_differs_from_one_that_follows_the_scale():
    """Groups differ, and the mean point may well be three: then the effect of the direction is 0
    for either model."""
    lengths = {
        name: len(name) % 5 + 1
        for name in {g["name"] for g in stereomap.social_groups("extended", "fiske")}
    }
    # the expectation is 3 + (point - 3) (.9 - .02) / .98
    effect = 2 * (sum(lengths.values()) / 24 - 3) * 0.88 / 0.98
    for sign, says in (
        (-1, lambda doc: lengths[doc["group"]]),
        (
            1,
            lambda doc: (
                lengths[doc["group"]] if doc["direction"] == "rising" else 6 - lengths[doc["group"]]
            ),
        ),
    ):
        found = measure.EXTENDED_LIKELIHOOD.summary(by_likelihood("extended", says))
        assert found.values["direction_agreement"][0] == pytest.approx(sign)
        assert found.values["direction_effect"][0] == pytest.approx(effect if sign < 0 else 0)
        told = any(
            "two directions of the scale" in note["note"] for note in found.tables.get("notes", ())
        )
        assert told == (sign < 0)
        assert (found.values["warmth_spread"][0] == pytest.approx(0)) == (sign < 0)
    assert abs(effect) < 0.2


def test_directions_agree_about_nothing_where_groups_do_not_differ():
    found = measure.EXTENDED_LIKELIHOOD.summary(
        by_likelihood("extended", lambda doc: len(doc["item"]) % 5 + 1)
    )
    assert isnan(found.values["direction_agreement"][0]) and "two directions" not in str(
        found.tables["notes"]
    )


# ---- Emotions and behaviours


def ranked(doc, item):
    """Active facilitation follows warmth, passive harm follows it backwards, admiration follows
    competence."""
    random_ = random.Random(doc["group"])
    warmth, competence = 1 + 4 * random_.random(), 1 + 4 * random_.random()
    of = {
        "Warmth": warmth,
        "Active Facilitation": warmth,
        "Passive Harm": 6 - warmth,
        "Competence": competence,
        "Admire": competence,
    }
    return of.get(
        doc["scales"][item][0],
        1 + 4 * random.Random(f"{doc['group']}{doc['scales'][item][0]}").random(),
    )


def test_table_8_has_the_correlations_that_the_ratings_have():
    found = summary("behavior", asked("behavior", ranked, rounds=1))
    rows = {
        (row["stereotype_or_emotion"], row["tendency"]): row for row in found.tables["tendencies"]
    }
    assert len(rows) == 24
    assert (
        rows["Warmth", "Active Facilitation"]["rho"] == pytest.approx(1)
        and rows["Warmth", "Active Facilitation"]["stars"] == "***"
    )
    assert (
        rows["Warmth", "Passive Harm"]["rho"] == pytest.approx(-1)
        and rows["Warmth", "Passive Harm"]["rho_of_people"] == -0.24
    )
    assert (
        rows["Warmth", "Passive Harm"]["same_sign"]
        and rows["Warmth", "Active Facilitation"]["same_sign"]
    )
    for row in rows.values():
        assert row["groups"] == 24 and (
            abs(row["rho"]) > 0.999 or row["rho_low"] < row["rho"] < row["rho_high"]
        )
    signs = sum(row["same_sign"] for row in rows.values())
    assert found.values["people_signs"][0] == signs
    assert found.values["people_signs_significant"][0] == sum(
        row["same_sign"] for row in rows.values() if row["stars_of_people"]
    )
    assert sum(bool(row["stars_of_people"]) for row in rows.values()) == 16


def test_signs_are_counted_only_where_all_are_defined():
    rows = [{"same_sign": True}] * 23 + [{"same_sign": False}]
    assert measure._signs(rows) == 23
    assert isnan(measure._signs([*rows[1:], {"same_sign": None}]))


def test_emotions_are_distributed_over_the_clusters_as_they_were_given():
    def rating(doc, item):
        dimension = doc["scales"][item][0]
        if dimension in ("Competence", "Warmth"):
            return doc["published"]["fiske"][dimension.lower()]
        return (
            {"1": 5, "2": 4}.get(doc["published"]["fiske"]["cluster"], 1)
            if dimension == "Pity"
            else 2
        )

    found = summary("emotion", asked("emotion", rating, rounds=2))
    pity = {row["cluster"]: row for row in found.tables["by_cluster"] if row["dimension"] == "Pity"}
    assert sorted((row["mean"], row["groups"]) for row in pity.values()) == [
        (1, 5),
        (1, 6),
        (1, 7),
        (4, 3),
        (5, 3),
    ]
    # 6 of 24 groups have more than 1: three 5, three 4.
    mean = (18 * 1 + 3 * 4 + 3 * 5) / 24
    assert found.values["pity"][0] == pytest.approx(mean)
    assert found.values["contempt_spread"][0] == pytest.approx(0)


# ---- Keywords and styles


def test_keywords_are_counted_by_dimension_with_their_direction():
    keywords = [
        ["caring", "written", [["sociability", 1], ["morality", 1]]],
        ["lazier", "lemma", [["ability", -1]]],
        ["blorp", None, []],
    ]
    found = summary("extended", asked("extended", as_people, rounds=1, keywords=keywords))
    assert found.values["keywords"][0] == 72 and found.values["keyword_coverage"][
        0
    ] == pytest.approx(200 / 3)
    assert [row["keyword_coverage"] for row in found.tables["keyword_coverage"]] == pytest.approx(
        [100 / 3, 200 / 3, 200 / 3]
    )
    women = {
        row["dimension"]: row
        for row in found.tables["keywords_by_group"]
        if row["group"] == "Women"
    }
    assert women["ability"]["direction"] == pytest.approx(-1 / 3) and women["morality"][
        "direction"
    ] == pytest.approx(1 / 3)
    assert found.tables["unknown_keywords"] == [{"keyword": "blorp", "times": 24}]
    assert "notes" not in found.tables


def test_a_dictionary_that_knows_too_little_is_told():
    keywords = [["caring", "written", [["morality", 1]]], ["blorp", None, []], ["snark", None, []]]
    found = summary("extended", asked("extended", as_people, rounds=1, keywords=keywords))
    assert any("knows only 33 % of the keywords" in row["note"] for row in found.tables["notes"])


def test_the_coefficient_of_variation_over_rounds_and_styles():
    """Ratings alternate between 2 and 4 over rounds in the paper's style (mean 3, standard
    deviation 1: 1/3), and are 3 in the others; five styles' rounds together have 10 of 40 at 2 and
    4."""

    def rating(doc, item):
        return 3 + (1 if doc["round"] % 2 else -1) * (doc["style"] == "paper")

    found = summary("extended", asked("extended", rating, style="all"))
    rows = {row["style"]: row for row in found.tables["styles"]}
    assert list(rows) == ["paper", "no chain of thought", "no instructions", "neither", "all"]
    assert (
        rows["paper"]["competence_cv"] == pytest.approx(1 / 3) and rows["neither"]["warmth_cv"] == 0
    )
    # 10 of 20 rounds deviate by 1, the others by 0: sqrt(1/2) / 3; of all forty sqrt(1/4) / 3.
    assert rows["neither"]["competence_cv_with_paper"] == pytest.approx(0.5**0.5 / 3)
    assert rows["all"]["warmth_cv"] == pytest.approx(0.5 / 3)
    assert found.values["competence_cv"][0] == pytest.approx(1 / 3)
    assert found.values["competence"][0] == pytest.approx(3)  # of the paper's style alone


def test_a_style_that_refuses_is_not_compared_with_itself():
    def rating(doc, item):
        if doc["style"] == "neither" and doc["group"] != "Men":
            return REFUSAL_READ
        return 3 + (1 if doc["round"] % 2 else -1) * (
            doc["style"] == "paper" and doc["group"] != "Men"
        )

    found = summary("extended", asked("extended", rating, style="all"))
    rows = {row["style"]: row for row in found.tables["styles"]}
    assert rows["neither"]["refused"] == pytest.approx(23 / 24)
    # Of Men alone, of whom every rating is 3; the others' would be those of the paper's style.
    assert rows["neither"]["competence_cv_with_paper"] == rows["all"]["warmth_cv_max"] == 0
    assert rows["no instructions"]["competence_cv_with_paper"] == pytest.approx(
        23 / 24 * 0.5**0.5 / 3
    )
    found = summary(
        "extended",
        asked(
            "extended",
            lambda doc, item: REFUSAL_READ if doc["style"] == "neither" else 3,
            style="all",
        ),
    )
    rows = {row["style"]: row for row in found.tables["styles"]}
    assert all(
        isnan(rows["neither"][name])
        for name in ("competence_cv", "competence_cv_with_paper", "warmth_cv_with_paper_max")
    )
    assert isnan(rows["all"]["warmth_cv"]) and rows["no instructions"]["warmth_cv_with_paper"] == 0


def test_a_limit_that_cuts_a_style_leaves_the_numbers_of_the_paper_s():
    """The second style is asked of two groups alone. Of 3, 4 and 3 the mean is 10/3 and the
    variance 2/9."""
    records = asked(
        "extended",
        lambda doc, item: 3 + (doc["group"] == "Asians" and doc["round"] == 2),
        rounds=2,
        style="all",
    )
    first = [r for r in records if r["style"] == "paper"]
    rows = {
        row["style"]: row for row in summary("extended", [*first, *records[24:26]]).tables["styles"]
    }
    assert rows["no chain of thought"]["answers"] == 2 and isnan(
        rows["no chain of thought"]["competence_cv"]
    )
    # Asians have 3 and 4 in the paper's style, 3 in the other; the second group 3 throughout.
    assert rows["no chain of thought"]["competence_cv_with_paper_max"] == pytest.approx(
        (2 / 9) ** 0.5 / (10 / 3)
    )
    assert rows["no chain of thought"]["competence_cv_with_paper"] == pytest.approx(
        (2 / 9) ** 0.5 / (10 / 3) / 2
    )


def test_no_records_are_no_numbers():
    for part in measure.DIMENSIONS:
        assert summary(part, []).values["groups"][0] == 0
