"""BIStereo-Pairs: is a sentence with an attractive or ugly person likelier where the person is
fair-skinned, thin, tall?

data: items/bistereo_pairs_templates.tsv (ours), items/bistereo_pairs.yaml (Table 5, appendix F.1)
languages: en; others with a person's own `items` and `groups`
paper: BIStereo, sections 3.1 and 4.1, appendices C, F and G
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from lm_eval_bias.benchmarks.bistereo.blocks import alternatives, balanced, by_audience
from lm_eval_bias.data.options import TaskOptions
from lm_eval_bias.data.schema import (
    Data,
    Fields,
    ItemFile,
    Named,
    Problems,
    Row,
    Rows,
    Several,
    Text,
    load,
    not_the_whole,
    one_of_groups,
)
from lm_eval_bias.harness.dataset import CustomDataset, Document, checks, in_turns

GENDERS = ("women", "men")
_INFUSED = re.compile(r"<([^<>]*)>")
_GENDERED = re.compile(r"\[([^\[\]/]*)/([^\[\]/]*)\]")
_SLOT = re.compile(r"\[[^\[\]]*\]")
_BEFORE_MARK = re.compile(r" +(?=[.,;:!?])")
_FIRST = re.compile(r"\w")
_FIXED_ARTICLE = re.compile(r"\ban? \[[AB]\]", re.IGNORECASE)
_LOOSE_ARTICLE = re.compile(r"\[a\](?! \[[AB]\])")

# ---- The files


def _group_problems(data: Data, _: Data) -> Problems:
    for i, word in enumerate(data["attributes"]["negative"]):
        if word in data["attributes"]["positive"]:
            yield ("attributes", "negative", i), f"{word!r} stands among the positive ones too"
    for axis in data["axes"]:
        yield from not_the_whole(("axes", axis), axis)
    for axis, others in data.get("beside", {}).items():
        yield from one_of_groups(("beside", axis), axis, data["axes"], "axes")
        for i, other in enumerate(others):
            for j, text in enumerate(other.get("texts", ())):
                try:
                    variants(text)
                except ValueError as error:
                    yield ("beside", axis, i, "texts", j), str(error)


def _template_problems(rows: Any, others: Data) -> Problems:
    groups = others["groups"]
    articles = set(groups.get("an", ()))
    for i, row in enumerate(rows):
        yield from one_of_groups((i, "axis"), row["axis"], groups["axes"], "axes")
        try:
            texts = variants(row["text"])
        except ValueError as error:
            yield (i, "text"), str(error)
            continue
        for gender in GENDERS:
            count = row[gender]
            if not re.fullmatch("[0-9]+", count) or int(count) > len(texts):
                yield (
                    (i, gender),
                    f"expected how many of its {len(texts)} alternatives are asked, a number from "
                    f"0, found {count!r}",
                )
        open_texts = [skeleton(text, 0, infused) for text in texts for infused in (True, False)]
        if articles and (wrong := _FIXED_ARTICLE.search("\n".join(open_texts))):
            yield (i, "text"), f"{wrong.group()!r}: write [a], which is a or an as the word has it"
        if any("[a] [B]" in text for text in open_texts):
            for pair in groups["axes"].get(row["axis"], ()):
                if len(articles & set(pair.values())) == 1:
                    yield (
                        (i, "text"),
                        f"[a] before {' and '.join(pair.values())}: the sentences would differ in "
                        "the article too",
                    )


FILES = {
    "groups": ItemFile(
        "bistereo_pairs.yaml",
        Fields(
            {
                "an": Several(Text(), least=0),
                "beside": Named(
                    Rows(
                        Fields(
                            {"texts": Several(Text())},
                            pairs=Rows(Fields(of=Text(), desirable=Text(), undesirable=Text())),
                        )
                    )
                ),
            },
            attributes=Fields(positive=Several(Text()), negative=Several(Text())),
            axes=Named(
                Rows(
                    Fields(desirable=Text(), undesirable=Text()),
                    unique=["desirable", "undesirable"],
                )
            ),
        ),
        _group_problems,
        lambda data: {
            "axes": len(data["axes"]),
            "descriptor pairs": sum(map(len, data["axes"].values())),
            "attributes": sum(map(len, data["attributes"].values())),
        },
    ),
    "items": ItemFile(
        "bistereo_pairs_templates.tsv",
        Rows(
            Fields(wording=Text(), axis=Text(), women=Text(), men=Text(), text=Text()),
            unique=["wording"],
        ),
        _template_problems,
        lambda rows: {
            "wordings": len(rows),
            **{f"variants for {g}": sum(int(row[g]) for row in rows) for g in GENDERS},
        },
    ),
}


class PairsOptions(TaskOptions):
    files = FILES


# ---- The sentences


def variants(text: str) -> list[str]:
    """The variants of a template: its `alternatives`.

    A template has one [B], the descriptor; one <...[A]...>, the attribute in its phrase; [a], the
    article of either; [she/he], the form of each gender. ValueError for others.
    """
    texts = [variant for (variant,) in alternatives(text)]
    for variant in texts:
        _check(variant)
    return texts


def _check(text: str) -> None:
    parts = _INFUSED.findall(text)
    descriptors = text.count("[B]")
    if descriptors != 1:
        raise ValueError(f"expected one [B], where the descriptor stands, found {descriptors}")
    if len(parts) != 1 or parts[0].count("[A]") != 1 or text.count("[A]") != 1:
        raise ValueError(
            "expected one <...[A]...>, where the attribute stands with what binds it to the "
            "sentence"
        )
    if "[B]" in parts[0]:
        raise ValueError("[B] stands within <...>, which the neutral sentence leaves out")
    rest = _SLOT.sub("", _INFUSED.sub(r"\1", text))
    if mark := re.search(r"[][{}<>|]", rest):
        raise ValueError(f"{mark.group()!r} does not belong to a slot or a group")
    for slot in _SLOT.findall(text):
        if slot not in ("[A]", "[B]", "[a]") and not _GENDERED.fullmatch(slot):
            raise ValueError(
                f"{slot} is no slot; expected [A], [B], [a] or the forms of both genders, [she/he]"
            )
    if any(_LOOSE_ARTICLE.search(skeleton(text, 0, infused)) for infused in (True, False)):
        raise ValueError(
            "[a] stands before neither the attribute nor the descriptor; write that article out"
        )


def skeleton(text: str, gender: int, infused: bool) -> str:
    """A variant for one gender (index in `GENDERS`), with the attribute or neutral; [a], [A] and
    [B] are still open."""
    text = _INFUSED.sub(r"\1" if infused else "", text)
    text = _GENDERED.sub(lambda forms: forms.group(1 + gender), text)
    return _BEFORE_MARK.sub("", " ".join(text.split()))


def fill(open_text: str, descriptor: str, attribute: str | None, an: Collection[str]) -> str:
    """an: what takes "an" in place of "a"."""
    for slot, word in (("[A]", attribute), ("[B]", descriptor)):
        if word is not None:
            open_text = open_text.replace(
                f"[a] {slot}", f"{'an' if word in an else 'a'} {word}"
            ).replace(slot, word)
    return _FIRST.sub(lambda letter: letter.group().upper(), open_text, count=1)


def documents(
    axis: str | None = None,
    gender: str | None = None,
    items: str | None = None,
    groups: str | None = None,
) -> list[Document]:
    """All pairs of an axis ("skin", "shape", "height") and a gender ("women", "men"); None is all.

    Every variant of a template is crossed with its axis's descriptor pairs, genders and attributes,
    in the paper's design also with none (the neutral pair). `paper`: whether it is the paper's;
    `placebo`: whether it is about no body; `words`: which of its pairs' words it says. Any first
    part has as many places of placebos as of bodies, of each pair, while there are. Women and men
    stand in other wordings there, since they answer alike in the same.
    """
    data = load(FILES, items=items, groups=groups)
    axes = [axis] if axis else data["groups"]["axes"]
    streams = [s for a in axes for s in _streams(data["items"], data["groups"], a)]
    return balanced(streams, gender, "axis", "words", "placebo")


def _streams(templates: Sequence[Row], groups: Data, axis: str) -> Iterator[list[list[Document]]]:
    """The paper's blocks of an axis, then what stands `beside` them."""
    rows = {row["wording"]: row for row in templates if row["axis"] == axis}
    texts = {wording: variants(row["text"]) for wording, row in rows.items()}
    counts = {w: {gender: int(row[gender]) for gender in GENDERS} for w, row in rows.items()}
    paper = {"axis": axis, "paper": True, "placebo": False}
    for pair in groups["axes"][axis]:
        yield from _crossed(groups, paper, texts, counts, pair)
    few = {
        w: {gender: min(n, 1) for gender, n in by_gender.items()} for w, by_gender in counts.items()
    }
    for i, row in enumerate(groups.get("beside", {}).get(axis, ())):
        about = {"axis": axis, "paper": False, "placebo": "texts" in row}
        own = {f"{axis}-{i}-{j}": variants(x) for j, x in enumerate(row.get("texts", ()))}
        of_things = {w: {None: len(own[w])} for w in own}
        for pair in row["pairs"]:
            yield from _crossed(groups, about, own or texts, of_things or few, pair)


