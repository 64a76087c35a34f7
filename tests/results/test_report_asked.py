"""What a report shows of samples: three questions, and how many answers seem cut off, from files
that are not read whole."""

import json

import pytest

from lm_eval_bias.results import transcripts as module
from lm_eval_bias.results.transcripts import Choice, CutOff, transcript


def lines(path, samples):
    path.write_text("".join(json.dumps(sample) + "\n" for sample in samples), encoding="utf-8")
    return path


def generated(number, answers, filtered=None, **settings):
    arguments = {"gen_args_0": {"arg_0": f"prompt {number}", "arg_1": {"until": [], **settings}}}
    return {
        "doc_id": number,
        "arguments": arguments,
        "resps": [answers],
        "filtered_resps": filtered or answers,
    }


def scored(*pairs):
    """Requests for likelihoods, and log-likelihoods as the harness writes them into samples, as
    texts."""
    return {
        "doc_id": 0,
        "arguments": {
            f"gen_args_{i}": {"arg_0": before, "arg_1": text}
            for i, (before, text, _) in enumerate(pairs)
        },
        "resps": [[[str(score), "False"]] for *_, score in pairs],
        "filtered_resps": [[str(score), "False"] for *_, score in pairs],
    }


def test_three_questions_from_the_beginning_the_middle_and_the_end(tmp_path):
    found = transcript([lines(tmp_path / "a", [generated(i, [f"answer {i}"]) for i in range(100)])])
    assert [q.turns[0].prompt for q in found.questions] == ["prompt 0", "prompt 50", "prompt 99"]
    assert found.questions[2].turns[0].said == ("answer 99",) and not found.notes


def test_questions_are_spread_over_the_parts_of_a_run(tmp_path):
    files = [
        lines(tmp_path / str(part), [generated(f"{part}/{i}", ["x"]) for i in range(4)])
        for part in range(3)
    ]
    assert [q.turns[0].prompt for q in transcript(files).questions] == [
        "prompt 0/0",
        "prompt 1/2",
        "prompt 2/3",
    ]


def test_a_short_file_shows_each_question_once(tmp_path):
    assert len(transcript([lines(tmp_path / "a", [generated(0, ["x"])])]).questions) == 1
    assert transcript([lines(tmp_path / "b", [])]).questions == ()
    assert transcript([]).questions == ()


def test_a_large_file_is_not_read_whole(tmp_path, monkeypatch):
    """Of 30 MB two hundred lines of a kilobyte, and as many that the places fall into; the last
    question is one of the last lines."""
    path = lines(tmp_path / "a", [generated(i, ["x" * 900]) for i in range(30_000)])
    assert path.stat().st_size > 10 * module.WHOLE
    read = []
    monkeypatch.setattr(
        module.json,
        "loads",
        lambda line, loads=json.loads: (read.append(len(line)), loads(line))[1],
    )
    found = transcript([path])
    assert len(read) == module.LINES and sum(read) < 1_000_000
    numbers = [int(q.number) for q in found.questions]
    assert numbers[0] == 0 and 14_500 < numbers[1] < 15_500 and numbers[2] > 29_500


