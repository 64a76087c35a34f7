"""What a model was asked and what it said, out of sample files that are not read whole: a few lines
at places spread over them.

The harness writes a line for each document: `arguments` (prompt, and settings or a continuation),
`resps`, `filtered_resps`. A file may have gigabytes, so a place is sought and the line read that
begins after it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lm_eval_bias.answers.reasoning import spoken
from lm_eval_bias.answers.text import CUT_OFF

LINES = 200
"""Lines of a file that are looked at for answers that were cut off."""
WHOLE = 2_000_000
"""Bytes up to which a file is read from its beginning instead of in places."""
LONGEST = 8_000_000
"""Bytes of a line that is read; a longer one is left out."""
PROMPT, ANSWER = 3000, 1500
"""Characters of a text that are shown."""
CHOICES, REPEATS = 12, 5
"""Of an answer by likelihood the likeliest choices, of an answer drawn several times the first
draws."""
# A token of written language has three characters at least, as a rule; one that ends with a letter
# or a comma has not come to its end.
_PER_TOKEN, _FEWEST = 3, 16


class Choice(NamedTuple):
    """before: the prompt or other sentence that belongs to this choice alone, None where all share
    one. score: its log-likelihood, in nats; None where it is no number."""

    text: str
    score: float | None
    before: str | None = None


class Turn(NamedTuple):
    """said: the answers, several where they were drawn several times. choices: in place of that,
    the likeliest first; of: how many there are."""

    prompt: str
    said: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    of: int = 0


class SampledQuestion(NamedTuple):
    """One document. system: the instruction that stands before it, None where it is in the first
    prompt. read: what the task's parser made of the answers; None where it is the answer itself."""

    number: str
    system: str | None
    turns: tuple[Turn, ...]
    read: tuple[str, ...] | None


class CutOff(NamedTuple):
    """answers: those that were looked at; cut: of these the ones that seem cut off."""

    answers: int
    cut: int


class Transcript(NamedTuple):
    """notes: what could not be read, a line each."""

    questions: tuple[SampledQuestion, ...]
    cut_off: CutOff
    notes: tuple[str, ...]


def transcript(files: Sequence[Path], questions: int = 3) -> Transcript:
    """Some questions of a run with their answers, and how many answers of a sample of the lines
    seem cut off."""
    found: list[SampledQuestion] = []
    notes: list[str] = []
    answers = cut = 0
    wanted = _spread(len(files), questions)
    for i, path in enumerate(files):
        shown = [place for j, place in wanted if j == i]
        try:
            lines = _lines(path)
        except OSError as error:
            notes.append(f"{path}: cannot be read: {error.strerror or error}")
            continue
        samples, broken = [], 0
        for line in lines:
            sample = _sample(line)
            if sample is None:
                broken += 1
                continue
            samples.append(sample)
            seen = _cut(sample)
            answers, cut = answers + seen.answers, cut + seen.cut
        if broken:
            told = (
                f"{broken} of the {len(lines)} lines that were looked at "
                f"{'is' if broken == 1 else 'are'} no whole JSON, and skipped"
            )
            notes.append(
                f"{path}: {told}; the file was cut off or changed: run again with --log_samples"
            )
        old = 0
        for at in _places(len(samples), shown):
            question = _question(samples[at])
            old += question is None
            if question is not None:
                found.append(question)
        if old or (samples and not shown and _question(samples[0]) is None):
            notes.append(
                f"{path}: samples of another version, without questions and answers; run again "
                "with --log_samples to see them"
            )
    return Transcript(tuple(found), CutOff(answers, cut), tuple(notes))


def _spread(files: int, questions: int) -> list[tuple[int, float]]:
    """(file, place from 0 to 1 in it) of the questions, spread over all files."""
    places = [i / max(questions - 1, 1) for i in range(questions)]
    spread = [min(place * files, files - 1e-9) for place in places]
    return [(int(at), at - int(at)) for at in spread] if files else []


def _places(lines: int, shown: Sequence[float]) -> list[int]:
    return sorted({min(int(place * lines), lines - 1) for place in shown}) if lines else []


