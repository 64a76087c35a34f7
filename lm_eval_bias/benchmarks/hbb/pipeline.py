"""How the paper of HBB makes concept pairs, contexts and options out of stereotypes.

data: a person's own file of stereotypes; pipeline.yaml (prompts)
languages: en
paper: section 3.1, appendices C.1 to C.3, Tables 12 to 15
"""

import re
import textwrap
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from lm_eval_bias.answers.reasoning import without_reasoning
from lm_eval_bias.answers.refusal import is_refusal
from lm_eval_bias.authoring.pipeline import Known, Pipeline, Refused, Step
from lm_eval_bias.benchmarks.hbb.concepts_documents import TEXTS, TOKEN, named, unfit
from lm_eval_bias.data.content import read
from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.usage import UsageError

LONGEST_SUMMARY, LONGEST_CONCEPT = 80, 10
"""In words. The prompts ask for one sentence and for concepts of a few words, without numbers."""
_CONCEPTS = ("concept_1", "concept_2")
_GAP = re.compile(r"\{([^{}]+)\}")
_SENTENCE_END = re.compile(
    r"(?<!\bMr)(?<!\bMs)(?<!\bDr)(?<!\bMrs)(?<!\bSt)(?<!\be\.g)(?<!\bi\.e)"
    r"[.!?][\"”’')]*\s+(?=[\"“‘'(]*(?:[A-Z]|\[\[))"
)
_STORY = r"sentence\s*1\s*:(?P<context>.*?)\bsentence\s*2\s*:(?P<option_1>.*)"
_SECOND = r"sentence\s*(?:2\s*)?:(?P<option_2>.*)"
_WRAPPED = ('""', "''", "“”", "<>", "**", "``")
_LEAD = re.compile(
    r"^(?:(?:final )?answer|(?:the )?(?:two |raw )?concepts?(?: pair)?(?: are)?)\s*:\s*", re.I
)


@cache
def prompts() -> Mapping[str, Any]:
    return read(Path(__file__).with_name("pipeline.yaml")).data


# ---- What the items are made from


def rows(path: str) -> list[dict[str, str]]:
    """The rows of a file, each with its own id or its number.

    A row is a stereotype, in the columns of a prompt of Table 12, or a concept pair. UsageError for
    the first that is neither.
    """
    content = read(Path(path))
    prompt_of = {tuple(_GAP.findall(prompt)): prompt for prompt in prompts()["summary"]}
    kinds = [*prompt_of, _CONCEPTS]
    expected = f"expected {'; or '.join(map(', '.join, kinds))} (and id, theme), found "
    problems = list(content.problems)
    made = {}
    for i, row in enumerate(() if problems else content.data or [{}]):
        cells = row.items() if isinstance(row, Mapping) else ()
        filled = {k: str(v).strip() for k, v in cells if v is not None and str(v).strip()}
        columns = next((c for c in kinds if {*c} <= filled.keys() <= {*c, "id", "theme"}), None)
        new = {"id": f"row{i + 1}", **filled}
        if columns is None:
            problems.append(((i,), expected + (", ".join(filled) or "nothing")))
        elif new["id"] in made:
            problems.append(((i, "id"), f"{new['id']} stands in an earlier row, too"))
        elif columns != _CONCEPTS:
            new["stereotype"] = _filled(prompt_of[columns], filled)
            new = {k: v for k, v in new.items() if k in ("id", "theme", "stereotype")}
        made[new["id"]] = new
    for problem in problems:
        raise UsageError(content.message(*problem))
    return list(made.values())


# ---- What is asked


def _filled(prompt: str, values: Mapping[str, str]) -> str:
    """Gaps in the values stay as they are."""
    return _GAP.sub(lambda gap: values[gap[1]], prompt)


def _asks(prompt: str, fields: Mapping[str, str]) -> Callable[[Known], str]:
    """A step's prompt. fields: its gap -> the field that fills it."""
    return lambda known: _filled(
        prompts()[prompt], {gap: known[field] for gap, field in fields.items()}
    )


# ---- What is answered


def _plain(answer: str) -> str:
    """Without reasoning and decoration; some models repeat the prompts' "\\n"."""
    text = without_reasoning(answer)
    if text is None:
        raise Refused("form", "cut off within its reasoning")
    for mark, plain in (("\\n", "\n"), ("\\[", "["), ("\\]", "]"), ("**", "")):
        text = text.replace(mark, plain)
    if not text.strip():
        raise Refused("form", "empty")
    return text.strip()


def _misformed(text: str, problem: str) -> Refused:
    if is_refusal(text):
        return Refused("declined", "declines to answer")
    start = textwrap.shorten(text, 70, placeholder=" ...")
    return Refused("form", f"expected {problem}, found {start!r}")


def _bare(text: str) -> str:
    text = " ".join(text.split())
    while (marks := text[:1] + text[-1:]) in _WRAPPED and not set(marks) & set(text[1:-1]):
        text = text[1:-1].strip()
    return text


def _sentences(text: str) -> int:
    return 1 + len(_SENTENCE_END.findall(text))


