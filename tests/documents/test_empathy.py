import re
from collections import Counter
from math import exp, inf, isnan, log, nan

import numpy as np
import pytest

from lm_eval_bias.documents import empathy
from lm_eval_bias.items import lexicon, table
from lm_eval_bias.usage import UsageError


@pytest.fixture(scope="module")
def paper(shared):
    return (shared / "papers" / "empathy_gap.txt").read_text()


def test_identities_are_table_1s(paper):
    categories = lexicon("empathy")["categories"]
    for group, names in categories["race"].items():
        assert f"{group}: {', '.join(names)}" in paper
    assert f"Religion {', '.join(empathy.identities('religion'))}".replace("a person, ", "") in paper
    countries = [name.removeprefix("a person from ") for name in list(empathy.identities("nationality"))[1:]]
    assert ", ".join(countries) in " ".join(paper.split("Nationality*")[1].split()[:80])


def test_there_are_18_21_and_5_identities_and_the_unspecified_person():
    assert [len(empathy.identities(c)) for c in ("race", "nationality", "religion")] == [19, 22, 6]
    assert Counter(empathy.identities("race").values()) == {"unspecified": 1, "White": 5, "Black": 4, "Asian": 3, "Hispanic": 6}
    assert all(next(iter(empathy.identities(c))) == "a person" for c in ("race", "nationality", "religion"))


def test_twenty_events_of_each_of_the_papers_twelve_emotions(paper):
    counts = Counter(row["emotion"] for row in table("empathy_events"))
    assert set(counts) == set(lexicon("empathy")["emotions"]) and min(counts.values()) >= 20
    for emotion in counts:
        assert emotion in paper
    ids = [row["id"] for row in table("empathy_events")]
    assert len(set(ids)) == len(ids) >= 240


def test_the_three_forms_of_an_event():
    for row in table("empathy_events"):
        assert row["t1"].startswith(f"I felt {row['emotion']} ") and row["t2"].startswith(f"The person felt {row['emotion']} "), row["id"]
        assert not re.search(r"\b(?:I|me|my|mine|myself)\b", row["t2"]), row["id"]
        assert '"' not in row["t0"] + row["t1"] + row["t2"], row["id"]


def test_events_name_no_identity():
    """None of the groups, and no country, faith or nation's people."""
    words = {w.lower() for c in lexicon("empathy")["categories"] for name in empathy.identities(c) for w in re.findall(r"[A-Z]\w+", name)} - {"united", "states"}
    found = [(row["id"], w) for row in table("empathy_events") for w in re.findall(r"[a-z]+", row["t1"].lower()) if w in words | {"black", "white", "god", "church", "mosque"}]
    assert not found


def test_events_are_varied_in_length_and_no_two_are_alike():
    texts = [row["t0"] for row in table("empathy_events")]
    lengths = [len(t.split()) for t in texts]
    assert min(lengths) <= 5 and max(lengths) >= 30 and np.std(lengths) > 5
    sets = [set(re.findall(r"\w+", t.lower())) for t in texts]
    for i in range(len(texts)):
        for j in range(i):
            assert len(sets[i] & sets[j]) / len(sets[i] | sets[j]) < 0.5, (texts[i], texts[j])
    for emotion in lexicon("empathy")["emotions"]:
        openings = Counter(row["t0"].split()[0].lower() for row in table("empathy_events") if row["emotion"] == emotion)
        assert openings.most_common(1)[0][1] <= 6


def test_the_first_documents_are_one_events_whole_matrix_and_emotions_take_turns():
    docs = empathy.documents("religion")
    assert len(docs) == 240 * 36 == empathy.count("religion")
    first = docs[:36]
    assert len({d["event"] for d in first}) == 1 and len({(d["perceiver"], d["experiencer"]) for d in first}) == 36
    assert [d["emotion"] for d in docs[: 36 * 12 : 36]] == list(lexicon("empathy")["emotions"])


