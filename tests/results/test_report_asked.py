"""What a report shows of samples: three questions, and how many answers seem cut off, from files
that are not read whole."""

import pytest

from lm_eval_bias.results import transcripts as module
from lm_eval_bias.results.transcripts import Choice, transcript
from tests.scripted import write_lines


def generated(number, answers, filtered=None, **settings):
    arguments = {"gen_args_0": {"arg_0": f"prompt {number}", "arg_1": {"until": [], **settings}}}
    return sample(arguments, [answers], filtered or answers, number)


def scored(*pairs):
    """Requests for likelihoods, and log-likelihoods as the harness writes them into samples, as
    texts."""
    arguments = {f"gen_args_{i}": {"arg_0": a, "arg_1": b} for i, (a, b, _) in enumerate(pairs)}
    return sample(arguments, [[[str(score), "False"]] for *_, score in pairs])


def conversation(first, system, turns, *answers):
    """As `harness.conversation` asks."""
    plan = {"system": system, "turns": turns}
    return sample({"gen_args_0": {"arg_0": first, "arg_1": plan}}, [[list(answers)]], ["x"])


def sample(arguments, responses, filtered=(), number=0):
    shown = {"doc_id": number, "doc_hash": f"h{number}", "arguments": arguments}
    return {**shown, "resps": responses, "filtered_resps": list(filtered)}


@pytest.fixture
def read(tmp_path):
    """The transcript of sample files."""

    def read(*files):
        named = enumerate(files)
        return transcript([write_lines(tmp_path / str(i), samples) for i, samples in named])

    return read


@pytest.fixture
def turn(read):
    """The only turn of the only question of a sample."""

    def turn(sample):
        (question,) = read([sample]).questions
        (turn,) = question.turns
        return turn

    return turn


def test_three_questions_from_the_beginning_the_middle_and_the_end(read):
    found = read([generated(i, [f"answer {i}"]) for i in range(100)])
    assert [q.turns[0].prompt for q in found.questions] == ["prompt 0", "prompt 50", "prompt 99"]
    assert found.questions[2].turns[0].answers == ("answer 99",) and not found.notes


def test_questions_are_spread_over_the_parts_of_a_run(read):
    files = [[generated(f"{part}/{i}", ["x"]) for i in range(4)] for part in range(3)]
    shown = [q.turns[0].prompt for q in read(*files).questions]
    assert shown == ["prompt 0/0", "prompt 1/2", "prompt 2/3"]


def test_messages_to_a_server_are_a_list_of_one_text(turn):
    """As the harness's types for chat completions have them."""
    said = {"gen_args_0": {"arg_0": ['[{"role": "user"}]'], "arg_1": {"until": []}}}
    assert turn(sample(said, [["x"]])).prompt == '[{"role": "user"}]'


def test_a_short_file_shows_each_question_once(read):
    assert len(read([generated(0, ["x"])]).questions) == 1
    assert read([]).questions == read().questions == ()


def test_a_large_file_is_not_read_whole(read, monkeypatch):
    """Of 3 MB two hundred lines of a kilobyte; the last question is one of the last lines."""
    lengths = []

    def loads(line, loads=module.loads):
        lengths.append(len(line))
        return loads(line)

    monkeypatch.setattr(module, "loads", loads)
    found = read([generated(i, ["x" * 900]) for i in range(3_000)])
    assert len(lengths) == module.LINES and sum(lengths) < 1_000_000
    first, middle, last = (int(q.number) for q in found.questions)
    assert first == 0 and 1_450 < middle < 1_550 and last > 2_950


