"""What a model was asked and what it said, from a few lines spread over sample files."""

import json
import os
from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from lm_eval_bias.answers.reasoning import without_reasoning
from lm_eval_bias.answers.text import CUT_OFF
from lm_eval_bias.data.bounds import Json, Unreadable, loads, opened
from lm_eval_bias.results.samples import at, listed, requests_of

QUESTIONS = 3
"""That are shown."""
LINES = 200
"""Lines of a file that are looked at for answers that were cut off."""
LONGEST = 8_000_000
"""Bytes of a line that is read, and of all lines of a file: to look for the end of reasoning in
them takes seconds."""
CHOICES, REPEATS = 12, 5
"""Of an answer by likelihood the likeliest choices, of an answer drawn several times the first
draws."""
# A token of written language has three characters at least, as a rule; one that ends with a letter
# or a comma has not come to its end.
_PER_TOKEN, _FEWEST = 3, 16
_DAMAGED = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What a sample of another form raises."""


class Choice(NamedTuple):
    """before: the prompt or sentence of this choice alone. score: its log-likelihood, if it is a
    number."""

    text: str
    score: float | None
    before: str | None = None


class Turn(NamedTuple):
    """choices: in place of answers, the likeliest first. of: how many there are."""

    prompt: str
    answers: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    of: int = 0


class SampledQuestion(NamedTuple):
    """system: the instruction before it, unless in the first prompt. read: what the parser made of
    the answers."""

    number: str
    system: str | None
    turns: tuple[Turn, ...]
    read: tuple[str, ...] | None


class Transcript(NamedTuple):
    """answers: those looked at; cut: those that seem cut off."""

    questions: tuple[SampledQuestion, ...]
    answers: int
    cut: int
    notes: tuple[str, ...]


def transcript(files: Sequence[Path]) -> Transcript:
    """Some questions of a run with their answers, and how many answers seem cut off."""
    questions = []
    notes = []
    cut = []
    for path in files:
        try:
            lines = _lines(path)
        except Unreadable as error:
            notes.append(f"{path}: cannot be read: {error.cause}")
            continue
        samples = [sample for sample in map(_sample, lines) if sample is not None]
        if broken := len(lines) - len(samples):
            notes.append(
                f"{path}: {broken} of the {len(lines)} lines that were looked at "
                f"{'is' if broken == 1 else 'are'} no whole JSON, and skipped; the file was cut "
                "off or changed: run again with --log_samples"
            )
        cut += [is_cut for sample in samples for is_cut in _cut(sample)]
        shown = [read for read in map(question, samples) if read is not None]
        questions += shown
        if samples and not shown:
            notes.append(
                f"{path}: samples of another version, without questions and answers; run again "
                "with --log_samples to see them"
            )
    last = len(questions) - 1
    places = sorted({round(last * i / (QUESTIONS - 1)) for i in range(QUESTIONS)})
    chosen = tuple(questions[i] for i in places if questions)
    return Transcript(chosen, len(cut), sum(cut), tuple(notes))


def _lines(path: Path) -> list[bytes]:
    """Up to LINES lines spread over a file."""
    with opened(path) as file:
        size, read, lines = file.seek(0, os.SEEK_END), 0, []
        file.seek(0)
        for part in range(LINES):
            if read > LONGEST:  # lines of megabytes: the places so far must do
                break
            if (place := part * size // LINES) > file.tell():
                file.seek(place)
                read += len(file.readline(LONGEST))  # the rest of a line
            lines.append(file.readline(LONGEST))
            read += len(lines[-1])
        return [line for line in lines if line.strip()]


def _sample(line: bytes) -> Json | None:
    try:
        sample = loads(line)
    except ValueError:
        return None
    return sample if isinstance(sample, dict) else None


# ---- A question


def question(sample: Json) -> SampledQuestion | None:
    """What a sample shows; None for one of another version."""
    try:
        return _shown(sample)
    except _DAMAGED:
        return None


def _shown(sample: Json) -> SampledQuestion:
    requests, responses = _requests(sample), sample["resps"]
    first, settings = requests[0]
    number = str(sample.get("doc_id", "?"))
    if isinstance(settings, str):
        return SampledQuestion(number, None, (_scored(requests, responses),), None)
    draws = listed(responses[0])
    turns = []
    for prompt, answers, _, choices in _generated(requests[:1], responses):
        if choices and answers and isinstance(answers[0], list):
            texts = zip(choices, answers[0], strict=False)
            turns.append(_choices(prompt, [Choice(str(t), _score(a)) for t, a in texts]))
        else:
            said = (a if isinstance(a, str) else str(a[0]) for a in answers[:REPEATS])
            turns.append(Turn(prompt, tuple(said), of=len(answers)))
    system, own = at(settings, "system"), turns[0].prompt
    if own and own in first and own != first:
        # As the model's template made it, which may add a system message of its own, or as a
        # transcript; later turns are messages alone.
        turns[0] = turns[0]._replace(prompt=first)
        system = None if str(system) in first else system
    read = _read(sample.get("filtered_resps"), (responses, draws, draws[:1], *draws[:1]))
    return SampledQuestion(number, str(system) if system else None, tuple(turns), read)


def _generated(
    requests: Sequence[tuple[str, Any]], responses: Sequence[Any]
) -> Iterator[tuple[str, list[Any], Json, Any]]:
    """Of each turn its prompt, answers, settings, and the choices that a model scores there."""
    for (prompt, settings), response in zip(requests, responses, strict=False):
        draws = listed(response)
        turns = at(settings, "turns")
        if turns is None and not isinstance(settings, str):
            yield prompt, draws, settings or {}, None
        for k, turn in enumerate(turns or ()):
            answers = [draw[k] for draw in map(listed, draws) if k < len(draw)]
            user = str(turn.get("user") or turn.get("user_template") or turn.get("behind") or "")
            yield user, answers, turn.get("generation_kwargs") or {}, turn.get("choices")


def _requests(sample: Json) -> list[tuple[str, Any]]:
    return [(str(values[0]), [*values, None][1]) for values in requests_of(sample)]


def _scored(requests: Sequence[tuple[str, Any]], responses: Sequence[Any]) -> Turn:
    """Continuations of one prompt or of several, or sentences each beside its counterpart."""
    pairs = zip(requests, responses, strict=False)
    rows = [(*request, _score(response[0])) for request, response in pairs]
    prompts = {prompt for prompt, _ in requests}
    if len(prompts) == 1:
        return _choices(requests[0][0], [Choice(str(text), score) for _, text, score in rows])
    if prompts == {str(other) for _, other in requests}:
        return _choices("", [Choice(sentence, score) for sentence, _, score in rows])
    apart = [Choice(str(text), score, before) for before, text, score in rows]
    return _choices("Each continuation after its own prompt.", apart)


def _choices(prompt: str, choices: Sequence[Choice]) -> Turn:
    """The likeliest of many."""
    shown = choices
    if len(choices) > CHOICES:
        shown = sorted(choices, key=lambda choice: inf if choice.score is None else -choice.score)
    return Turn(prompt, choices=tuple(shown[:CHOICES]), of=len(choices))


def _score(answer: Any) -> float | None:
    try:
        number = float(answer[0])
    except _DAMAGED:
        return None
    return number if abs(number) < inf else None


def _read(filtered: Any, answers: Sequence[Any]) -> tuple[str, ...] | None:
    """What the parser made of it; None where that is the answer."""
    if not filtered or filtered in answers or filtered[0] in answers:
        return None
    read = filtered[0] if len(filtered) == 1 and isinstance(filtered[0], list) else filtered
    return tuple(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for value in read[:REPEATS]
    )


# ---- Answers that were cut off


def _cut(sample: Json) -> list[bool]:
    try:
        return [
            _is_cut(text, settings.get("max_gen_toks", settings.get("max_new_tokens")))
            for _, answers, settings, _ in _generated(_requests(sample), sample["resps"])
            for text in answers
            if isinstance(text, str)
        ]
    except _DAMAGED:
        return []


def _is_cut(text: str, most: int | None) -> bool:
    if text.strip() == CUT_OFF or without_reasoning(text) is None:
        return True
    end = text.rstrip()[-1:]
    return (
        most is not None
        and most >= _FEWEST
        and len(text) >= _PER_TOKEN * most
        and (end.isalnum() or end in ",;:-(")
    )