def records(intensity, category="religion", events=24, **changes):
    """Records of the first events; `intensity` of (event number, perceiver, experiencer)."""
    numbers = {e["id"]: i for i, e in enumerate(empathy.events())}
    docs = empathy.documents(category)[: events * len(empathy.identities(category)) ** 2]
    return [empathy.record(d, [intensity(numbers[d["event"]], d["perceiver"], d["experiencer"])]) for d in docs]


def in_group(event, perceiver, experiencer):
    """Ten points more for one's own, whatever the event; the unspecified person sees and gets 0."""
    if "a person" in (perceiver, experiencer):
        return 0.0
    return 50.0 + event + 10 * (perceiver == experiencer)


def test_delta_by_hand_without_the_unspecified_person():
    """5 x 5 with 10 more on the diagonal: standard deviation 10 * sqrt(1/5 * 4/5) = 4; delta 10 / 4. The zeros do not enter."""
    result = empathy.summary(records(in_group), "complete")
    metrics = result["metrics"]
    assert metrics["delta"][0] == pytest.approx(2.5) and metrics["gap_points"][0] == pytest.approx(10)
    # in every event alike, so the spread of M0 is no chance
    assert [metrics[f"delta_{name}"][0] for name in ("corrected", "low", "high")] == pytest.approx([2.5] * 3)
    # two events of each emotion: four positive ones (of joy, pride, relief, trust), seven negative ones, surprise
    assert [(row["valence"], row["events"]) for row in result["cells"]["valences"]] == [("positive", 8), ("negative", 14)]
    for row in result["cells"]["emotions"] + result["cells"]["valences"]:
        assert row["delta_corrected"] == pytest.approx(2.5) and row["gap_points"] == pytest.approx(10) and row["gap_points_stderr"] == pytest.approx(0, abs=1e-9)
    assert metrics["delta_p"][0] < 0.05 and metrics["delta_null_high"][0] < 2.5
    assert metrics["events"][0] == 24 and metrics["left_out"][0] == 0 and metrics["unanswered"][0] == 0
    assert metrics["delta_positive"][0] == metrics["delta_negative"][0] == pytest.approx(2.5)
    # M0 itself holds the unspecified person: 25 cells of 50 + 11.5 (the mean event) + 10 on the diagonal, 11 zeros
    assert metrics["mean_intensity"][0] == pytest.approx((25 * 61.5 + 5 * 10) / 36)


def test_an_event_that_one_pair_refused_is_left_out_unless_pairwise():
    def intensity(event, perceiver, experiencer):
        if event == 3 and (perceiver, experiencer) == ("a Jew", "a Hindu"):
            return "refused"
        if event == 5 and (perceiver, experiencer) == ("a person", "a person"):
            return "unparsed"
        return in_group(event, perceiver, experiencer) + (100 if event in (3, 5) else 0) * (perceiver == experiencer)

    given = records(intensity)
    metrics = empathy.summary(given, "complete")["metrics"]
    assert metrics["events"][0] == 22 and metrics["unanswered_events"][0] == pytest.approx(2 / 24)
    assert metrics["unanswered"][0] == pytest.approx(2 / (24 * 36)) and metrics["refused"][0] == pytest.approx(1 / (24 * 36))
    assert metrics["gap_points"][0] == pytest.approx(10)
    pairwise = empathy.summary(given, "pairwise")["metrics"]
    assert pairwise["events"][0] == 24 and pairwise["gap_points"][0] > 15


def test_an_event_cut_off_by_a_limit_is_left_out_and_said():
    metrics = empathy.summary(records(in_group)[:50], "complete")["metrics"]
    assert metrics["events"][0] == 1 and metrics["left_out"][0] == 1 and isnan(metrics["delta"][1])
    metrics = empathy.summary(records(in_group)[:20], "complete")["metrics"]
    assert metrics["events"][0] == 0 and isnan(metrics["delta"][0]) and isnan(metrics["mean_intensity"][0])


def test_a_model_that_always_says_80_has_no_delta():
    metrics = empathy.summary(records(lambda *_: 80.0), "complete")["metrics"]
    assert isnan(metrics["delta"][0]) and metrics["gap_points"][0] == 0 and metrics["std_intensity"][0] == 0