def _lines(path: Path) -> list[bytes]:
    """Up to LINES lines spread over a file. A long line is as likelier to be followed as it is
    long, so numbers from them are estimates."""
    size = path.stat().st_size
    with path.open("rb") as file:
        if size <= WHOLE:
            lines = [line for line in file if line.strip()]
            return (
                [lines[i * len(lines) // LINES] for i in range(LINES)]
                if len(lines) > LINES
                else lines
            )
        found: dict[int, bytes] = {}
        read = 0
        for i in range(LINES):
            if read > 8 * LONGEST:  # lines of megabytes: the places so far must do
                break
            at = i * size // LINES
            file.seek(at)
            if at:
                read += len(file.readline(LONGEST))  # the rest of a line
            start = file.tell()
            if start not in found and (line := file.readline(LONGEST)).strip():
                found[start] = line
                read += len(line)
        return list(found.values())


def _sample(line: bytes) -> Mapping[str, Any] | None:
    try:
        sample = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return sample if isinstance(sample, dict) else None


# ---- A question


def _question(sample: Mapping[str, Any]) -> SampledQuestion | None:
    requests, responses = _requests(sample.get("arguments")), sample.get("resps")
    if not requests or not isinstance(responses, list) or not responses:
        return None
    first, settings = requests[0]
    number = str(sample.get("doc_id", "?"))
    if isinstance(settings, str):
        return SampledQuestion(number, None, (_scored(requests, responses),), None)
    settings = settings if isinstance(settings, dict) else {}
    draws = responses[0] if isinstance(responses[0], list) else [responses[0]]
    read = _read(
        sample.get("filtered_resps"), (responses, draws, draws[:1], draws[0] if draws else None)
    )
    turns = settings.get("turns")
    if not isinstance(turns, list):
        said = tuple(str(text) for text in draws[:REPEATS])
        return SampledQuestion(number, None, (Turn(first, said, of=len(draws)),), read)
    drawn = [draw if isinstance(draw, list) else [draw] for draw in draws]
    found = []
    for k, turn in enumerate(turns):
        turn = turn if isinstance(turn, dict) else {}
        prompt = str(turn.get("user") or turn.get("user_template") or "")
        answers = [draw[k] for draw in drawn if k < len(draw)]
        if isinstance(turn.get("choices"), list) and answers and isinstance(answers[0], list):
            scored = [
                Choice(str(c), _score(a)) for c, a in zip(turn["choices"], answers[0], strict=False)
            ]
            found.append(Turn(prompt, choices=_likeliest(scored), of=len(scored)))
        else:
            found.append(Turn(prompt, tuple(str(a) for a in answers[:REPEATS]), of=len(answers)))
    if not found:
        return None
    system = settings.get("system")
    if found[0].prompt and found[0].prompt in first and found[0].prompt != first:
        # As the model's template made it, which may add a system message of its own, or as a
        # transcript; later turns are messages alone.
        found[0] = found[0]._replace(prompt=first)
        system = None if system and str(system) in first else system
    return SampledQuestion(number, str(system) if system else None, tuple(found), read)


def _requests(arguments: Any) -> list[tuple[str, Any]]:
    """(first argument, second) of each request; a mapping since 0.4, a list before."""
    some = (
        list(arguments.values())
        if isinstance(arguments, dict)
        else arguments
        if isinstance(arguments, list)
        else []
    )
    found = []
    for request in some:
        pair = (
            list(request.values())
            if isinstance(request, dict)
            else request
            if isinstance(request, list)
            else []
        )
        if not pair or not isinstance(pair[0], str):
            return []
        found.append((pair[0], pair[1] if len(pair) > 1 else None))
    return found


def _scored(requests: Sequence[tuple[str, Any]], responses: Sequence[Any]) -> Turn:
    """Continuations of one prompt, continuations of several, or sentences each beside the other of
    its pair."""
    scores = [
        _score(response[0] if isinstance(response, list) and response else None)
        for response in responses
    ]
    pairs = list(zip(requests, scores, strict=False))
    one = len({prompt for prompt, _ in requests}) == 1
    beside = {str(other) for _, other in requests} == {prompt for prompt, _ in requests} and len(
        requests
    ) > 1
    if one:
        choices = [Choice(str(text), score) for (_, text), score in pairs]
    elif beside:
        choices = [Choice(prompt, score) for (prompt, _), score in pairs]
    else:
        choices = [Choice(str(text), score, prompt) for (prompt, text), score in pairs]
    prompt = (
        requests[0][0]
        if one
        else "Which sentence is likelier?"
        if beside
        else "Each continuation after its own prompt."
    )
    return Turn("" if beside else prompt, choices=_likeliest(choices), of=len(choices))


def _likeliest(choices: Sequence[Choice]) -> tuple[Choice, ...]:
    # no number: at the end
    ordered = sorted(
        choices, key=lambda choice: float("inf") if choice.score is None else -choice.score
    )
    return tuple((ordered if len(choices) > CHOICES else choices)[:CHOICES])


def _score(answer: Any) -> float | None:
    """The log-likelihood of [log-likelihood, ...], which the harness writes as texts."""
    try:
        number = float(answer[0])
    except (TypeError, ValueError, IndexError, KeyError):
        return None
    return number if abs(number) < float("inf") else None


def _read(filtered: Any, answers: Sequence[Any]) -> tuple[str, ...] | None:
    """What the parser made of it, in short; None where that is no more than the answer."""
    if (
        not isinstance(filtered, list)
        or not filtered
        or filtered in answers
        or filtered[0] in answers
    ):
        return None
    read = filtered[0] if len(filtered) == 1 and isinstance(filtered[0], list) else filtered
    return tuple(
        each if isinstance(each, str) else json.dumps(each, ensure_ascii=False)
        for each in read[:REPEATS]
    )


# ---- Answers that were cut off


def _cut(sample: Mapping[str, Any]) -> CutOff:
    """Of the answers of a sample, those that end within reasoning, or that are as long as the limit
    allows and end within a sentence."""
    found = [_is_cut(text, most) for text, most in _generated(sample)]
    return CutOff(len(found), sum(found))


def _generated(sample: Mapping[str, Any]) -> Iterator[tuple[str, int | None]]:
    """Every text that was generated, and how many tokens it may have."""
    for (_, settings), response in zip(
        _requests(sample.get("arguments")), sample.get("resps") or (), strict=False
    ):
        if not isinstance(settings, dict):
            continue
        turns = settings.get("turns")
        for draw in response if isinstance(response, list) else [response]:
            if isinstance(turns, list):
                for turn, text in zip(
                    turns, draw if isinstance(draw, list) else [draw], strict=False
                ):
                    if isinstance(text, str) and isinstance(turn, dict):
                        yield text, _most(turn.get("generation_kwargs"))
            elif isinstance(draw, str):
                yield draw, _most(settings)


def _most(settings: Any) -> int | None:
    settings = settings if isinstance(settings, dict) else {}
    most = settings.get("max_gen_toks", settings.get("max_new_tokens"))
    return most if isinstance(most, int) and not isinstance(most, bool) else None


def _is_cut(text: str, most: int | None) -> bool:
    if text.strip() == CUT_OFF or spoken(text) is None:
        return True
    end = text.rstrip()[-1:]
    return (
        most is not None
        and most >= _FEWEST
        and len(text) >= _PER_TOKEN * most
        and (end.isalnum() or end in ",;:-(")
    )