def test_a_file_without_ends_of_lines_is_left_at_some_point(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LONGEST", 10_000)
    (tmp_path / "a").write_bytes(b"x" * 3_000_000)
    found = transcript([tmp_path / "a"])
    assert not found.questions and "no whole JSON" in found.notes[0]


def test_likelihoods_show_the_choices_of_a_prompt(tmp_path):
    (question,) = transcript(
        [lines(tmp_path / "a", [scored(("Is it?", " yes", -1.5), ("Is it?", " no", -0.25))])]
    ).questions
    (turn,) = question.turns
    assert (
        turn.prompt == "Is it?"
        and turn.choices == (Choice(" yes", -1.5), Choice(" no", -0.25))
        and question.read is None
    )


def test_sentences_of_a_pair_and_continuations_of_several_prompts(tmp_path):
    pair = scored(("He is tall.", "He is short.", -9.0), ("He is short.", "He is tall.", -8.0))
    apart = scored(("Anna", " x", -1.0), ("Paul", " x", -2.0))
    first, second = transcript([lines(tmp_path / "a", [pair, apart])], questions=2).questions
    assert first.turns[0].choices == (Choice("He is tall.", -9.0), Choice("He is short.", -8.0))
    assert second.turns[0].choices == (Choice(" x", -1.0, "Anna"), Choice(" x", -2.0, "Paul"))


def test_a_likelihood_that_is_no_number_is_none(tmp_path):
    sample = scored(("p", " a", float("nan")), ("p", " b", float("-inf")), ("p", " c", -1.0))
    (question,) = transcript([lines(tmp_path / "a", [sample])]).questions
    assert [choice.score for choice in question.turns[0].choices] == [None, None, -1.0]


def test_each_turn_stands_with_its_answer_and_a_scale_with_its_likeliest_numbers(tmp_path):
    """As `conversation` asks: 101 choices of the second turn, of which 70 is the likeliest."""
    scale = [[str(-abs(i - 70) - 0.5), "False"] for i in range(101)]
    plan = {
        "system": "Be brief.",
        "turns": [
            {"user": "Describe."},
            {"user": "How much?", "choices": [str(i) for i in range(101)]},
        ],
    }
    sample = {
        "doc_id": 7,
        "arguments": {"gen_args_0": {"arg_0": "Describe.", "arg_1": plan}},
        "resps": [[["A thing.", scale]]],
        "filtered_resps": [["x"]],
    }
    (question,) = transcript([lines(tmp_path / "a", [sample])]).questions
    first, second = question.turns
    assert (
        question.system == "Be brief."
        and first.said == ("A thing.",)
        and second.prompt == "How much?"
    )
    assert (
        second.choices[0] == Choice("70", -0.5)
        and len(second.choices) == module.CHOICES
        and second.of == 101
    )


def test_the_first_turn_is_shown_as_the_chat_template_made_it(tmp_path):
    """Whose own system message, in the first prompt, the model read too."""
    prompt = "<|system|>You are SmolLM. Be brief.<|user|>Describe.<|assistant|>"
    plan = {
        "system": "Be brief.",
        "chat": True,
        "turns": [{"user": "Describe."}, {"user": "How much?"}],
    }
    sample = {
        "doc_id": 7,
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": plan}},
        "resps": [[["A thing.", "70"]]],
        "filtered_resps": ["x"],
    }
    (question,) = transcript([lines(tmp_path / "a", [sample])]).questions
    assert question.system is None and [turn.prompt for turn in question.turns] == [
        prompt,
        "How much?",
    ]


def test_what_has_no_probability_is_not_among_the_likeliest(tmp_path):
    """Of 20 choices all but the last are impossible, as a server says that tells the likelihoods of
    a few tokens alone."""
    (question,) = transcript(
        [
            lines(
                tmp_path / "a",
                [scored(*(("p", f" {i}", -2.0 if i == 19 else float("-inf")) for i in range(20)))],
            )
        ]
    ).questions
    assert question.turns[0].choices[0] == Choice(" 19", -2.0) and question.turns[0].of == 20


@pytest.mark.parametrize(
    ("filtered", "read"),
    [
        (["x"], None),
        ([["x"]], None),
        (["70"], ("70",)),
        ([[70, None]], ("70", "null")),
        ([[[1, 2]]], ("[1, 2]",)),
    ],
)
def test_what_the_parser_read_is_shown_where_it_is_not_the_answer(tmp_path, filtered, read):
    (question,) = transcript([lines(tmp_path / "a", [generated(0, ["x"], filtered)])]).questions
    assert question.read == read


def test_answers_drawn_several_times_show_some_and_their_number(tmp_path):
    (question,) = transcript(
        [lines(tmp_path / "a", [generated(0, [f"draw {i}" for i in range(10)], [["A"] * 10])])]
    ).questions
    assert (
        question.turns[0].said == tuple(f"draw {i}" for i in range(module.REPEATS))
        and question.turns[0].of == 10
    )
    assert question.read == ("A",) * module.REPEATS


LONG = "This is a sentence that goes on and on, " * 20


@pytest.mark.parametrize(
    ("answer", "settings", "cut"),
    [
        ("The answer is 70", {"max_gen_toks": 32}, False),  # far from the limit
        # 808 characters: as long as 256 tokens may be
        (LONG + "and then", {"max_gen_toks": 256}, True),
        (LONG + "and then it ends.", {"max_gen_toks": 256}, False),
        (LONG + "and then", {"max_gen_toks": 1024}, False),
        ("a", {"max_gen_toks": 1}, False),  # one letter is asked for
        (LONG, {}, False),  # no limit is known
        ("<think>Let me see", {"max_gen_toks": 4096}, True),
        ("<think>Let me see</think>70", {"max_gen_toks": 4096}, False),
    ],
)
def test_an_answer_seems_cut_off_within_reasoning_or_at_the_limit_within_a_sentence(
    tmp_path, answer, settings, cut
):
    assert transcript(
        [lines(tmp_path / "a", [generated(0, [answer], **settings)])]
    ).cut_off == CutOff(1, int(cut))


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "null",
        "3",
        '{"arguments": 3, "resps": "x"}',
        '{"arguments": {"a": {"b": 1}}, "resps": [[]]}',
        '{"arguments": {"a": {"b": "p", "c": {"turns": [3]}}}, "resps": [null]}',
        '{"arguments": [["p", {"turns": []}]], "resps": [["x"]]}',
        '{"arguments": {"a": {"b": "p", "c": "d"}}, "resps": [[["x"]], 3]}',
        "[" * 100_000,
        "\x00\xff",
    ],
)
def test_no_line_costs_the_page(tmp_path, line):
    (tmp_path / "a").write_text(line + "\n", encoding="latin-1")
    transcript([tmp_path / "a"])


def test_a_file_that_is_gone_is_a_note(tmp_path):
    assert "cannot be read: No such file" in transcript([tmp_path / "gone"]).notes[0]
