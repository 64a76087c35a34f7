"""Build backend: setuptools', plus one file that setuptools cannot place.

`lm_eval_bias_autoload.pth` must lie at the top of site-packages (see lm_eval_bias/__init__.py), and
has to be listed in the distribution's RECORD, so that uninstalling removes it. A wheel is a zip
archive: the file is added to what setuptools built. An editable install is two .pth files and the
metadata; it needs no import hook, since lm_eval_bias/__init__.py finds tasks/ and metrics/ beside
itself, and so costs Python's start nothing more than an installed wheel.
"""

from __future__ import annotations

import base64
import hashlib
import os
import tempfile
import zipfile
from pathlib import Path

from setuptools import build_meta
from setuptools.build_meta import (  # noqa: F401  hooks that need no change
    build_sdist,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_wheel,
)

AUTOLOAD = {"lm_eval_bias_autoload.pth": b"import lm_eval_bias\n"}


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)
    path = os.path.join(wheel_directory, name)
    with zipfile.ZipFile(path) as built:
        files = {i.filename: built.read(i) for i in built.infolist() if not i.is_dir()}
    _write(path, {**files, **AUTOLOAD})
    return name


def get_requires_for_build_editable(config_settings=None):
    return build_meta.get_requires_for_build_wheel(config_settings)


def prepare_metadata_for_build_editable(metadata_directory, config_settings=None):
    return build_meta.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    with tempfile.TemporaryDirectory() as folder:
        info = build_meta.prepare_metadata_for_build_wheel(folder, config_settings)
        root = Path(folder, info)
        files = {
            f"{info}/{p.relative_to(root)}": p.read_bytes() for p in root.rglob("*") if p.is_file()
        }
    distribution = info.removesuffix(".dist-info")
    files[f"{info}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: lm_eval_bias_build\nRoot-Is-Purelib: true\nTag: "
        b"py3-none-any\n"
    )
    # Read before the autoload file: .pth files are read in the order of their names.
    files["__editable__.lm_eval_bias.pth"] = f"{Path.cwd()}\n".encode()
    name = f"{distribution}-0.editable-py3-none-any.whl"
    _write(os.path.join(wheel_directory, name), {**files, **AUTOLOAD})
    return name


def _write(path, files):
    """Write a wheel of these files (name -> content), with the RECORD that belongs to them."""
    record = next(n for n in (f"{f.split('/')[0]}/RECORD" for f in files if ".dist-info/" in f))
    files = {n: content for n, content in files.items() if n != record}
    lines = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in files.items():
            digest = (
                base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            )
            lines.append(f"{name},sha256={digest},{len(content)}")
            wheel.writestr(zipfile.ZipInfo(name, (2025, 1, 1, 0, 0, 0)), content)
        wheel.writestr(record, "\n".join([*lines, f"{record},,", ""]))
