"""Texts that nobody should be able to do harm with, and finished runs in which every text that
anybody may have written is one."""

import re
from copy import deepcopy
from functools import reduce
from html.parser import HTMLParser
from math import inf, nan
from operator import getitem

from tests.scripted import edited, made_up, samples_beside

HOSTILE = (
    "<script>window.hacked=1</script></style></script></title><img src=//evil.test/x "
    "onerror=window.hacked=2>",
    '=HYPERLINK("http://evil.test","x")',
    "\x1b[2J\x1b]0;title\x07",
    "\u202egnp.exe\u2066\u200b",
    "\\input{/etc/passwd} 100 % of $x_1^2$ & #1 ~ {",
    "@SUM(A1)\r\n-1+1",
    "[x] *y",
    "' onmouseover=window.hacked=3 x=\"{{ 7*7 }}",
)


ODD = (
    *(None, True, 0, -1, 3.5, 1e308, -1e308, 10**400, nan, inf, -inf),
    *("", ".", "..", "/", "//", "@", "%", "3", "1/2", "1/0", "a" * 500, "../../x", "org/name@rev"),
    *("\0", "\n", "\x1b[2J", "\ud800", "\u202e", "=1+1", "lower", "score"),
    *([], {}, [[]], [{}], [None], {"": ""}, {"a": [1]}),
)


def places(value, way=()):
    """Every place in nested mappings and lists, as the way to it."""
    if way:
        yield way
    below = dict(enumerate(value[:5])) if isinstance(value, list) else value
    for key, inner in below.items() if isinstance(below, dict) else ():
        yield from places(inner, (*way, key))


def changed(value, chance):
    """A value with one place set to something odd, dropped or renamed, at any depth alike."""
    ways = list(places(value))
    if not ways:
        return value
    depth = chance.choice(sorted({len(way) for way in ways}))
    *way, last = chance.choice([way for way in ways if len(way) == depth])
    at = reduce(getitem, way, value)
    if chance.random() < 0.5:
        at[last] = deepcopy(chance.choice(ODD))
    else:
        old = at.pop(last)
        if isinstance(at, dict) and chance.random() < 0.5:
            at[str(chance.choice(ODD))] = old
    return value


def run_of(folder, model="org/m", values=None, task="mine", tables=None, samples=(), **more):
    """A finished run on disk."""
    path = made_up(folder, values or {"gap": (3.0, 1.0, 0, None, "Q")}, model, task=task, **more)
    if tables:
        with edited(path) as content:
            content["configs"][task]["cells"].update(tables)
    if samples:
        samples_beside(path, samples, task)
    return path


def samples():
    """Questions and answers, hostile both."""
    return [
        {
            "doc_id": i,
            "arguments": {"gen_args_0": {"arg_0": text, "arg_1": {"until": []}}},
            "resps": [[text]],
            "filtered_resps": [text],
        }
        for i, text in enumerate(HOSTILE)
    ]


class Page(HTMLParser):
    """What a browser would make of a page, as far as the tests ask."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.links, self.headings = [], [], [], []
        self.texts, self.handlers, self.policy = [], [], ""
        self.feed(text)
        self.text = " ".join(" ".join(self.texts).split())

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            if name.startswith("on") or name == "style":
                self.handlers.append((tag, name))
            elif name == "id":
                self.ids.append(value)
            elif name in ("href", "src"):
                self.links.append(value)
            elif name == "content" and value.startswith("default-src"):
                self.policy = value
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))

    def handle_data(self, data):
        self.texts.append(data)
