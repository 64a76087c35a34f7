"""What is installed with which extra, and what is said where a package is missing. `make test-slim`
runs commands and `chat-logprobs` where torch, transformers, accelerate and peft are missing."""

import sys
from importlib.metadata import PackageNotFoundError, requires

import pytest
from packaging.requirements import Requirement

import lm_eval_bias.models as model_types
from lm_eval_bias.usage import UsageError

LOCAL = {"accelerate", "peft", "torch", "transformers"}


def brought(name, extra="", seen=None):
    """The names of all that pip installs with a package, as what is installed here declares it."""
    seen = set() if seen is None else seen
    try:
        lines = requires(name) or []
    except PackageNotFoundError:
        lines = []
    for requirement in map(Requirement, lines):
        for wanted in requirement.extras or {""}:
            key = requirement.name.lower().replace("_", "-"), wanted
            marker = requirement.marker
            if (marker is None or marker.evaluate({"extra": extra})) and key not in seen:
                seen.add(key)
                brought(*key, seen)
    return seen


@pytest.mark.parametrize("extra", ["", "api", "report"])
def test_only_local_models_bring_torch(extra):
    names = {name for name, _ in brought("lm-eval-bias", extra)}
    assert {"lm-eval", "datasets", "numpy", "pandas", "scipy"} <= names and not LOCAL & names
    assert {"tenacity", "aiohttp"} <= names or extra != "api"
    assert {name for name, _ in brought("lm-eval-bias", "hf")} >= LOCAL


@pytest.mark.parametrize("extra", ["hf", "model"])
def test_another_torch_or_transformers_is_left_as_it_is(extra):
    """Those of vLLM 0.32 (torch 2.14.0, transformers below 5.21) and of SGLang (5.19.0)."""
    bounds = [Requirement(line) for line in requires("lm-eval-bias") if f'"{extra}"' in line]
    for name, version in (
        ("torch", "2.14.0"),
        ("transformers", "5.20.0"),
        ("transformers", "5.19.0"),
    ):
        assert all(r.specifier.contains(version) for r in bounds if r.name == name)
        assert extra == "model" or any(r.name == name for r in bounds)


@pytest.mark.parametrize("name", model_types.TYPES)
def test_a_model_type_without_its_packages_names_the_extra(name, monkeypatch):
    module, extra = model_types.TYPES[name]
    missing = {"hf": "torch", "api": "tenacity"}[extra]
    for loaded in module, "chat_calls":
        monkeypatch.delitem(sys.modules, f"lm_eval_bias.models.{loaded}", raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(UsageError) as error:
        getattr(model_types, name)
    command = f"pip install 'lm-eval-bias[{extra}]'"
    assert str(error.value) == f"the package {missing} is missing; run: {command}"
