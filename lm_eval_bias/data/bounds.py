"""Files that anybody may have written: how much is read, and what JSON may hold."""

import gzip
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from errno import EINVAL
from io import BufferedIOBase
from itertools import count
from math import nan
from pathlib import Path
from typing import Any

from lm_eval_bias.usage import UsageError

LINE = 32 * 2**20
"""Bytes of a line. Samples have lines of a few megabytes at most."""
FILE = 64 * 2**20
"""Bytes of a file that is read whole. Samples, which may have gigabytes, are read by lines."""
VALUES = 1_000_000
"""Rows of a table; values, lists and mappings of a YAML file."""
DEEPEST = 50
"""Levels of lists and mappings, in JSON and YAML."""
DIGITS = 300
"""Of a whole number; a greater one is NaN."""

GZ = ".gz"
Json = Mapping[str, Any]
"""An object of a file."""
TOO_DEEP = f"more than {DEEPEST} levels of lists and mappings"
TOO_MANY = f"more than {VALUES:,} rows or values"
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
# an escape: of a whole character, in two parts; of half of one; another
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|(u[dD][89a-fA-F]\w\w)|.)", re.ASCII
)


class Unreadable(UsageError):
    """cause: why a file cannot be read, without its name."""

    def __init__(self, path: object, cause: str):
        super().__init__(f"cannot read {path}: {cause}")
        self.cause = cause


@contextmanager
def opened(path: Path) -> Iterator[BufferedIOBase]:
    """A file to read, uncompressed if it ends in .gz. A pipe, which might never end, raises
    Unreadable."""
    try:
        if "\0" in str(path):
            raise OSError(EINVAL, "no file has a NUL in its name")
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise OSError(EINVAL, "it is a pipe or a device; give a file")
        with gzip.open(path) if path.suffix == GZ else path.open("rb") as file:
            yield file
    except (OSError, EOFError, zlib.error) as error:
        raise Unreadable(path, getattr(error, "strerror", None) or str(error)) from None


def plain_name(path: Path) -> str:
    return path.name.removesuffix(GZ)


def content_of(path: Path) -> bytes:
    """What a file of at most FILE bytes holds. Raises Unreadable."""
    with opened(path) as file:
        content = file.read(FILE + 1)
    if len(content) > FILE:
        raise Unreadable(path, f"it has more than {FILE >> 20} MB")
    return content


def lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The numbered lines of a file of any size, without blank ones. Raises Unreadable."""
    with opened(path) as file:
        for number in count(1):
            line = file.readline(LINE + 1)
            if len(line) > LINE:
                raise Unreadable(path, f"line {number} has more than {LINE >> 20} MB")
            if not line:
                return
            if line.strip():
                yield number, line


def json_of(path: Path, strict: bool = False) -> Any:
    """strict: of `loads`. Raises Unreadable."""
    try:
        return loads(content_of(path), strict)
    except Unreadable:
        raise
    except ValueError as error:
        raise Unreadable(path, str(error)) from None


def loads(content: str | bytes, strict: bool = False) -> Any:
    """What JSON holds, in UTF-8. Half of a character, such as "\\ud800", becomes U+FFFD, or is
    refused if strict, as is a name that stands twice. Raises ValueError that says what is wrong."""
    try:
        text = content if isinstance(content, str) else content.decode("utf-8-sig")
        if _HALF.search(text):
            mended = _ESCAPE.sub(lambda match: r"\ufffd" if match[1] else match[0], text)
            if strict and mended != text:
                raise ValueError('half of a character, such as "\\ud800"; write the whole one')
            text = mended
        data = (_STRICT if strict else _DECODER).decode(text)
    except UnicodeDecodeError:
        raise ValueError("not UTF-8; save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from None
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    if text.count("[") + text.count("{") > DEEPEST and _is_deep(text):
        raise ValueError(TOO_DEEP)
    return data


def _unique(pairs: list[tuple[str, Any]]) -> Json:
    made = {}
    for name, value in pairs:
        if name in made:
            raise ValueError(f"{name!r} stands there twice")
        made[name] = value
    return made


_DECODER = json.JSONDecoder(parse_int=lambda digits: int(digits) if len(digits) <= DIGITS else nan)
_STRICT = json.JSONDecoder(parse_int=_DECODER.parse_int, object_pairs_hook=_unique)
_QUOTED = re.compile(r'\\["\\]')
_AS_LISTS = bytes.maketrans(b"{}", b"[]")
_WITHIN = bytes(set(range(256)).difference(b'{}[]"'))


def _is_deep(text: str) -> bool:
    """Whether JSON has more than DEEPEST levels. Going through what it holds takes thrice the time,
    and samples are many."""
    plain = _QUOTED.sub("", text).encode(errors="replace").translate(_AS_LISTS, _WITHIN)
    left = re.sub(b'"[^"]*"', b"", plain.replace(b'""', b""))  # most texts have no brackets
    for _ in range(DEEPEST):
        left = left.replace(b"[]", b"")
    return left != b""
