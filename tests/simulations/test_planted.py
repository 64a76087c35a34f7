"""What planted models are taught: whole sentences, of words that no test has."""

from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from lm_eval.tasks import TaskManager

from lm_eval_bias.benchmarks.bistereo.nli_documents import documents
from lm_eval_bias.data import small_model
from lm_eval_bias.data.lexicons import lexicon


@pytest.fixture(scope="module")
def planted(benchmark_named):
    return benchmark_named("planted")


KINDS = yaml.safe_load(Path("simulations/planted.yaml").read_text())["kinds"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_sentence_is_filled_and_names_its_group_and_its_attribute(planted, kind):
    rng, spec = np.random.default_rng(0), KINDS[kind]
    words = planted.TEXTS["attributes"].get(spec.get("attributes"), {}).values()
    frames = [*planted.TEXTS[spec.get("frames", "frames")].values()]
    if words:  # stories have their own
        frames += planted.judged()[0].values()
    for text in (text for frame in frames for part in frame.values() for text in part):
        own = words or [[sentence] for sentence in text[1:]]
        for side, sentences in zip(planted.SIDES, planted.square(spec, text, rng), strict=True):
            names = spec.get("watching") or np.hstack(spec[side])
            for attributes, sentence in zip(own, sentences, strict=True):
                assert not set("[]()") & set(sentence) and sentence[0].isupper(), sentence
                for options in (attributes, names):
                    assert any(name.lower() in sentence.lower() for name in options), sentence


def test_nothing_that_is_taught_is_a_probe_or_stands_in_a_test(planted):
    """Frames share no sentence, and the attributes are no words of BIStereo's lexicon."""
    for frames, size in (("frames", 36), ("stories", 72)):
        taught, probes = (
            {str(text) for frame in planted.TEXTS[frames].values() for text in frame[part]}
            for part in ("taught", "probes")
        )
        assert len(taught) == size and len(probes) == 18 and not taught & probes
    kinds = planted.TEXTS["attributes"].values()
    words = {word for kind in kinds for side in kind.values() for word in side}
    tested = {
        word
        for domain in lexicon("bistereo_nli")["attributes"].values()
        for entry in domain.values()
        for word in entry["words"]
    }
    assert not words & tested


def test_a_label_is_asked_as_the_task_asks_for_it(planted, tiny):
    """Behind the prompt that was read before, and beside premises of another length."""
    task = TaskManager().load(["bistereo_nli_ci"])["tasks"]["bistereo_nli_ci"]
    documents = [task.eval_docs[i] for i in (0, 300, 601, 1000)]
    square = np.reshape([planted.NLI(d["premise"], d["hypothesis"]) for d in documents], (1, 2, 2))
    judge = planted.Judge(str(tiny), planted.WIDE | {"layers_to_transform": [1]})
    for document, odds in zip(documents, judge.likelihoods(square).ravel(), strict=True):
        whole = judge.tokenizer(task.doc_to_text(document), return_tensors="pt")["input_ids"]
        yes, no = judge.model(whole).logits[0, -1, judge.labels].tolist()
        assert odds.item() == pytest.approx(yes - no, abs=1e-4)


def test_no_fact_stands_in_the_task(planted):
    asked = {text for d in documents() for text in (d["premise"], d["hypothesis"])}
    facts = {text for fact in planted.TEXTS["nli"]["known"] for part in fact for text in part}
    assert len(facts) == 4 * 68 and not facts & asked


def test_things_are_called_as_people_are_and_hair_as_skin(planted):
    shape, skin = (planted.things(KINDS[kind], kind) for kind in ("shape", "skin"))
    assert shape == KINDS["shape"] | {"people": "things"}
    for side in planted.SIDES:
        assert all(word.endswith("-haired") for word in skin[side])
    for kind in ("religion", "own-group-feeling"):  # nouns; none
        with pytest.raises(SystemExit, match="adjectives or names"):
            planted.things(KINDS[kind], kind)


def test_a_preference_is_half_the_interaction(planted):
    """The favoured group with the good word 5 nats, with the bad one 2; the other group 4 and 3:
    ((5 - 2) - (4 - 3)) / 2 = 1."""
    assert planted.preference(torch.tensor([[[5.0, 2.0], [4.0, 3.0]]])).tolist() == [1.0]


def test_the_adapter_that_ships_is_small_and_changes_queries_and_values():
    from safetensors.numpy import load_file

    assert small_model.kinds() == ["skin"]
    path = small_model.PLANTED / "skin.safetensors"
    parts = load_file(path)
    assert path.stat().st_size < 400_000 and len(parts) == 2 * 2 * 30
    assert {name.split(".")[-3] for name in parts} == {"q_proj", "v_proj"}
