"""StereoMap: how warm and how competent does a model say that society finds a social group?

data: items/stereomap_groups.tsv (appendix B, Table 2), stereomap.yaml (Tables 4, 6 and 7),
stereomap_paper_values.yaml (Tables 2, 5 and 8)
languages: en
paper: StereoMap: Quantifying the Awareness of Human-like Stereotypes in Large Language Models,
sections 3 to 5, appendices B, D, G, L
"""

from functools import cache, partial
from typing import Any

from lm_eval_bias.data.lexicons import lexicon, table
from lm_eval_bias.data.options import Option, TaskOptions
from lm_eval_bias.data.schema import Data, Fields, ItemFile, Problems, Row, Rows, Text, load
from lm_eval_bias.harness.dataset import CustomDataset, Document, checks
from lm_eval_bias.usage import Options, choice, number, path, whole_number, wrong

ROUNDS, TEMPERATURE = 10, 0.5
"""Section 4; appendix A, of text-davinci-003."""
ASKED = {
    "original": ("original",),
    "extended": ("extended",),
    "structure": ("structure",),
    "emotion": ("extended", "emotion"),
    "behavior": ("extended", "emotion", "behavior"),
}
"""What a task asks of a group: Figure 3 needs its cluster, Table 8 its warmth, its competence and
the emotions toward it."""
STYLES = {
    "paper": (),
    "no chain of thought": ("chain of thought",),
    "no instructions": ("instructions",),
    "neither": ("chain of thought", "instructions"),
}
"""The four styles of appendix L, and which sentences each leaves out."""
DIRECTIONS = ("rising", "falling")
KEYWORDS = 5
LISTS = {"all": "appendix B", "fiske": "Table 2"}
OWN = "groups file"


# ---- The groups


def _group_problems(rows: Any, others: Data) -> Problems:
    first: dict[tuple[str | None, str], int] = {}
    for i, row in enumerate(rows):
        if (before := first.setdefault((row.get("list"), row["name"]), i)) != i:
            yield (i, "name"), f"{row['name']} stands in row {before + 1} too"
        for field in ("competence", "warmth"):
            if field in row:
                try:
                    if 1 <= float(row[field]) <= 5:
                        continue
                except ValueError:
                    pass
                yield (i, field), f"{row[field]!r} is no number from 1 to 5"


GROUPS = ItemFile(
    "stereomap_groups.tsv",
    Rows(
        Fields(
            {
                name: Text()
                for name in ("text", "list", "table2", "key", "cluster", "competence", "warmth")
            },
            name=Text(),
        ),
        least=2,
    ),
    _group_problems,
    lambda rows: {"groups": len(rows)},
)
FILES = {"groups": GROUPS}


class LikelihoodOptions(TaskOptions):
    files = FILES
    groups = Option(
        None,
        path,
        "fiske for Table 2; without it appendix B; or a file with a column name, and perhaps text, "
        "cluster, competence and warmth",
    )

    @classmethod
    def read(cls, given: Options) -> dict[str, Any]:
        groups = given.get("groups")
        if isinstance(groups, str) and groups in LISTS:
            return {**cls.read({**given, "groups": None}), "groups": groups}
        return super().read(given)


class GeneratedOptions(LikelihoodOptions):
    rounds = Option(ROUNDS, whole_number(1, 100), "how often each prompt is asked")
    temperature = Option(TEMPERATURE, number(0, 2), "of sampling; 0 takes the likeliest token")
    # Appendix A has both, divided ones for a model that completes text.
    prompts = Option("whole", choice(("whole", "divided")), "divided asks each question by itself")


class ExtendedOptions(GeneratedOptions):
    style = Option(
        "paper", choice(("paper", "all")), "all asks the four prompt styles of appendix L"
    )

    @classmethod
    def read(cls, given: Options) -> dict[str, Any]:
        values = super().read(given)
        if values["style"] != "paper" and values["prompts"] != "whole":
            expected = "paper beside prompts=divided: the styles are of whole prompts"
            raise wrong("style", values["style"], expected)
        return values


def social_groups(part: str, groups: str | None = None) -> list[Document]:
    """Name, text and published: source -> the group's cluster there, with its mean competence and
    warmth."""
    wanted = LISTS.get(groups or "all")
    if wanted is None:
        return [
            {
                "name": row["name"],
                "text": row.get("text", row["name"]),
                "published": _own_reference(row),
            }
            for row in load(FILES, groups=groups)["groups"]
        ]
    known = _published(part)
    return [
        {"name": row["name"], "text": row["text"], "published": known.get(row["key"], {})}
        for row in table("stereomap_groups")
        if row["list"] == wanted
    ]


def _own_reference(row: Row) -> Document:
    scores = {c: float(row[c]) if c in row else None for c in ("competence", "warmth")}
    reference = {"cluster": row.get("cluster"), **scores}
    return {OWN: reference} if any(reference.values()) else {}