def test_cells_hold_the_matrices_and_the_masks():
    rng = np.random.default_rng(1)
    cells = empathy.summary(records(lambda *x: in_group(*x) + rng.normal()), "complete")["cells"]
    assert cells["identities"][0] == "a person" and cells["groups"] == ["unspecified", "Christian", "Muslim", "Jew", "Buddhist", "Hindu"]
    assert np.shape(cells["mean_intensity"]) == np.shape(cells["z"]) == (6, 6)
    p = np.array(cells["p_against_perceivers_in_group"])
    assert np.isnan(np.diag(p)).all() and (p[1:, 1:][~np.eye(5, dtype=bool)] < 0.001).all()
    # the unspecified person's zeros differ from the others' own ratings, but not from their own
    white = np.array(cells["masked"])
    assert not white[1:, 1:].any() and white[0, 1:].all() and white[1:, 0].all() and not white[0, 0]
    assert [e["emotion"] for e in cells["emotions"]] == list(lexicon("empathy")["emotions"]) and all(e["events"] == 2 for e in cells["emotions"])


def likelihood_record(probabilities, scale=100):
    """The record of a document on a scale, from the probabilities of some numbers from 0 to 100."""
    doc = {"event": "e", "emotion": "joy", "perceiver": "a Jew", "experiencer": "a Hindu", "scale": scale}
    return empathy.record_likelihood(doc, [[[(log(probabilities[n]) if n in probabilities else -inf, False) for n in range(101)]]])


def test_the_expectation_over_the_numbers_of_the_scale():
    """0.4 on 80, 0.1 on 90: 82 among the numbers, which have half of the probability."""
    record = likelihood_record({80: 0.4, 90: 0.1})
    assert record["intensity"] == pytest.approx(82) and record["number_mass"] == pytest.approx(0.5)
    assert record["likeliest"] == 80 and record["off_scale"] == 0 and record["greedy"] is None
    # from 0 to 10 the numbers above are none: 0.3 on 7 and 0.1 on 8 are 7.25
    record = likelihood_record({7: 0.3, 8: 0.1, 80: 0.5}, scale=10)
    assert record["intensity"] == pytest.approx(7.25) and record["number_mass"] == pytest.approx(0.4) and record["off_scale"] == pytest.approx(0.5)
    assert record["likeliest"] == 7


def test_the_greedy_answer_need_not_be_the_likeliest():
    """Digit by digit: "1" is likelier than any other digit, and then "0" and "0" than the end, but each number beginning with it is rare."""
    doc = {"event": "e", "emotion": "joy", "perceiver": "a Jew", "experiencer": "a Hindu", "scale": 100}
    record = empathy.record_likelihood(doc, [[[(log(0.3) if n == 5 else log(0.1) if n in (1, 10, 100) else -inf, n == 100) for n in range(101)]]])
    assert (record["likeliest"], record["greedy"]) == (5, 100)


def test_numbers_of_no_probability_are_no_answer_and_tiny_ones_are():
    assert likelihood_record({})["intensity"] is None and likelihood_record({})["number_mass"] == 0
    beyond = likelihood_record({50: 0.5}, scale=10)
    assert beyond["intensity"] is beyond["likeliest"] is None and (beyond["number_mass"], beyond["off_scale"]) == (0, pytest.approx(0.5))
    doc = {"event": "e", "emotion": "joy", "perceiver": "a Jew", "experiencer": "a Hindu", "scale": 10}

    def record(*values):
        return empathy.record_likelihood(doc, [[[(v, False) for v in (*values, *[-2000.0] * (101 - len(values)))]]])

    # e^-1000 and e^-1001 are no floats, their ratio is: (0 * 1 + 1 / e) / (1 + 1 / e)
    tiny = record(-1000.0, -1001.0)
    assert tiny["intensity"] == pytest.approx(1 / (1 + exp(1))) and tiny["number_mass"] == 0
    for broken in (nan, inf):
        assert record(broken, -1.0)["intensity"] is None and record(-1.0, broken)["intensity"] is None
        assert record(*[-1.0] * 50, broken)["intensity"] is record(*[-1.0] * 50, broken)["number_mass"] is None


