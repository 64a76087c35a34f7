"""Let a model write new items step by step. A journal keeps every answer."""

import json
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lm_eval_bias import writing
from lm_eval_bias.authoring.pipeline import Pipeline, Refused, Step
from lm_eval_bias.data.bounds import Json, content_of, loads
from lm_eval_bias.usage import UsageError

FORMAT = 2
Ask = Callable[[Sequence[str], Sequence[int]], list[str]]
"""(prompts, a seed for each) -> answers."""


class Draft:
    """known: the row's and answers' fields. steps: those left. tries: answers to the first of them.
    lines: the journal's questions and answers."""

    def __init__(self, row: Mapping[str, str], steps: Sequence[Step]):
        given = [i for i, step in enumerate(steps, 1) if set(step.gives) <= row.keys()]
        self.known, self.steps = dict(row), steps[max(given, default=0) :]
        self.tries, self.lines = 0, list[dict[str, Any]]()

    def take(self, prompt: str, answer: str) -> Json:
        step, *others = self.steps
        line = {"row": self.known["id"], "step": step.name, "try": self.tries + 1}
        line |= {"prompt": prompt, "answer": answer}
        try:
            self.known.update(step.read(answer, self.known))
            self.steps, self.tries = others, 0
        except Refused as refused:
            line["refused"] = list(refused.args)
            self.tries += 1
        self.lines.append(line)
        return line


def opened(journal: Path, run: Json) -> list[Any]:
    """A journal's questions and answers: JSON lines behind its run's settings. Creates a missing
    file. UsageError for one that is no journal, or another run's."""
    if not journal.exists():
        writing.whole(journal, json_lines([{"journal": FORMAT, **run}]))
        return []
    try:
        content = content_of(journal)
        end = content.rfind(b"\n") + 1  # a line that was cut off is dropped
        settings, *lines = map(loads, content[:end].splitlines())
        if settings["journal"] != FORMAT:
            raise KeyError("journal")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{journal} is not a readable journal ({type(error).__name__}); give another --out"
        ) from error
    for key, value in run.items():
        if settings.get(key) != value:
            raise UsageError(
                f"{journal} belongs to a run with {key} {settings.get(key)!r}, not {value!r}; use "
                "another --out, or the same settings"
            )
    os.truncate(journal, end)
    return lines


def write(
    pipeline: Pipeline,
    rows: Sequence[Mapping[str, str]],
    ask: Ask,
    journal: Path,
    run: Json,
    tries: int,
    at_once: int,
    progress: Callable[[Sequence[Draft]], None],
) -> list[Draft]:
    """Make an item of each row. UsageError if a row has changed since the journal.

    run: settings for the journal. tries: most answers per question. at_once: questions per batch.
    """
    drafts = {row["id"]: Draft(row, pipeline.steps) for row in rows}
    for line in opened(journal, run):
        draft = drafts.get(line["row"])
        if draft and draft.steps and draft.steps[0].name == line["step"]:
            if draft.steps[0].prompt(draft.known) != line["prompt"]:
                raise UsageError(
                    f"{journal}: row {line['row']!r} has changed since the run began; use another "
                    "--out, or give the row a new id"
                )
            draft.take(line["prompt"], line["answer"])
    made = list(drafts.values())
    progress(made)
    while turn := [draft for draft in made if draft.steps and draft.tries < tries][:at_once]:
        prompts = [draft.steps[0].prompt(draft.known) for draft in turn]
        places = [f"{draft.known['id']}/{draft.steps[0].name}/{draft.tries}" for draft in turn]
        answers = ask(prompts, [zlib.crc32(place.encode()) >> 1 for place in places])
        lines = json_lines(map(Draft.take, turn, prompts, answers))
        with writing.os_errors_as_usage_errors(journal), journal.open("ab") as file:
            file.write(writing.encoded(lines))
            file.flush()
            os.fsync(file)
        progress(made)
    return made


def report(made: Sequence[Draft], pipeline: Pipeline, out: Path) -> Iterator[str]:
    """How many items are accepted, what was refused at which step, and why items are rejected."""
    order = [step.name for step in pipeline.steps]
    rejected = [draft for draft in made if draft.steps]
    lines = [line for draft in made for line in draft.lines]
    refused = Counter((line["step"], line["refused"][0]) for line in lines if "refused" in line)
    accepted, total = len(made) - len(rejected), refused.total()
    yield f"{out}: {accepted} of {len(made)} items accepted by the checks, {len(rejected)} rejected"
    yield f"  {len(lines)} answers, {total} of them refused{':' if total else ''}"
    for (step, check), n in sorted(refused.items(), key=lambda x: (order.index(x[0][0]), -x[1])):
        yield f"    {n:4}  {step}: {check}"
    for draft in rejected:
        check, cause = draft.lines[-1]["refused"]
        yield f"  rejected {draft.known['id']} at {draft.steps[0].name}, {check}: {cause}"


def json_lines(rows: Iterable[Json]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