@cache
def _published(part: str) -> dict[str, dict[str, Document]]:
    """Key of a group -> source -> its cluster: of Table 2, or of Table 5 for models that are asked
    its prompts."""
    tables, rows = lexicon("stereomap_paper_values"), table("stereomap_groups")
    key_of = {row[name]: row["key"] for name in ("name", "table2") for row in rows}
    published: dict[str, dict[str, Document]] = {}
    printed = tables["table_2"] | tables["table_5" if part != "original" else "table_2"]
    for source, clusters in printed.items():
        for i, cluster in enumerate(clusters["clusters"]):
            means = {name: cluster[name] for name in ("competence", "warmth")}
            for name in cluster["groups"]:
                published.setdefault(key_of[name], {})[source] = {"cluster": str(i), **means}
    return published


# ---- What is asked


@cache
def scales(part: str) -> dict[str, tuple[str, str]]:
    """Item -> its dimension and its facet (Table 4)."""
    return {
        item: (dimension, facet)
        for dimension, facets in lexicon("stereomap")[part].items()
        for facet, items in facets.items()
        for item in items
    }


@cache
def expected(part: str) -> dict[str, dict[str, list[Any]]]:
    """Table 8, Cuddy et al. 2007: stereotype or emotion -> tendency -> [correlation, stars]."""
    cuddy = lexicon("stereomap_paper_values")["table_8"]["cuddy"] if part == "behavior" else {}
    return {
        factor: {tendency: list(cell) for tendency, cell in row.items()}
        for factor, row in cuddy.items()
    }


def documents(
    part: str,
    rounds: int = ROUNDS,
    groups: str | None = None,
    prompts: str = "whole",
    style: str = "paper",
) -> list[Document]:
    everybody = social_groups(part, groups)
    return [
        {
            **prompt,
            "group": group["name"],
            "text": group["text"],
            "published": group["published"],
            "round": round_ + 1,
            "style": style_,
            "without": list(STYLES[style_]),
            "keywords": 0 if "chain of thought" in STYLES[style_] else prompt["keywords"],
        }
        for round_ in range(rounds)
        for style_ in (STYLES if style == "all" else ["paper"])
        for group in everybody
        for prompt in _prompts(part, prompts)
    ]


@cache
def _prompts(task: str, prompts: str) -> tuple[Document, ...]:
    asked = []
    for part in ASKED[task]:
        items_of_part = scales(part)
        single = part in ("original", "structure")
        if single:
            questions = {item: [item] for item in items_of_part}
        elif prompts == "whole":
            questions = {"": list(items_of_part)}
        else:
            rated = [item for item in items_of_part if item != "Overall"]
            questions = {"keywords": [], "ratings": rated}
            if "Overall" in items_of_part:
                questions["Overall"] = ["Overall"]
        for name, items in questions.items():
            asked.append(
                {
                    "part": part,
                    "whole": True,
                    "direction": "rising",
                    "expected": expected(part),
                    "item": name if single else "",
                    "dimension": items_of_part[name][0] if single else "",
                    "items": items,
                    "scales": {item: list(items_of_part[item]) for item in items},
                    "keywords": KEYWORDS if not single and name in ("", "keywords") else 0,
                    **({} if prompts == "whole" else {"divided": name}),
                }
            )
    return tuple(asked)


def likelihood_documents(part: str, groups: str | None = None) -> list[Document]:
    """Every item for every group in both directions of the scale."""
    return [
        {
            **question,
            "group": group["name"],
            "text": group["text"],
            "direction": direction,
            "published": group["published"],
        }
        for group in social_groups(part, groups)
        for question in _questions(part)
        for direction in DIRECTIONS
    ]


@cache
def _questions(task: str) -> tuple[Document, ...]:
    """Of prompts for one table, the items of its dimensions alone."""
    return tuple(
        {
            "part": part,
            "whole": False,
            "without": [],
            "item": item,
            "dimension": dimension,
            "items": [item],
            "scales": {item: [dimension, facet]},
            "expected": expected(part),
        }
        for part in ASKED[task]
        for item, (dimension, facet) in scales(part).items()
        if part == task or dimension in ("Competence", "Warmth") or part != "extended"
    )


def attention(part: str, whole: bool = False) -> list[Document]:
    """whole: for answers in words, of the parts that ask each rating by itself."""
    asked = _prompts(part, "whole") if whole else _questions(part)
    questions = {question["item"]: {**question, "without": []} for question in asked}
    return [
        {**questions[check["item"]], **check}
        for check in checks("stereomap_checks", [[-1, -0.5, 0, 0.5, 1]], part)
        if check["item"] in questions and (not whole or check["direction"] == DIRECTIONS[0])
    ]


build = CustomDataset(documents, checks=partial(attention, whole=True))
build_likelihood = CustomDataset(likelihood_documents, checks=attention)
