"""The walls between the parts: who may import whom."""

import ast
import re
import sys
from functools import cache

import pytest

AFTER_THE_MODEL = ("results", "figures", "show", "gate", "export")


@cache
def nodes(path):
    """Of a module's syntax tree."""
    return [*ast.walk(ast.parse(path.read_text()))]


def imported(path):
    """All that a module imports, as dotted names; a relative import begins with its dots."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (
                f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names
            )


def test_metrics_need_numpy_scipy_and_pandas_only(root):
    for path in (root / "metrics").glob("*.py"):
        absolute = {name.split(".")[0] for name in imported(path) if not name.startswith(".")}
        foreign = absolute - set(sys.stdlib_module_names) - {"numpy", "scipy", "pandas"}
        assert not foreign, (path, foreign)


def test_yaml_files_hold_no_items_and_items_no_prompts(root):
    """No template, concept or attribute list in a task's YAML; no prompt in an items file."""
    for path in (root / "tasks").rglob("*.yaml"):
        text = path.read_text()
        assert "[[X]]" not in text and "fair-skinned" not in text, path
    for path in (root / "lm_eval_bias").rglob("items/*.*sv"):
        assert "Premise:" not in path.read_text() and "Final Answer" not in path.read_text(), path


AFTER = [f"{folder}/*" for folder in AFTER_THE_MODEL]
AFTER += ["benchmarks/*/*measure", "benchmarks/*/exhibits", "measure", "exhibit", "likelihoods"]
BEFORE = ["benchmarks/*/*", "answers/*", "models/*", "harness/*", "data/*"]
WALLS = [
    (AFTER, r"items|lexicons|datasets|lm_eval|\w*documents"),
    (BEFORE, "show|gate|export"),
    (["answers/[!f]*"], "lm_eval"),  # all but filters.py
]


@pytest.mark.parametrize("modules, parts", WALLS)
def test_a_part_of_the_package_imports_nothing_of_another(root, modules, parts):
    for pattern in modules:
        paths = list((root / "lm_eval_bias").glob(f"{pattern}.py"))
        assert paths, pattern
        for path in paths:
            names = {part for name in imported(path) for part in name.split(".")}
            assert not [name for name in names if re.fullmatch(parts, name)], path


BENCHMARKS = re.compile(r"hbb|bistereo|mist(?!ak)|empathy|stereomap|stereoset", re.I)


def test_no_shared_file_names_a_benchmark(root):
    """Its own files do, and data; a benchmark is added without touching any other. Docstrings and
    comments may give examples."""
    package = root / "lm_eval_bias"
    folders = (*AFTER_THE_MODEL, "commands", "models", "harness", "data", "authoring")
    shared = [*package.glob("*.py"), *(root / "metrics").glob("re*.py")]
    shared += [path for folder in folders for path in (package / folder).glob("*.*")]
    for path in shared:
        if path.suffix == ".py":
            helps = examples(path)
            words = [text for node, text in texts(path) if id(node) not in helps]
            keys = ("id", "attr", "name", "module")
            words += [str(getattr(node, key, "")) for node in nodes(path) for key in keys]
        else:
            words = [path.read_text()]
        assert not [word for word in words if BENCHMARKS.search(word)], path


def texts(path):
    """(node, text) of every text in a module that is no docstring."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in nodes(path)
        if isinstance(node, documented) and ast.get_docstring(node)
    }
    for node in nodes(path):
        text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if text and id(node) not in docstrings:
            yield node, node.value


def examples(path):
    """The nodes of help texts, which may give examples: arguments named `help` or `epilog`, and
    `COMMANDS`, the table of commands."""
    helps = [n for n in nodes(path) if getattr(n, "arg", "") in ("help", "epilog")]
    assigned = [n for n in nodes(path) if isinstance(n, ast.Assign)]
    helps += [n for n in assigned if getattr(n.targets[0], "id", "") == "COMMANDS"]
    return {id(part) for n in helps for part in ast.walk(n)}


PRIVATE = re.compile(
    r"lm_eval(\.\w+)*\._\w+|lm_eval\.utils|lm_eval\.tasks|lm_eval\.evaluator|lm_eval\.api\.(instance|model|registry)"
)


def test_the_harness_is_reached_into_in_one_place(root):
    """Elsewhere only its public classes to derive from: a task, a filter."""
    package = root / "lm_eval_bias"
    for path in package.rglob("*.py"):
        if path.parent.name in ("harness", "models"):
            continue
        for name in imported(path):
            assert not PRIVATE.match(name), f"{path}: {name}"
        if path.name != "__init__.py":  # which says when to act, by the name of a module
            for node, text in texts(path):
                assert not re.fullmatch(PRIVATE, text), f"{path}:{node.lineno}: {text}"


def test_metrics_know_no_group_by_name(root):
    """Genders, skin tones, religions and categories are arguments."""
    known = re.compile(
        r"\b(women|men|fair|dark|muslim|christian|asian|black|white|attractiveness|good_behaviour|asian|latinx)\b",
        re.I,
    )
    for path in (root / "metrics").glob("*.py"):
        for node, text in texts(path):
            assert not known.search(text), f"{path}:{node.lineno}: {text}"


WRITES = re.compile(
    r"""\.write_(text|bytes)\(|\btouch\(|fdopen\(|open\([^"\n]*"r?b?[wax+][bt+]*\""""
)


def test_files_are_written_in_one_place(root):
    """Beside it a journal and a summary of GitHub's that grow."""
    package = root / "lm_eval_bias"
    writers = {path for path in package.rglob("*.py") if WRITES.search(path.read_text())}
    others = ("authoring/drafts", "commands/gate")
    assert writers == {package / f"{name}.py" for name in ("writing", *others)}


END = re.compile(r"(.*_)?(low|high|lower|upper|ends?)")
NULL = re.compile(r".*(null_value|null|reference|unbiased)")


def test_one_place_judges_and_one_makes_intervals(root):
    """No other module compares an end of an interval with a null value. The rules of a gate do,
    which have levels of their own. Quantiles are taken in metrics/ alone."""
    package, judges = root / "lm_eval_bias", set()
    for path in package.rglob("*.py"):
        assert ".ppf(" not in path.read_text()
        for node in nodes(path):
            if isinstance(node, ast.Compare):
                sides = [names_in(side) for side in (node.left, *node.comparators)]
                ends, nulls = ([any(map(of.fullmatch, s)) for s in sides] for of in (END, NULL))
                if any(e and n for i, e in enumerate(ends) for j, n in enumerate(nulls) if i != j):
                    judges.add(path)
    judges = {path for path in judges if path.parent.name != "gate"}
    assert judges == {package / "results" / "verdict.py"}


def names_in(tree):
    parts = list(ast.walk(tree))
    return {n.id for n in parts if isinstance(n, ast.Name)} | {
        n.attr for n in parts if isinstance(n, ast.Attribute)
    }