def test_a_model_that_always_says_80_has_a_delta_by_likelihood():
    """One point more for one's own, never the likeliest number: 81 has 0.1 of the probability there, and 80 the rest."""
    given = []
    for r in records(in_group, events=12):
        own = r["perceiver"] == r["experiencer"] != "a person"
        doc = {**r, "scale": 100}
        given.append(empathy.record_likelihood(doc, [[[(log({80: 0.9 if own else 1, 81: 0.1}[n]) if n == 80 or (own and n == 81) else -inf, False) for n in range(101)]]]))
    assert {r["likeliest"] for r in given} == {80}
    metrics = empathy.summary_likelihood(given, "complete")["metrics"]
    assert metrics["delta"][0] == pytest.approx(2.5) and metrics["gap_points"][0] == pytest.approx(0.1)
    assert metrics["number_mass"][0] == pytest.approx(1) and metrics["off_scale"][0] == 0 and "refused" not in metrics


def test_race_has_blocks():
    def intensity(event, perceiver, experiencer):
        group = empathy.identities("race")
        return 50.0 + 10 * (group[perceiver] == group[experiencer])

    metrics = empathy.summary(records(intensity, "race", events=2), "complete")["metrics"]
    # in-group cells: 5^2 + 4^2 + 3^2 + 6^2 = 86 of 324
    share = 86 / 324
    assert metrics["delta"][0] == pytest.approx(1 / np.sqrt(share * (1 - share))) and metrics["gap_points"][0] == pytest.approx(10)


def test_a_mistake_in_the_options_says_what_was_expected():
    with pytest.raises(UsageError, match="missing='some' in --metadata: expected one of complete, pairwise"):
        empathy.options("some")


@pytest.fixture
def official(shared, monkeypatch):
    monkeypatch.setenv("LM_EVAL_BIAS_DATA", str(shared / "official"))


def test_the_authors_events_are_6050_and_a_draw_is_fair_and_fixed(official):
    everything = empathy.official_events("all")
    # Section 3.2: 550 of each emotion but guilt and shame; the paper prints 225 for these, the release has 275, which makes its 6,050.
    assert Counter(e["emotion"] for e in everything) == {e: 275 if e in ("guilt", "shame") else 550 for e in lexicon("empathy")["emotions"]}
    assert len(everything) == 6050 and len({e["id"] for e in everything}) == 6050
    drawn = empathy.official_events()
    assert set(Counter(e["emotion"] for e in drawn).values()) == {25} and drawn == empathy.official_events(25)
    assert {e["id"] for e in empathy.official_events(10)} <= {e["id"] for e in drawn}
    assert len(empathy.official_documents("religion")) == 300 * 36 == empathy.official_count("religion")


def test_shards_are_parts_of_the_whole_event_by_event(official):
    whole = [d["event"] for d in empathy.official_documents("religion", events_per_emotion=2)]
    parts = [[d["event"] for d in empathy.official_documents("religion", events_per_emotion=2, shard=f"{i}/5")] for i in range(1, 6)]
    assert sorted(e for part in parts for e in part) == sorted(whole) and all(set(Counter(part).values()) == {36} for part in parts)


def test_no_event_of_ours_is_one_of_the_authors(official):
    theirs = {" ".join(re.findall(r"\w+", e["t0"].lower())) for e in empathy.official_events("all")}
    for row in table("empathy_events"):
        assert " ".join(re.findall(r"\w+", row["t0"].lower())) not in theirs, row["id"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"shard": "11/10"}, "shard='11/10' in --metadata: expected a part and the number of parts, such as 3/10"),
        ({"shard": "half"}, "shard='half'"),
        ({"events_per_emotion": 0}, "events_per_emotion=0 in --metadata: expected a whole number of at least 1, or all"),
        ({"events_per_emotion": "some"}, "events_per_emotion='some'"),
    ],
)
def test_mistakes_in_the_options_of_the_authors_events(given, message):
    with pytest.raises(UsageError, match=message):
        empathy.official_options(**given)
