"""Let a model write new items step by step. A journal keeps every answer."""

import json
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lm_eval_bias import writing
from lm_eval_bias.authoring.pipeline import Pipeline, Refused
from lm_eval_bias.data.bounds import Json, content_of, loads
from lm_eval_bias.usage import UsageError

Entry = dict[str, Any]
FORMAT = 1
Ask = Callable[[Sequence[str], Sequence[int]], list[str]]
"""(prompts, a seed for each) -> answers."""


def journal_of(out: Path) -> Path:
    return out.with_name(f"{out.stem}.journal.jsonl")


class Draft:
    """An unfinished item. known: its row and answers' fields. start, step: indices of its first and
    next step. tries: answers to that step. refused: check and cause of the last refusal.
    """

    def __init__(self, row: Mapping[str, str], start: int) -> None:
        self.known = dict(row)
        self.start = self.step = start
        self.tries = 0
        self.refused: tuple[str, str] | None = None

    def take(self, gained: Mapping[str, str] | None, refused: Sequence[str] | None) -> None:
        if refused is None:
            self.known.update(gained or {})
            self.step, self.tries, self.refused = self.step + 1, 0, None
        else:
            self.tries += 1
            self.refused = (refused[0], refused[1])


class Journal:
    """JSON lines: the settings of the run, then each question with its outcome."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self) -> list[Entry]:
        """Raises UsageError if the file is no journal."""
        try:
            complete, end, _ = content_of(self.path).rpartition(b"\n")
            lines = [loads(line) for line in (complete + end).splitlines()]
            if lines and lines[0]["journal"] != FORMAT:
                raise KeyError("journal")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"{self.path} is not a readable journal ({type(error).__name__}); "
                "give another --out"
            ) from error
        return lines

    def start(self, run: Json) -> list[Entry]:
        """The lines about questions; creates a missing file. Raises UsageError for another run's
        journal.
        """
        lines = self.lines() if self.path.exists() else []
        if not lines:
            writing.whole(self.path, json_lines([{"journal": FORMAT, **run}]))
            return []
        content = self.path.read_bytes()
        os.truncate(self.path, content.rfind(b"\n") + 1)
        for key, value in run.items():
            if lines[0].get(key) != value:
                raise UsageError(
                    f"{self.path} belongs to a run with {key} {lines[0].get(key)!r}, not "
                    f"{value!r}; use another --out, or the same settings"
                )
        return lines[1:]

    def add(self, lines: Iterable[Json]) -> None:
        """Raises UsageError; a line that was cut off is dropped by `start`."""
        with writing.told(self.path), self.path.open("ab") as file:
            file.write(writing.encoded(json_lines(lines)))
            file.flush()
            os.fsync(file)


def drafts(
    rows: Sequence[Mapping[str, str]], pipeline: Pipeline, lines: Iterable[Json], where: object
) -> list[Draft]:
    """Raises UsageError if a row has changed since the journal."""
    by_id = {row["id"]: Draft(row, pipeline.start(row)) for row in rows}
    for line in lines:
        draft = by_id.get(line["row"])
        if draft is None:
            continue  # a row that the file no longer has
        if not line.get("given", {}).items() <= draft.known.items():
            raise UsageError(
                f"{where}: row {line['row']!r} has changed since the run began; use another --out, "
                "or give the row a new id"
            )
        if draft.step < len(pipeline.steps) and line["step"] == pipeline.steps[draft.step].name:
            draft.take(line.get("found"), line.get("refused"))
    return list(by_id.values())


def write(
    pipeline: Pipeline,
    rows: Sequence[Mapping[str, str]],
    ask: Ask,
    journal: Journal,
    run: Json,
    tries: int,
    at_once: int,
    progress: Callable[[list[Draft]], None],
) -> list[Draft]:
    """Make an item of each row.

    run: settings for the journal. tries: most answers per question. at_once: questions per batch.
    progress: called with all drafts.
    """
    all_drafts = drafts(rows, pipeline, journal.start(run), journal.path)
    done = len(pipeline.steps)
    progress(all_drafts)
    while unfinished := [
        draft for draft in all_drafts if draft.step < done and draft.tries < tries
    ]:
        turn = [(draft, pipeline.steps[draft.step]) for draft in unfinished[:at_once]]
        prompts = [step.prompt(draft.known) for draft, step in turn]
        seeds = [
            zlib.crc32(f"{draft.known['id']}/{step.name}/{draft.tries}".encode()) >> 1
            for draft, step in turn
        ]
        answers = ask(prompts, seeds)
        lines = []
        for (draft, step), prompt, answer in zip(turn, prompts, answers, strict=True):
            line: dict[str, Any] = {
                "row": draft.known["id"],
                "step": step.name,
                "try": draft.tries + 1,
            }
            if draft.step == draft.start and not draft.tries:
                line["given"] = dict(draft.known)
            line |= {"prompt": prompt, "answer": answer}
            try:
                line["found"] = step.read(answer, draft.known)
            except Refused as refused:
                line["refused"] = [refused.check, refused.cause]
            lines.append(line)
            draft.take(line.get("found"), line.get("refused"))
        journal.add(lines)
        progress(all_drafts)
    return all_drafts


def report(
    made: Sequence[Draft], pipeline: Pipeline, lines: Iterable[Json], out: Path
) -> Iterator[str]:
    """How many items are accepted, what was refused at which step, and why items are rejected."""
    order = [step.name for step in pipeline.steps]
    rejected = [draft for draft in made if draft.step < len(order)]
    questions = [line for line in lines if "step" in line]
    refused = Counter((line["step"], line["refused"][0]) for line in questions if "refused" in line)
    accepted, total = len(made) - len(rejected), refused.total()
    yield f"{out}: {accepted} of {len(made)} items accepted by the checks, {len(rejected)} rejected"
    yield f"  {len(questions)} answers, {total} of them refused{':' if total else ''}"
    for (step, check), n in sorted(refused.items(), key=lambda x: (order.index(x[0][0]), -x[1])):
        yield f"    {n:4}  {step}: {check}"
    for draft in rejected:
        check, cause = draft.refused or ("", "")
        yield f"  rejected {draft.known['id']} at {order[draft.step]}, {check}: {cause}"


def json_lines(rows: Iterable[Json]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
