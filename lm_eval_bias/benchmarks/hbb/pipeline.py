"""How the paper of HBB makes concept pairs, contexts and options out of stereotypes, with any model
as the writer.

data: a person's own file of stereotypes; prompts: pipeline.yaml beside this file abstract: bias
summary, raw concept pair, post-hoc check, context and first option, second option. languages: en
tags: hidden bias, generation of items paper: Beneath the Surface: How Large Language Models Reflect
Hidden Bias, section 3.1, appendices C.1 to C.3, Tables 12 to 15
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from lm_eval_bias.answers.reasoning import spoken
from lm_eval_bias.answers.refusal import is_refusal
from lm_eval_bias.authoring.pipeline import Known, Pipeline, Refused, Step
from lm_eval_bias.benchmarks.hbb import documents
from lm_eval_bias.benchmarks.hbb.concepts_documents import TEXTS, TOKEN, named, unfit
from lm_eval_bias.data.content import frozen, read
from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.data.schema import SHOWN, load
from lm_eval_bias.usage import UsageError

LONGEST_SUMMARY, LONGEST_CONCEPT = 80, 10
"""In words. The prompts ask for one sentence and for concepts of a few words, and say no number."""
_CONCEPTS = ("concept_1", "concept_2")
_BESIDE = ("id", "theme")
_FILLED = re.compile(r"\{([^{}]+)\}")
_SENTENCE_END = re.compile(
    r"(?<!\bMr)(?<!\bMs)(?<!\bDr)(?<!\bMrs)(?<!\bSt)(?<!\be\.g)(?<!\bi\.e)[.!?][\"”’')]*\s+(?=[\"“‘'(]*(?:[A-Z]|\[\[))"
)
_STORY = re.compile(
    r"sentence\s*1\s*:(?P<context>.*?)\bsentence\s*2\s*:(?P<option>.*)", re.I | re.S
)
_SECOND = re.compile(r"(?:sentence\s*(?:2\s*)?:)(?P<option>.*)", re.I | re.S)
_WRAPPED = ('""', "''", "“”", "<>", "**", "``")
_LEAD = re.compile(
    r"^(?:(?:final )?answer|(?:the )?(?:two |raw )?concepts?(?: pair)?(?: are)?)\s*:\s*", re.I
)


@cache
def prompts() -> Mapping[str, Any]:
    """What pipeline.yaml holds."""
    content = read(files(__package__) / "pipeline.yaml", "pipeline.yaml")
    for problem in content.problems:
        raise ValueError(content.message(*problem))
    return content.data


# ---- What the items are made from


def _fields(prompt: str) -> tuple[str, ...]:
    return tuple(_FILLED.findall(prompt))


def rows(path: str) -> list[dict[str, str]]:
    """The rows of a file, each with an id, its own or its number.

    A row is a stereotype, given as the prompt of Table 12 whose columns it has (s1 and s2, or
    context and question, or category, target and stereotype), or a concept pair (concept_1 and
    concept_2), for which the first three steps are done. Raises UsageError that lists what is
    wrong.
    """
    content = read(Path(path))
    kinds = {_fields(prompt): prompt for prompt in prompts()["summary"]} | {_CONCEPTS: None}
    told = [content.message(*problem) for problem in content.problems]
    if not told and (not isinstance(content.data, tuple) or not content.data):
        raise UsageError(f"{path}: expected rows, with the columns {_or(kinds)}")
    found: list[dict[str, str]] = []
    seen: dict[str, int] = {}
    for i, row in enumerate(() if told else content.data):
        filled = (
            {k: str(v).strip() for k, v in row.items() if v is not None and str(v).strip()}
            if isinstance(row, Mapping)
            else {}
        )
        kind = [fields for fields in kinds if set(fields) <= filled.keys()]
        if len(kind) != 1 or filled.keys() - {*_BESIDE, *kind[0]}:
            told.append(
                content.message(
                    (i,),
                    f"expected {_or(kinds)} (and id, theme), found {', '.join(filled) or 'nothing'}",
                )
            )
            continue
        beside = {"id": f"row{i + 1}", **{k: v for k, v in filled.items() if k in _BESIDE}}
        if seen.setdefault(beside["id"], i) != i:
            told.append(
                content.message(
                    (i, "id"), f"{beside['id']} stands in row {seen[beside['id']] + 1} too"
                )
            )
        prompt = kinds[kind[0]]
        found.append(
            {
                **beside,
                **(
                    {"stereotype": _filled(prompt, **filled)}
                    if prompt
                    else {k: filled[k] for k in _CONCEPTS}
                ),
            }
        )
    if told:
        raise UsageError(
            told[0]
            if len(told) == 1
            else "\n".join([f"{len(told)} problems:", *(f"  {each}" for each in told[:SHOWN])])
        )
    return found


def _or(kinds: Iterable[Sequence[str]]) -> str:
    return "; or ".join(", ".join(fields) for fields in kinds)


# ---- What is asked


def _filled(prompt: str, **given: str) -> str:
    """A prompt with its gaps filled, all at once: what is filled in is not looked into."""
    return _FILLED.sub(lambda gap: given[gap[1]], prompt)


def _ask_summary(known: Known) -> str:
    return f"{prompts()['before']} {known['stereotype']}"


def _ask_pair(known: Known) -> str:
    return _filled(prompts()["pair"], **{"bias summary and explanation": known["summary"]})


def _ask_check(known: Known) -> str:
    raw = {"concept1": known["raw_concept_1"], "concept2": known["raw_concept_2"]}
    return _filled(prompts()["check"], **{"bias summary and explanation": known["summary"], **raw})


def _ask_story(known: Known) -> str:
    return _filled(prompts()["story"], concept1=known["concept_1"])


def _ask_second(known: Known) -> str:
    return _filled(
        prompts()["second"],
        **{"generated context": known["context"], "concept2": known["concept_2"]},
    )


# ---- What is answered


def _said(answer: str) -> str:
    """An answer without its reasoning and its decoration. The prompts print line breaks as "\\n",
    and some models repeat that."""
    said = spoken(answer)
    if said is None:
        raise Refused("form", "cut off within its reasoning")
    said = said.replace("\\n", "\n").replace("\\[", "[").replace("\\]", "]").replace("**", "")
    if not said.strip():
        raise Refused("form", "empty")
    return said.strip()


def _bare(text: str) -> str:
    """One line without the quotes or brackets around it."""
    text = " ".join(text.split())
    while (
        len(text) > 1
        and text[0] + text[-1] in _WRAPPED
        and not set(text[0] + text[-1]) & set(text[1:-1])
    ):
        text = text[1:-1].strip()
    return text


def _beginning(text: str) -> str:
    """For a message: the first words, in one line."""
    return repr(textwrap.shorten(text, 70, placeholder=" ..."))


def _sentences(text: str) -> int:
    return 1 + len(_SENTENCE_END.findall(text))


def _read_summary(answer: str, known: Known) -> dict[str, str]:
    said = _said(answer)
    if is_refusal(said):
        raise Refused("declined", "declines to answer")
    said = _bare(said)
    if _sentences(said) > 1 or len(said.split()) > LONGEST_SUMMARY:
        raise Refused(
            "form", f"expected one sentence, found {len(said.split())} words: {_beginning(said)}"
        )
    return {"summary": said}


def _concepts(answer: str, known: Known) -> tuple[str, str]:
    said = _said(answer)
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    line = _bare(_LEAD.sub("", _bare(lines[0])))
    parts = [_bare(part).rstrip(".") for part in line.split(";" if ";" in line else ":")]
    parts = [re.sub(r"^concept ?[12]\s*[:=]\s*", "", part, flags=re.I).strip() for part in parts]
    if len(lines) > 1 or len(parts) != 2 or not all(parts):
        if is_refusal(said):
            raise Refused("declined", "declines to answer")
        raise Refused("form", f"expected concept1;concept2 in one line, found {_beginning(said)}")
    one, two = parts
    for part in parts:
        if len(part.split()) > LONGEST_CONCEPT:
            raise Refused(
                "form",
                f"a concept of {len(part.split())} words, expected {LONGEST_CONCEPT} at most",
            )
        if re.fullmatch(r"<?concept ?\d?>?", part, re.I):
            raise Refused("form", f"{part!r} is the prompt's own word, no concept")
    if one.casefold() == two.casefold():
        raise Refused("form", "the same concept twice")
    example = [each.casefold() for each in prompts()["example_concepts"]]
    if [one.casefold(), two.casefold()] == example and not any(
        word in known["summary"].casefold() for word in example
    ):
        raise Refused(
            "example copied",
            f"{one};{two} is the prompt's example, and the summary speaks of neither",
        )
    return one, two


def _read_pair(answer: str, known: Known) -> dict[str, str]:
    one, two = _concepts(answer, known)
    return {"raw_concept_1": one, "raw_concept_2": two}


def _read_check(answer: str, known: Known) -> dict[str, str]:
    one, two = _concepts(answer, known)
    return {"concept_1": one, "concept_2": two}


def _sentence(text: str, what: str) -> str:
    """One sentence of a story, with [[X's]] where the model put [[X]]'s in an option."""
    text = _bare(text)
    if what != "context":
        text = re.sub(r"\[\[X\]\]['’]s\b", "[[X's]]", text)
    if not text:
        raise Refused("form", f"the {what} is empty")
    if _sentences(text) > 1:
        raise Refused("form", f"the {what} has {_sentences(text)} sentences, expected one")
    for example in prompts()["example_sentences"]:
        if example in text:
            raise Refused("example copied", f"the {what} is the prompt's example")
    return text


def _fit(known: Known) -> None:
    """Refuse what is wrong with the story so far: in what `check` refuses, and in what the prompts
    ask beyond that."""
    for field, check, cause in unfit(known, _forms()):
        raise Refused(check, f"{field}: {cause}")
    for n in "12":
        if said := named(known["context"], known[f"concept_{n}"]):
            raise Refused(
                "concept named", f"context: names {said!r}, which the options are to show"
            )
    unfillable = _written_pronouns()
    for field in TEXTS:
        for word in re.findall(r"[^\W\d_]+", TOKEN.sub(" ", known.get(field, ""))):
            if word.casefold() in unfillable:
                raise Refused(
                    "pronoun",
                    f"{field}: {word!r} fits some of the descriptors alone; expected [[X]] or [[X's]]",
                )


def _forms() -> Mapping[str, str]:
    return next(iter(lexicon("hbb")["pronouns"].values()))


def _written_pronouns() -> set[str]:
    """Forms of a pronoun that not all pronouns have."""
    words = [set(forms.values()) for forms in lexicon("hbb")["pronouns"].values()]
    return set.union(*words) - set.intersection(*words)


def _written(answer: str, form: re.Pattern[str], told: str, last: str) -> re.Match[str]:
    """What an answer wrote in a form whose last part is `option`, one line. told, last: the form
    and that part, as a refusal names them."""
    said = _said(answer)
    found = form.search(said)
    if found is None:
        if is_refusal(said):
            raise Refused("declined", "declines to answer")
        raise Refused("form", f"expected {told}, found {_beginning(said)}")
    lines = [line for line in found["option"].splitlines() if line.strip()]
    if len(lines) > 1:
        raise Refused("form", f"goes on behind {last} for {len(lines) - 1} lines")
    return found


def _read_story(answer: str, known: Known) -> dict[str, str]:
    found = _written(answer, _STORY, "Sentence 1: ... Sentence 2: ...", "sentence 2")
    story = {
        "context": _sentence(found["context"], "context"),
        "option_1": _sentence(found["option"], "first option"),
    }
    _fit({**known, **story})
    return story


def _read_second(answer: str, known: Known) -> dict[str, str]:
    found = _written(answer, _SECOND, "Sentence: ...", "the sentence")
    second = {"option_2": _sentence(found["option"], "second option")}
    _fit({**known, **second})
    return second


# ---- For the review


def problems(items: Sequence[Known], groups: str | None = None) -> list[list[str]]:
    """What `lm-eval-bias check` would refuse, for each item."""
    file = documents.FILES["items"]
    data = frozen(list(items))
    found: list[list[str]] = [[] for _ in items]
    unread = set()
    for (i, *field), cause in file.shape.problems(data) if items else ():
        found[i].append(": ".join([*map(str, field), cause]))
        unread.add(i)
    given = load({"groups": documents.FILES["groups"]}, groups=groups)
    readable = [i for i in range(len(items)) if i not in unread]
    for (i, field), cause in (file.more or (lambda *_: ()))([data[i] for i in readable], given):
        found[readable[i]].append(f"{field}: {cause}")
    return found


def notes(item: Known) -> list[str]:
    """What a checker cannot decide."""
    words = {*prompts()["plural"], *_written_pronouns()}
    said = [
        f"{field}: {word!r} may stand for the person; write [[X]], [[X's]], [[X:obj]] or [[X:self]] there"
        for field in TEXTS
        for word in dict.fromkeys(re.findall(r"[^\W\d_]+", TOKEN.sub(" ", item.get(field, ""))))
        if word.casefold() in words
    ]
    for n, other in ("12", "21"):
        if part := named(item.get(f"option_{n}", ""), item.get(f"concept_{other}", "")):
            said.append(f"option_{n}: names {part!r}, the other option's concept")
    return said


def shown(item: Known, groups: str | None = None) -> list[tuple[str, str]]:
    """The first question of each pronoun that the descriptors have, as a model would read it."""
    given = load({"groups": documents.FILES["groups"]}, groups=groups)["groups"]
    asked: dict[str, tuple[str, str]] = {}
    for question in documents.questions(item, given):
        text = f"{question['context']}\na) {question['option_1']}\nb) {question['option_2']}"
        asked.setdefault(
            question["option_1"] + question["option_2"],
            (f"{question['type']}, {question['identity']}", text),
        )
    return list(asked.values())[:3]


PIPELINE = Pipeline(
    fields=("id", "concept_1", "concept_2", "context", "option_1", "option_2"),
    optional=("theme",),
    task="hbb",
    rows=rows,
    steps=(
        Step("bias summary", _ask_summary, _read_summary, ["summary"]),
        Step("raw concept pair", _ask_pair, _read_pair, ["raw_concept_1", "raw_concept_2"]),
        Step("post-hoc check", _ask_check, _read_check, ["concept_1", "concept_2"]),
        Step("context and first option", _ask_story, _read_story, ["context", "option_1"]),
        Step("second option", _ask_second, _read_second, ["option_2"]),
    ),
    problems=problems,
    notes=notes,
    shown=shown,
)
