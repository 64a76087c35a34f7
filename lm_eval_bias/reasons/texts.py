"""The reasons in stored answers: lower case, without ratings and headings, "they" for the group
(StereoMap, section 3.2).
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lm_eval_bias.answers.reasoning import without_reasoning
from lm_eval_bias.answers.text import CUT_OFF, REFUSED, plain
from lm_eval_bias.data.bounds import lines, loads
from lm_eval_bias.results import samples
from lm_eval_bias.usage import UsageError

ALL = "all"
"""Stands for every item."""
_POINTS = r"[1-5](?:\.\d+)?(?:\s*(?:/|out of)\s*5)?"
# "rating: 4/5.", "i would rate them 4 out of 5"
_RATING = re.compile(
    r"\b(?:(?:the|i|would|my) )*(?:rat(?:e|es|ed|ings?)|scores?)\b[^.\d\n]{0,40}"
    rf"{_POINTS}(?!\d)\W*(?:because )?"
)
# A whole line: "friendly: 4", "| friendly | 4 |", "4/5"; "reasons for the rating:"
_NO_REASON = re.compile(
    rf"(?:[a-z][\w' /-]{{0,40}}[:=|-]+)?\W*{_POINTS}\W*(?:\([^()]*\))?\W*"
    r"|.*\b(?:ratings?|reasons?|keywords?|descriptions?)\b[^:]*:\W*|\W*"
)
_PERSONS = r"(?:[\s-]+(?:people|persons?|individuals?|folks?|men|women|groups?|families|workers))"


class Answer(NamedTuple):
    """group: its label. question: its items. text: the reasons, "" without any."""

    group: str
    question: str
    style: str
    round: Any
    text: str


def reasons(answer: str, named: str = "", prompt: str = "") -> str:
    """The reasons, a line each. named: the group as a sentence names it."""
    asked, kept = plain(prompt), []
    for line in plain(answer).splitlines():
        line = re.sub(r"^\W*(?:\d{1,2}[.):])?\W*", "", _RATING.sub("", line))
        repeated = line.count(" ") >= 2 and line in asked
        if not (_NO_REASON.fullmatch(line) or repeated):
            kept.append(_mention(named).sub("they", line) if named else line)
    return "\n".join(kept)


def _mention(named: str) -> re.Pattern[str]:
    word = plain(named).removesuffix(" people")
    one = word[:-2] + "an" if word.endswith("men") else word.removesuffix("s")
    forms = f"(?:{re.escape(word)}|{re.escape(one)})".replace(r"\-", r"[\s-]")
    persons = f"{_PERSONS}{'?' if one != word else ''}"  # "poor health" names nobody
    return re.compile(
        rf"(?<![\w-])(?:members? of )?(?:the {forms}|{forms}{persons})(?:'s?)?(?![\w-])"
    )


def answers(files: Sequence[Path], items: Sequence[str]) -> tuple[list[Answer], int]:
    """The answers to questions whose item contains a word of `items`, and how many were refused or
    cut off. UsageError for other files, several models, or no answer in words."""
    files = list(dict.fromkeys(files))
    runs = [samples.results_of(path) for path in files]
    if len(models := sorted({str(samples.model_name(run)) for run in runs if run})) > 1:
        raise UsageError(f"{len(models)} models, {', '.join(models)}; give the samples of one")
    found: list[Answer] = []
    left_out = 0
    for path in files:
        for number, line in lines(path):
            try:
                sample = loads(line)
                doc, texts = sample["doc"], [r for rs in sample["resps"] for r in rs]
                group = str(doc["group"])
                asked = [doc["item"]] if doc.get("item") else doc.get("items") or ()
            except (ValueError, KeyError, TypeError) as error:
                raise UsageError(
                    f"{path}, line {number}: no sample of a task that asks about social groups; "
                    "give the files that --log_samples wrote"
                ) from error
            question = ", ".join(map(str, asked))
            if question and ALL not in items and not any(i in question.lower() for i in items):
                continue
            read = _flat(sample.get("filtered_resps") or [])
            prompt = str(samples.at(sample, "arguments", "gen_args_0", "arg_0"))
            for i, text in enumerate(texts):
                if isinstance(text, list):  # of a conversation the last turn
                    text = text[-1]
                if text in ("True", "False"):  # a likelihood's
                    continue
                outside = without_reasoning(text)
                if outside is None or read[i : i + 1] in ([REFUSED], [CUT_OFF]):
                    left_out += 1
                else:
                    made = reasons(outside, str(doc.get("text") or group), prompt)
                    found.append(
                        Answer(group, question, doc.get("style") or "", doc.get("round"), made)
                    )
    if not any(answer.text for answer in found):
        raise UsageError(
            f"no reason in {len(found)} answers to questions about {' or '.join(items)}, beside "
            f"{left_out} refused ones. Choose with --items, or give samples of a task that asks "
            "for reasons"
        )
    return found, left_out


def _flat(read: Sequence[Any]) -> list[Any]:
    """A request may have a list of answers."""
    return [r for each in read for r in (each if isinstance(each, list) else [each])]
