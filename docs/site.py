"""Which pages the site of `make docs` has, and their order (a hook of mkdocs.yml).

The site holds docs/ and all files that its pages link to, such as the tasks' READMEs. Pages stand
in the order of docs/README.md's links.
"""

import logging
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
HOME = "docs/README.md"
KINDS = ("Tutorials", "How-to", "Reference", "Explanation")
PARTS = {kind: f"docs/{kind.lower()}/" for kind in KINDS} | {"Benchmarks": "tasks/"}


def linked(page: str) -> list[str]:
    """The files that a page links to, named from the repository's root."""
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)\s#:]+)[^)\s:]*\)", text)
    paths = [posixpath.normpath(posixpath.join(posixpath.dirname(page), of)) for of in targets]
    return [path for path in dict.fromkeys(paths) if (ROOT / path).is_file()]


def on_files(files: Files, config: Any) -> Files:
    theirs = [file for file in files if file.src_dir != config.docs_dir]
    first = linked(HOME)
    ours = [f"docs/{file.src_uri}" for file in files if file not in theirs]
    names = [*dict.fromkeys([HOME, *first, *ours])]
    for name in names:  # which grow
        if name.endswith(".md"):
            names += [path for path in linked(name) if path not in names]
    pages = [name for name in names if name.endswith(".md") and name != HOME]
    parts = [{p: [name for name in pages if name.startswith(PARTS[p])]} for p in PARTS]
    others = [name for name in pages if not name.startswith(tuple(PARTS.values()))]
    for name in sorted(set(pages).difference(first, others)):
        logging.getLogger("mkdocs.site").warning("%s has no link to %s", HOME, name)
    config.nav = [{"Home": HOME}, *parts, {"Project": others}]
    options, made = (config.site_dir, config.use_directory_urls), []
    for name in names:  # docs/ is the site's root; the other README stands beside it
        inside = "about.md" if name == "README.md" else name.removeprefix("docs/")
        to = File(inside, None, *options).dest_uri
        made.append(File(name, str(ROOT), *options, dest_uri=to))
    return Files([*theirs, *made])


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """A link to a folder becomes its name: the site has no page for it."""
    here = (ROOT / page.file.src_uri).parent
    link = r"\[([^\]]+)\]\(([^)\s#:]+)\)"
    return re.sub(link, lambda of: of[1] if (here / of[2]).is_dir() else of[0], markdown)
