"""New items, written by a model step by step: asked, checked, asked again, and kept in a journal
from which a killed run goes on."""

from __future__ import annotations

import json
import os
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lm_eval_bias.authoring.pipeline import Pipeline, Refused
from lm_eval_bias.usage import UsageError

FORMAT = 1
Ask = Callable[[Sequence[str], Sequence[int]], list[str]]
"""(prompts, a seed for each) -> answers."""


def journal_of(out: Path) -> Path:
    """Where the texts of every step stand: beside the file of items."""
    return out.with_name(f"{out.stem}.journal.jsonl")


def review_of(out: Path) -> Path:
    """Where a review keeps its decisions."""
    return out.with_name(f"{out.stem}.review.json")


class Draft:
    """An item in the making.

    known: its row, and what the answers gave. start, step: the numbers of its first step and of the
    next. tries: answers to that so far.

    refused: the last one's check and cause; None if it has none, or was taken.
    """

    def __init__(self, row: Mapping[str, str], start: int) -> None:
        self.known = dict(row)
        self.start = self.step = start
        self.tries = 0
        self.refused: tuple[str, str] | None = None

    def take(self, found: Mapping[str, str] | None, refused: Sequence[str] | None) -> None:
        """Go on with what an answer gave, or count it as a failed try."""
        if refused is None:
            self.known.update(found or {})
            self.step, self.tries, self.refused = self.step + 1, 0, None
        else:
            self.tries += 1
            self.refused = (refused[0], refused[1])


