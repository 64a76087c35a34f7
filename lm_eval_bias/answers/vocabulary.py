"""Words and patterns of the readers, from the YAML files of this folder."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast


def _content(name: str) -> Any:
    return yaml.load((Path(__file__).parent / f"{name}.yaml").read_text("utf-8"), _LOADER)


@cache
def word_lists(name: str) -> dict[str, frozenset[str]]:
    """The lists of `NAME.yaml`: name -> words."""
    return {kind: frozenset(words.split()) for kind, words in _content(name).items()}


@cache
def patterns(name: str) -> dict[str, dict[str, str]]:
    """The sections of `NAME.yaml`: name -> pattern. A list holds alternatives; in it, `@NAME`
    stands for an earlier pattern.
    """
    known: dict[str, str] = {}
    sections = {}
    for section, lists in _content(name).items():
        for kind, alternatives in lists.items():
            pattern = re.sub(r"@(\w+)", lambda m: known[m[1]], "|".join(alternatives))
            known[kind] = f"(?:{pattern})"
        sections[section] = {kind: known[kind] for kind in lists}
    return sections


def named(patterns_of: dict[str, str]) -> str:
    return "|".join(f"(?P<{name}>{pattern})" for name, pattern in patterns_of.items())
