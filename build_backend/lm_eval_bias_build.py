"""Build backend: setuptools', and what setuptools cannot do: place a file at the top of
site-packages, write the same bytes at every build, make the README's links work on the index's
page, and install editably without an import hook (lm_eval_bias/__init__.py finds tasks/ and
metrics/ beside itself).

SECURITY.md says what the files at the top do. LM_EVAL_BIAS_NO_HOOK=1 leaves them out.
"""

import base64
import gzip
import hashlib
import io
import os
import re
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

from setuptools import build_meta
from setuptools.build_meta import (  # hooks that need no change
    get_requires_for_build_sdist,  # noqa: F401
    get_requires_for_build_wheel,
    prepare_metadata_for_build_wheel,
)

get_requires_for_build_editable = get_requires_for_build_wheel
prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel

HOOK = {
    # What the two others call. When the package is gone, it does nothing.
    "lm_eval_bias_autoload.py": b"""def start():
    try:
        import lm_eval_bias
    except ImportError:
        pass
""",
    # Until Python 3.14.
    "lm_eval_bias_autoload.pth": b"import lm_eval_bias_autoload; lm_eval_bias_autoload.start()\n",
    # From Python 3.15 on, which ignores the .pth file because of this one (PEP 829).
    "lm_eval_bias_autoload.start": b"lm_eval_bias_autoload:start\n",
}


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with tempfile.TemporaryDirectory() as folder:
        # Not build/, where the modules of former builds lie.
        options = {"--global-option": ["build", "--build-base", folder]}
        settings = {**(config_settings or {}), **options}
        name = build_meta.build_wheel(wheel_directory, settings, metadata_directory)
    path = os.path.join(wheel_directory, name)
    with zipfile.ZipFile(path) as built:
        files = {i.filename: built.read(i) for i in built.infolist() if not i.is_dir()}
    info = next(name for name in files if name.endswith(".dist-info/METADATA"))
    files[info] = absolute_links(files[info])
    _write_wheel(path, files)
    return name


def build_sdist(sdist_directory, config_settings=None):
    name = build_meta.build_sdist(sdist_directory, config_settings)
    path = Path(sdist_directory, name)
    with tarfile.open(path) as built:
        files = {m.name: built.extractfile(m).read() for m in built if m.isfile()}
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as sdist:
        for file, content in sorted(files.items()):
            if file.endswith("/PKG-INFO"):
                content = absolute_links(content)
            member = tarfile.TarInfo(file)
            member.size, member.mtime = len(content), _epoch()
            sdist.addfile(member, io.BytesIO(content))
    path.write_bytes(gzip.compress(archive.getvalue(), mtime=_epoch()))
    return name


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    with tempfile.TemporaryDirectory() as folder:
        info = prepare_metadata_for_build_wheel(folder, config_settings)
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
    _write_wheel(os.path.join(wheel_directory, name), files)
    return name


def absolute_links(metadata):
    """A METADATA or PKG-INFO whose relative links lead to the source at the tag of its version."""
    text = metadata.decode()
    source = re.search(r"^Project-URL: Source, (.*)", text, re.M)[1]
    tag = "v" + re.search(r"^Version: (.*)", text, re.M)[1]

    def link(found):
        kind = "raw" if found[1].endswith((".png", ".svg", ".gif")) else "blob"
        return f"]({source}/{kind}/{tag}/{found[1]})"

    return re.sub(r"\]\((?!\w+:|#)([^)\s]+)\)", link, text).encode()


def _epoch():
    """The time of all files, in seconds: SOURCE_DATE_EPOCH or 2025; a zip's years begin in 1980."""
    return max(int(os.environ.get("SOURCE_DATE_EPOCH", 1735689600)), 315532800)


def _write_wheel(path, files):
    """Write a wheel of these files (name -> content), the hook and a RECORD."""
    record = next(n.split("/")[0] for n in files if ".dist-info/" in n) + "/RECORD"
    hook = {} if os.environ.get("LM_EVAL_BIAS_NO_HOOK") == "1" else HOOK
    files = {n: content for n, content in sorted({**files, **hook}.items()) if n != record}
    lines = []
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}")
    files[record] = "\n".join([*lines, f"{record},,", ""]).encode()
    with zipfile.ZipFile(path, "w") as wheel:
        for name, content in files.items():
            member = zipfile.ZipInfo(name, time.gmtime(_epoch())[:6])
            member.external_attr = 0o100644 << 16
            wheel.writestr(member, content, zipfile.ZIP_DEFLATED)