def _crossed(
    groups: Data,
    about: Document,
    texts: Mapping[str, Sequence[str]],
    counts: Mapping[str, Mapping[Any, int]],
    pair: Row,
) -> Iterator[list[list[Document]]]:
    """The blocks of each audience and gender. about: shared columns."""
    an, sides = groups.get("an", ()), ("desirable", "undesirable")
    for i_stream, (audience, chosen) in enumerate(by_audience(counts, (*GENDERS, None)).items()):
        for i_gender, gender in enumerate(audience):
            start = i_gender * len(chosen) // len(audience)
            columns = []
            for i, (wording, variants_here) in enumerate([*chosen[start:], *chosen[:start]]):
                blocks = [
                    [
                        {
                            "wording": wording,
                            "variant": variant,
                            **about,
                            "gender": gender,
                            "words": pair.get("of", pair["desirable"]),
                            **{side: pair[side] for side in sides},
                            "sentiment": sentiment,
                            "attribute": attribute,
                            **{
                                f"{side}_sentence": fill(text, pair[side], attribute, an)
                                for side in sides
                            },
                        }
                        for sentiment, attribute in contexts
                        for form in [GENDERS.index(gender) if gender else 0]
                        for text in [skeleton(texts[wording][variant], form, attribute is not None)]
                    ]
                    for u, variant in enumerate(variants_here)
                    for contexts in _contexts(
                        groups["attributes"], i + i_stream + u, about["paper"]
                    )
                ]
                columns.append(blocks)
            yield in_turns(columns)


def _contexts(
    words: Mapping[str, Sequence[str]], start: int, paper: bool
) -> Iterator[list[tuple[str, str | None]]]:
    """Sentiment and attribute of each block of a descriptor pair. start: where the attributes are
    entered. paper: whether a neutral pair comes first, for the paper's numbers."""
    for step in range(max(map(len, words.values()))):
        neutral = [("neutral", None)] if paper and not step else []
        yield neutral + [
            (sentiment, words[sentiment][(start + step) % len(words[sentiment])])
            for sentiment in ("positive", "negative")
            if step < len(words[sentiment])
        ]


attention = partial(checks, "bistereo_checks", [[1, -1]], "pairs")
build = CustomDataset(documents, checks=attention)