def _read_summary(answer: str, known: Known) -> dict[str, str]:
    text = _plain(answer)
    summary = _bare(text)
    if is_refusal(text) or _sentences(summary) > 1 or len(summary.split()) > LONGEST_SUMMARY:
        raise _misformed(text, f"one sentence of {LONGEST_SUMMARY} words at most")
    return {"summary": summary}


def _read_concepts(names: tuple[str, str], answer: str, known: Known) -> dict[str, str]:
    text = _plain(answer)
    first, *more = [line.strip() for line in text.splitlines() if line.strip()]
    line = _bare(_LEAD.sub("", _bare(first)))
    parts = [_bare(part).rstrip(".") for part in line.split(";" if ";" in line else ":")]
    parts = [re.sub(r"^concept ?[12]\s*[:=]\s*", "", part, flags=re.I).strip() for part in parts]
    if more or len(parts) != 2 or not all(parts):
        raise _misformed(text, "concept1;concept2 in one line")
    for part in parts:
        words = len(part.split())
        if words > LONGEST_CONCEPT:
            problem = f"a concept of {words} words, expected {LONGEST_CONCEPT} at most"
            raise Refused("form", problem)
        if re.fullmatch(r"<?concept ?\d?>?", part, re.I):
            raise Refused("form", f"{part!r} is the prompt's own word, no concept")
    folded = [part.casefold() for part in parts]
    if folded[0] == folded[1]:
        raise Refused("form", "the same concept twice")
    example, summary = prompts()["example_concepts"], known["summary"].casefold()
    if folded == list(example) and not any(concept in summary for concept in example):
        problem = f"{';'.join(parts)} is the prompt's example, and the summary speaks of neither"
        raise Refused("example copied", problem)
    return dict(zip(names, parts, strict=True))


def _sentence(field: str, text: str) -> str:
    """One sentence of a story. In an option [[X]]'s becomes [[X's]]."""
    text = _bare(text)
    if field != "context":
        text = re.sub(r"\[\[X\]\]['’]s\b", "[[X's]]", text)
    if not text:
        raise Refused("form", f"{field} is empty")
    if _sentences(text) > 1:
        raise Refused("form", f"{field} has {_sentences(text)} sentences, expected one")
    if any(example in text for example in prompts()["example_sentences"]):
        raise Refused("example copied", f"{field} is the prompt's example")
    return text


def _read_story(pattern: str, form: str, answer: str, known: Known) -> dict[str, str]:
    """A story's sentences, by field. pattern: a group each. form: named by a refusal. Refuses what
    `check` would refuse, or what breaks a rule of the prompts."""
    text = _plain(answer)
    match = re.search(pattern, text, re.IGNORECASE | re.DOTALL)
    if match is None:
        raise _misformed(text, form)
    _, *more = [line for line in match[match.re.groups].splitlines() if line.strip()] or [""]
    if more:
        raise Refused("form", f"goes on after its last sentence for {len(more)} lines")
    story = {field: _sentence(field, part) for field, part in match.groupdict().items()}
    known = {**known, **story}
    pronouns = [set(forms.values()) for forms in lexicon("hbb")["pronouns"].values()]
    forms = next(iter(lexicon("hbb")["pronouns"].values()))
    for field, check, cause in unfit(known, forms):
        raise Refused(check, f"{field}: {cause}")
    for concept in _CONCEPTS:
        if part := named(known["context"], known[concept]):
            problem = f"context: names {part!r}, which the options are to show"
            raise Refused("concept named", problem)
    for field in TEXTS:
        for word in re.findall(r"[^\W\d_]+", TOKEN.sub(" ", known.get(field, ""))):
            if word.casefold() in set.union(*pronouns) - set.intersection(*pronouns):
                problem = "fits only some of the descriptors; expected [[X]] or [[X's]]"
                raise Refused("pronoun", f"{field}: {word!r} {problem}")
    return story


_RAW = ("raw_concept_1", "raw_concept_2")
_SUMMARY = {"bias summary and explanation": "summary"}
PIPELINE = Pipeline(
    fields=("id", "theme", *_CONCEPTS, *TEXTS),
    rows=rows,
    steps=(
        Step(
            "bias summary",
            lambda known: f"{prompts()['before']} {known['stereotype']}",
            _read_summary,
            ["summary"],
        ),
        Step("raw concept pair", _asks("pair", _SUMMARY), partial(_read_concepts, _RAW), _RAW),
        Step(
            "post-hoc check",
            _asks("check", {**_SUMMARY, "concept1": _RAW[0], "concept2": _RAW[1]}),
            partial(_read_concepts, _CONCEPTS),
            _CONCEPTS,
        ),
        Step(
            "context and first option",
            _asks("story", {"concept1": "concept_1"}),
            partial(_read_story, _STORY, "Sentence 1: ... Sentence 2: ..."),
            ["context", "option_1"],
        ),
        Step(
            "second option",
            _asks("second", {"generated context": "context", "concept2": "concept_2"}),
            partial(_read_story, _SECOND, "Sentence: ..."),
            ["option_2"],
        ),
    ),
)
