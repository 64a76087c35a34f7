"""BIStereo-NLI: does a model infer skin tone from looks or behaviour, or the reverse?

data: items/bistereo_nli_templates.tsv (ours), items/bistereo_nli.yaml (Table 5)
languages: en; others with a person's own `items` and `groups`
paper: BIStereo, sections 3.2 and 4.2, appendices I and K.1
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

from lm_eval_bias.benchmarks.bistereo.blocks import alternatives, balanced, by_audience
from lm_eval_bias.data.options import TaskOptions
from lm_eval_bias.data.schema import (
    Data,
    Fields,
    Flag,
    ItemFile,
    Named,
    Problems,
    Row,
    Rows,
    Several,
    Text,
    TextOr,
    load,
    not_the_whole,
    one_of_groups,
)
from lm_eval_bias.harness.dataset import CustomDataset, Document, checks, in_turns
from lm_eval_bias.measure import first_seen

DIRECTIONS = ("attribute in premise", "skin tone in premise")
SIDES = ("favoured", "other")
SUBJECTS = ("person", "placebo")
"""What a template describes. The second takes none of the skin terms."""
FEW = 3
"""Attributes of a wording and category that pairs of `beside` are asked, in one direction."""
_SLOT = re.compile(r"\[(?P<article>a )?[XY](?::(?P<form>[^\[\]]+))?\]")
# An adjective: a text, or its forms where a language inflects it, "base" among them.
Word = str | Mapping[str, str]

# ---- The files


def _words(groups: Data) -> Iterator[tuple[tuple[Any, ...], Word]]:
    for domain, categories in groups["attributes"].items():
        for category, entry in categories.items():
            for i, word in enumerate(entry["words"]):
                yield ("attributes", domain, category, "words", i), word
    for name, word in groups["descriptors"].items():
        yield ("descriptors", name), word
    for i, row in enumerate(groups.get("beside", ())):
        for side in SIDES:
            yield ("beside", i, side), row[side]


def _forms(groups: Data) -> list[tuple[tuple[Any, ...], set[str]]]:
    return [(place, set(word)) for place, word in _words(groups) if isinstance(word, Mapping)]


def _group_problems(data: Data, others: Data) -> Problems:
    domains: dict[str, str] = {}
    for domain, categories in data["attributes"].items():
        for category in categories:
            place = ("attributes", domain, category)
            yield from not_the_whole(place, category)
            first = domains.setdefault(category, domain)
            if first != domain:
                yield place, f"stands in {first} too; each domain has categories of its own"
    inflected = _forms(data)
    for place, forms in inflected:
        if "base" not in forms:
            yield place, "base is missing, the form of [X]"
        elif forms != inflected[0][1]:
            expected, given = (", ".join(sorted(names)) for names in (inflected[0][1], forms))
            yield place, f"expected the forms {expected}, found {given}"


def _template_problems(rows: Any, others: Data) -> Problems:
    groups = others["groups"]
    inflected = _forms(groups)
    all_inflected = len(inflected) == len(list(_words(groups)))
    forms = inflected[0][1] if all_inflected else {"base"}
    for i, row in enumerate(rows):
        yield from not_the_whole((i, "gender"), row["gender"])
        yield from one_of_groups((i, "domain"), row["domain"], groups["attributes"], "domains")
        for field in ("premise", "hypothesis"):
            slots = list(_SLOT.finditer(row[field]))
            if len(slots) != 1:
                problem = f"expected one slot, [X] or [Y] or one with a form, found {len(slots)}"
                yield (i, field), problem
            for slot in slots:
                if slot["form"] and slot["form"] not in forms:
                    known = ", ".join(sorted(forms))
                    yield (i, field), f"{slot.group()} is no form of the words ({known})"
        try:
            alternatives(row["premise"], row["hypothesis"])
        except ValueError as error:
            yield (i, "premise"), str(error)


_WORD = TextOr(Named(Text()))
FILES = {
    "groups": ItemFile(
        "bistereo_nli.yaml",
        Fields(
            {
                "an": Several(Text(), least=0),
                "beside": Rows(Fields(of=Text(), placebo=Flag(), **dict.fromkeys(SIDES, _WORD))),
            },
            attributes=Named(Named(Fields(effect=Text(["halo", "horn"]), words=Several(_WORD)))),
            descriptors=Named(_WORD, least=2, most=2),
        ),
        _group_problems,
        lambda data: {
            "attribute categories": sum(map(len, data["attributes"].values())),
            "attributes": sum(place[0] == "attributes" for place, _ in _words(data)),
            "descriptors": len(data["descriptors"]),
        },
    ),
    "items": ItemFile(
        "bistereo_nli_templates.tsv",
        Rows(
            Fields(
                {"subject": Text(SUBJECTS)},
                **dict.fromkeys(("wording", "gender", "domain", "premise", "hypothesis"), Text()),
            ),
            unique=["wording", "gender", "domain"],
        ),
        _template_problems,
        lambda rows: {"templates": len(rows), "genders": len(first_seen(rows, "gender"))},
    ),
}


class NLIOptions(TaskOptions):
    files = FILES


# ---- The pairs


def fill(text: str, word: Word, an: Collection[str]) -> str:
    """A text with an adjective in its slot: "[X]"; "[a X]" with "an" before the words in `an`;
    "[X:NAME]" for the form of that name."""

    def phrase(slot: re.Match[str]) -> str:
        form = word if isinstance(word, str) else word[slot["form"] or "base"]
        article = ("an " if form in an else "a ") if slot["article"] else ""
        filled = article + form
        return filled[0].upper() + filled[1:] if slot.start() == 0 else filled

    return _SLOT.sub(phrase, text)


def base(word: Word) -> str:
    return word if isinstance(word, str) else word["base"]


def documents(
    gender: str | None = None,
    domain: str | None = None,
    items: str | None = None,
    groups: str | None = None,
) -> list[Document]:
    """All pairs of a gender ("women", "men") and a domain ("looks", "behaviour"); None is both.

    Every template is crossed with its domain's attributes, both skin tones and both directions, and
    with a few attributes for what stands `beside` skin. Templates about no person take placebos
    alone. Any first part has as many placebos as others, while there are.
    """
    data = load(FILES, items=items, groups=groups)
    domains = [domain] if domain else data["groups"]["attributes"]
    streams = [
        stream
        for place in product(domains, SUBJECTS)
        for stream in _streams(data["items"], data["groups"], *place)
    ]
    return balanced(streams, gender, "domain", "words", "placebo", "category")


def _streams(
    templates: Sequence[Row], groups: Data, domain: str, subject: str
) -> Iterator[list[list[Document]]]:
    """A block: one wording, variant, attribute and direction."""
    genders = first_seen(templates, "gender")
    texts: dict[str, dict[str, list[tuple[str, ...]]]] = {}
    for row in templates:
        if (row["domain"], row.get("subject", SUBJECTS[0])) == (domain, subject):
            variants = alternatives(row["premise"], row["hypothesis"])
            texts.setdefault(row["wording"], {})[row["gender"]] = variants
    counts = {w: {gender: len(variants) for gender, variants in texts[w].items()} for w in texts}
    an, named = groups.get("an", ()), groups["descriptors"]
    comparisons = [({"paper": True, "placebo": False, "words": next(iter(named))}, named)]
    for row in groups.get("beside", ()):
        about = {"paper": False, "placebo": row["placebo"], "words": row["of"]}
        comparisons.append((about, {base(row[side]): row[side] for side in SIDES}))
    asked = product(
        [c for c in comparisons if subject in (SUBJECTS[c[0]["placebo"]], SUBJECTS[0])],
        by_audience(counts, genders).items(),
        groups["attributes"][domain].items(),
    )
    for (about, terms), (audience, chosen), (category, entry) in asked:
        words, columns = entry["words"], []
        for i, (wording, variants) in enumerate(chosen):
            # words and directions rotate, so that each round over the wordings has all
            questions = list(product(variants, (0, 1)))
            size = (len(questions), len(words)) if about["paper"] else (1, FEW)
            blocks = [
                [
                    {
                        "wording": wording,
                        "variant": variant,
                        "shared": len(audience) == len(genders),
                        **about,
                        "gender": gender,
                        "domain": domain,
                        "descriptor": descriptor,
                        "favoured": descriptor == next(iter(terms)),
                        "category": category,
                        "effect": entry["effect"],
                        "attribute": base(word),
                        "direction": DIRECTIONS[side],
                        "premise": fill(premise, (word, term)[side], an),
                        "hypothesis": fill(hypothesis, (term, word)[side], an),
                    }
                    for gender in audience
                    for premise, hypothesis in [texts[wording][gender][variant]]
                    for descriptor, term in terms.items()
                ]
                for v, w in product(*map(range, size))
                for variant, side in [questions[(i + w + v) % len(questions)]]
                for word in [words[(i + w) % len(words)]]
            ]
            columns.append(blocks)
        yield in_turns(columns)


attention = partial(checks, "bistereo_checks", [[1, -1, 0]], "nli")
build = CustomDataset(documents, checks=attention)