def test_a_file_without_ends_of_lines_is_left_at_some_point(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LONGEST", 10_000)
    (tmp_path / "a").write_bytes(b"x" * 3_000_000)
    found = transcript([tmp_path / "a"])
    assert not found.questions and "no whole JSON" in found.notes[0]


@pytest.mark.parametrize(
    "prompt, requests, choices",
    [
        (
            "Is it?",
            [("Is it?", " yes", -1.5), ("Is it?", " no", -0.25)],
            [Choice(" yes", -1.5), Choice(" no", -0.25)],
        ),
        (
            "",
            [("He is tall.", "He is short.", -9.0), ("He is short.", "He is tall.", -8.0)],
            [Choice("He is tall.", -9.0), Choice("He is short.", -8.0)],
        ),
        (
            "Each continuation after its own prompt.",
            [("Anna", " x", -1.0), ("Paul", " x", -2.0)],
            [Choice(" x", -1.0, "Anna"), Choice(" x", -2.0, "Paul")],
        ),
    ],
)
def test_likelihoods_show_choices_of_one_prompt_or_several_and_sentences(
    turn, prompt, requests, choices
):
    shown = turn(scored(*requests))
    assert (shown.prompt, list(shown.choices), shown.of) == (prompt, choices, 2)


def test_each_turn_stands_with_its_answer_and_a_scale_with_its_likeliest_numbers(read):
    """101 choices of the second turn, of which 70 is the likeliest."""
    scale = [[str(-abs(i - 70) - 0.5), "False"] for i in range(101)]
    turns = [{"user": "Describe."}, {"user": "How much?", "choices": list(map(str, range(101)))}]
    asked = conversation("Describe.", "Be brief.", turns, "A thing.", scale)
    (question,) = read([asked]).questions
    first, second = question.turns
    assert (question.system, first.answers) == ("Be brief.", ("A thing.",))
    assert (second.prompt, second.choices[0]) == ("How much?", Choice("70", -0.5))
    assert (len(second.choices), second.of) == (module.CHOICES, 101)


def test_the_first_turn_is_shown_as_the_chat_template_made_it(read):
    """Whose own system message, in the first prompt, the model read too."""
    prompt = "<|system|>You are SmolLM. Be brief.<|user|>Describe.<|assistant|>"
    turns = [{"user": "Describe."}, {"user": "How much?"}]
    (question,) = read([conversation(prompt, "Be brief.", turns, "A thing.", "70")]).questions
    assert question.system is None
    assert [turn.prompt for turn in question.turns] == [prompt, "How much?"]


def test_what_has_no_probability_is_not_among_the_likeliest(turn):
    """Of 20 choices all but the last are impossible, as a server says that gives the likelihoods of
    a few tokens alone."""
    scores = [float("nan"), *[float("-inf")] * 18, -2.0]
    shown = turn(scored(*(("p", f" {i}", score) for i, score in enumerate(scores))))
    assert shown.choices[:2] == (Choice(" 19", -2.0), Choice(" 0", None)) and shown.of == 20


@pytest.mark.parametrize(
    "filtered, reading",
    [
        (["x"], None),
        ([["x"]], None),
        (["70"], ("70",)),
        ([[70, None]], ("70", "null")),
        ([[[1, 2]]], ("[1, 2]",)),
    ],
)
def test_what_the_parser_read_is_shown_where_it_is_not_the_answer(read, filtered, reading):
    (question,) = read([generated(0, ["x"], filtered)]).questions
    assert question.read == reading


def test_answers_drawn_several_times_show_some_and_their_number(read):
    draws = [f"draw {i}" for i in range(10)]
    (question,) = read([generated(0, draws, [["A"] * 10])]).questions
    (turn,) = question.turns
    assert (turn.answers, turn.of) == (tuple(draws[: module.REPEATS]), 10)
    assert question.read == ("A",) * module.REPEATS


def test_samples_of_an_older_version_are_said(read):
    (note,) = read([{"doc_id": 1, "records": {"a": 1}}]).notes
    assert "samples of another version, without questions and answers" in note


LONG = "This is a sentence that goes on and on, " * 20


@pytest.mark.parametrize(
    "answer, settings, cut",
    [
        # 808 characters: as long as 256 tokens may be
        (LONG + "and then", {"max_gen_toks": 256}, True),
        (LONG + "and then it ends.", {"max_gen_toks": 256}, False),
        (LONG + "and then", {"max_gen_toks": 1024}, False),  # far from the limit
        ("a", {"max_gen_toks": 1}, False),  # one letter is asked for
        (LONG, {}, False),  # no limit is known
        ("<think>Let me see", {"max_gen_toks": 4096}, True),
        ("<think>Let me see</think>70", {"max_gen_toks": 4096}, False),
    ],
)
def test_an_answer_seems_cut_off_within_reasoning_or_at_the_limit_within_a_sentence(
    read, answer, settings, cut
):
    found = read([generated(0, [answer], **settings)])
    assert (found.answers, found.cut) == (1, int(cut))


@pytest.mark.parametrize(
    "line",
    [
        "[]",
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