class Journal:
    """A file of JSON lines: what the run is, then every question with its answer and what became of
    it. A line that a kill cut off is dropped."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self) -> list[dict[str, Any]]:
        """All that stands in it. UsageError if it is something else."""
        try:
            whole, cut, _ = self.path.read_bytes().rpartition(b"\n")
            lines = [json.loads(line) for line in (whole + cut).splitlines()]
            if lines and lines[0]["journal"] != FORMAT:
                raise KeyError("journal")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"{self.path} is no journal that this version can read ({type(error).__name__}); give another --out"
            ) from error
        return lines

    def start(self, run: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The lines about questions. Begins the file where there is none. UsageError if it is that
        of another run, naming what differs."""
        if not self.path.exists():
            self.add([{"journal": FORMAT, **run}])
            return []
        lines = self.lines()
        content = self.path.read_bytes()
        if not content.endswith(b"\n"):
            with self.path.open("r+b") as file:
                file.truncate(content.rfind(b"\n") + 1)
        if not lines:
            self.add([{"journal": FORMAT, **run}])
            return []
        for key, value in run.items():
            if lines[0].get(key) != value:
                raise UsageError(
                    f"{self.path} is of a run with {key} {lines[0].get(key)!r}, not {value!r}; give another --out, or run with what it had"
                )
        return lines[1:]

    def add(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Write lines, down to the disk."""
        with self.path.open("ab") as file:
            file.write(
                b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines)
            )
            file.flush()
            os.fsync(file.fileno())


def drafts(
    rows: Sequence[Mapping[str, str]],
    pipeline: Pipeline,
    lines: Iterable[Mapping[str, Any]],
    where: object,
) -> list[Draft]:
    """The items as far as a journal has them. UsageError if a row is another one than it was."""
    found = {row["id"]: Draft(row, pipeline.start(row)) for row in rows}
    for line in lines:
        draft = found.get(line["row"])
        if draft is None:
            continue  # a row that the file no longer has
        if "given" in line and line["given"] != {
            k: v for k, v in draft.known.items() if k in line["given"]
        }:
            raise UsageError(
                f"{where} has another row {line['row']!r} than the file now; give another --out, or the row another id"
            )
        if draft.step < len(pipeline.steps) and line["step"] == pipeline.steps[draft.step].name:
            draft.take(line.get("found"), line.get("refused"))
    return list(found.values())


def write(
    pipeline: Pipeline,
    rows: Sequence[Mapping[str, str]],
    ask: Ask,
    journal: Journal,
    run: Mapping[str, Any],
    tries: int,
    at_once: int = 1,
    progress: Callable[[list[Draft]], None] = lambda drafts: None,
) -> list[Draft]:
    """Make an item of each row, as far as it goes; each answer is in the journal before the next
    question.

    ask: the writer. run: what the journal must have been begun with. tries: so many answers to a
    question at most. at_once: so many questions side by side. progress: called with all drafts
    after each round.
    """
    made = drafts(rows, pipeline, journal.start(run), journal.path)
    progress(made)
    while open_ := [
        draft for draft in made if draft.step < len(pipeline.steps) and draft.tries < tries
    ]:
        turn = open_[:at_once]
        steps = [pipeline.steps[draft.step] for draft in turn]
        prompts = [step.prompt(draft.known) for step, draft in zip(steps, turn, strict=True)]
        seeds = [
            zlib.crc32(f"{draft.known['id']}/{step.name}/{draft.tries}".encode()) >> 1
            for step, draft in zip(steps, turn, strict=True)
        ]
        lines = []
        for draft, step, prompt, answer in zip(
            turn, steps, prompts, ask(prompts, seeds), strict=True
        ):
            line: dict[str, Any] = {
                "row": draft.known["id"],
                "step": step.name,
                "try": draft.tries + 1,
            }
            if draft.step == draft.start and not draft.tries:
                line["given"] = dict(draft.known)
            line |= {"prompt": prompt, "answer": answer}
            try:
                found: dict[str, str] | None = step.read(answer, draft.known)
                line["found"] = found
            except Refused as refused:
                found = None
                line["refused"] = [refused.check, refused.cause]
            lines.append(line)
            draft.take(found, line.get("refused"))
        journal.add(lines)
        progress(made)
    return made


class Outcome(NamedTuple):
    """accepted, rejected: drafts. answers: how many there were. refused: (step, check) -> how many
    of them were refused by it.

    repeated: how many, asked for again, were word for word the one before.
    """

    accepted: list[Draft]
    rejected: list[Draft]
    answers: int
    refused: Counter[tuple[str, str]]
    repeated: int


def outcome(
    made: Sequence[Draft], pipeline: Pipeline, lines: Iterable[Mapping[str, Any]]
) -> Outcome:
    """What became of a run. lines: of its journal."""
    asked = [line for line in lines if "step" in line]
    refused = Counter((line["step"], line["refused"][0]) for line in asked if "refused" in line)
    before: dict[tuple[str, str], str] = {}
    repeated = 0
    for line in asked:
        place = line["row"], line["step"]
        repeated += before.get(place) == line["answer"]
        before[place] = line["answer"]
    done = len(pipeline.steps)
    return Outcome(
        [d for d in made if d.step == done],
        [d for d in made if d.step < done],
        len(asked),
        refused,
        repeated,
    )


def told(result: Outcome, pipeline: Pipeline, out: Path) -> Iterator[str]:
    """The lines that a person reads at the end."""
    total = len(result.accepted) + len(result.rejected)
    yield f"{out}: {len(result.accepted)} of {total} items accepted by the checks, {len(result.rejected)} rejected"
    yield f"  {result.answers} answers, {sum(result.refused.values())} of them refused" + (
        ":" if result.refused else ""
    )
    order = [step.name for step in pipeline.steps]
    for (step, check), n in sorted(
        result.refused.items(), key=lambda each: (order.index(each[0][0]), -each[1])
    ):
        yield f"    {n:4}  {step}: {check}"
    if result.repeated:
        yield f"  {result.repeated} answers, asked for again, were the one before word for word: the writer does not sample (--gen_kwargs)"
    for draft in result.rejected:
        check, cause = draft.refused or ("", "")
        yield f"  rejected {draft.known['id']} at {order[draft.step]}, {check}: {cause}"


def save(path: Path, items: Iterable[Mapping[str, str]]) -> None:
    """Write JSON lines; the file is there whole, or as it was."""
    whole(path, "".join(json.dumps(dict(item), ensure_ascii=False) + "\n" for item in items))


def whole(path: Path, text: str) -> None:
    """Write a file in one stroke."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
