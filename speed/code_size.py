"""How much there is to read: code tokens and words of docstrings, by folder.

    python speed/code_size.py

A token is one of Python's `tokenize`, without comments, docstrings, line breaks, indents. Counted
are the files that git tracks.
"""

import ast
import io
import subprocess
import tokenize
from collections import Counter, defaultdict
from pathlib import Path

DOCUMENTED = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef


def size(text: str) -> Counter[str]:
    """Of a file: tokens, docstring words."""
    nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, DOCUMENTED))
    docstrings = [docstring for node in nodes if (docstring := ast.get_docstring(node))]
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return Counter(
        files=1,
        tokens=sum(t.type != tokenize.COMMENT and bool(t.string.strip()) for t in tokens)
        - len(docstrings),
        words=sum(len(docstring.split()) for docstring in docstrings),
    )


def of_files() -> dict[str, Counter[str]]:
    """The `size` of each Python file that git tracks, below the working directory."""
    command = ["git", "ls-files", "*.py"]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return {name: size(Path(name).read_text(encoding="utf-8")) for name in names}


def main() -> None:
    folders: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name, of_file in of_files().items():
        folders[str(Path(name).parent)] += of_file
        folders["all tests" if name.startswith("tests/") else "all code"] += of_file
    print(f"{'folder':40} {'files':>6} {'tokens':>8} {'docstring words':>16}")
    for folder, counts in sorted(folders.items(), key=lambda row: (row[0][:4] == "all ", row[0])):
        print(f"{folder:40} {counts['files']:6} {counts['tokens']:8,} {counts['words']:16,}")


if __name__ == "__main__":
    main()
