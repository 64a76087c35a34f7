"""Figures: what stands in the SVG is read back from its paths and texts, by a reader of its own,
and compared with the numbers."""

import io
import itertools
import math
import random
import re
import struct
from statistics import median
from xml.etree import ElementTree

import pytest

pytest.importorskip("vl_convert")

from lm_eval_bias.exhibit import Column, Exhibit, Figure, Numbers
from lm_eval_bias.figures import draw as figures
from lm_eval_bias.figures import palette
from lm_eval_bias.figures.kinds import chart
from lm_eval_bias.figures.rows import COLUMN, PAGE, lines, plan, unlike
from lm_eval_bias.figures.svg import parted

NAMESPACE = "{http://www.w3.org/2000/svg}"


def exhibit(figure, *columns):
    columns = [Column(*column) for column in columns]
    return Exhibit("Figure 1", "caption", Numbers(()), columns, "reads", "silent", figure=figure)


def drawn(figure, rows, *columns, **words):
    words = {"title": "A title", "description": "What it shows.", **words}
    return figures.svg(exhibit(figure, *columns), rows, name="one", **words)


def leaves(svg):
    """(tag, all attributes that hold for it, text) of every path and text."""

    def walk(node, above):
        tag = node.tag.removeprefix(NAMESPACE)
        if tag in ("defs", "title", "desc"):
            return
        held = {**above, **node.attrib}
        if tag in ("path", "text"):
            yield tag, held, node.text or ""
        for child in node:
            yield from walk(child, held)

    return list(walk(ElementTree.fromstring(svg), {}))


def texts(svg):
    return [text for tag, _, text in leaves(svg) if tag == "text"]


def subpaths(d):
    """The corners of each subpath of a path of straight lines."""
    paths, x, y = [], 0.0, 0.0
    for command, rest in re.findall(r"([MLHVhv])([^MLHVhvZ]*)", d):
        numbers = [float(n) for n in re.findall(r"-?\d*\.?\d+", rest)]
        if command == "M":
            paths.append([])
        if command in "ML":
            corners = list(zip(numbers[::2], numbers[1::2], strict=True))
        elif command in "Hh":
            corners = [(n + x * (command == "h"), y) for n in numbers]
        else:
            corners = [(x, n + y * (command == "v")) for n in numbers]
        paths[-1] += corners
        x, y = corners[-1]
    return paths


def boxes(svg, fill):
    """(left, top, right, bottom) of the rectangles of a colour, but for that of the legend."""
    found = []
    for tag, held, _ in leaves(svg):
        if tag == "path" and held.get("fill") == fill and "a" not in held["d"].lower():
            for corners in subpaths(held["d"]):
                xs, ys = zip(*corners, strict=True)
                box = tuple(round(n, 2) for n in (min(xs), min(ys), max(xs), max(ys)))
                if (round(box[2] - box[0]), round(box[3] - box[1])) != (11, 11):
                    found.append(box)
    return found


def strokes(svg, **held):
    """The corners of each line that is drawn with these attributes."""
    attributes = {(key.replace("_", "-"), value) for key, value in held.items()}
    return [
        corners
        for tag, has, _ in leaves(svg)
        if tag == "path" and attributes <= has.items()
        for corners in subpaths(has["d"])
    ]


BLUE = palette.COLOURS[0]
GROUPS = ("Age", "Gender", "Race")
BARS = Figure("bars", "group", "value", low="low", high="high")
VALUE = ("value", "Biased preferences", "%")


def values(*numbers, **more):
    return [
        {"group": group, "value": number, **more}
        for group, number in zip(GROUPS, numbers, strict=False)
    ]


# ---- Every kind


def five(least):
    return dict(zip(("a", "b", "c", "d", "e"), range(least, least + 5), strict=True))


EVERY = {
    "bars": (BARS, values(10.0, 20.0, 40.0)),
    "bars beside each other": (
        BARS._replace(colour="who"),
        values(1, 2, 3, who="she") + values(3, 2, 1, who="he"),
    ),
    "stacked": (
        Figure("stacked", "group", "value", "who"),
        values(30, 20, 10, who="she") + values(70, 80, 90, who="he"),
    ),
    "points": (
        Figure("points", "value", "group", "who", low="low", high="high", reference=0),
        values(1, 2, -3, who="she", low=-4, high=5) + values(2, 0, 1, who="he", low=-1, high=3),
    ),
    "histogram": (
        Figure("histogram", "from", "n", to="to"),
        [{"from": i, "to": i + 1, "n": i} for i in range(5)],
    ),
    "boxes": (
        Figure("boxes", "group", "c", five=tuple("abcde")),
        [{"group": g, **five(i)} for i, g in enumerate(GROUPS)],
    ),
    "heatmap": (
        Figure("heatmap", "x", "y", "value", mask="mask"),
        [
            {"x": x, "y": y, "value": i - 4, "mask": x == y}
            for i, (x, y) in enumerate(itertools.product("abc", "abc"))
        ],
    ),
    "scatter": (
        Figure("scatter", "x", "y", "who", label="name"),
        [{"x": i, "y": i % 3, "who": "ab"[i % 2], "name": f"n{i}"} for i in range(9)],
    ),
}
COLUMNS = (VALUE, ("n", "Documents", "count"), ("c", "Median", "points"))


@pytest.fixture(scope="module")
def every():
    """Each kind, and each in four panels."""
    found = {kind: drawn(figure, rows, *COLUMNS) for kind, (figure, rows) in EVERY.items()}
    for kind in ("bars", "points", "heatmap", "histogram"):
        figure, rows = EVERY[kind]
        long = "a panel whose name is much longer than it is wide, as people's names for things are"
        spread = [{**row, "panel": f"{long} {n}"} for n in range(4) for row in rows]
        found[f"{kind} in panels"] = drawn(figure._replace(facet="panel"), spread, *COLUMNS)
    return found


def test_a_figure_has_a_name_and_no_part_has_another(every):
    for kind, svg in every.items():
        root = ElementTree.fromstring(svg)
        named = {node.get("id"): node.text for node in root.iter() if node.get("id")}
        assert root.get("role") == "img"
        first = next(node for node in root.iter(f"{NAMESPACE}g") if node.get("font-weight"))
        title = " ".join(text.text for text in first)
        assert named[root.get("aria-labelledby")] == title
        assert named[root.get("aria-describedby")].startswith("What it shows.")
        inner = {key for node in [*root.iter()][1:] for key in node.attrib}
        assert not re.search("role|aria|class", " ".join(inner)), kind


def test_a_figure_is_small_plain_and_takes_the_colours_of_the_page(every):
    """Nothing in it needs more than a strict policy allows."""
    allowed = {"svg", "title", "desc", "defs", "pattern", "rect", "g", "path", "text"}
    for kind, svg in every.items():
        root = ElementTree.fromstring(svg)
        nodes = list(root.iter())
        assert {node.tag.removeprefix(NAMESPACE) for node in nodes} <= allowed, kind
        names = {key for node in nodes for key in node.attrib}
        assert not [key for key in names if key == "style" or key.startswith("on") or "href" in key]
        ids = {f"#{node.get('id')}" for node in nodes}
        assert set(re.findall(r"url\(([^)]*)\)", svg)) <= ids, kind
        assert not re.search("NaN|undefined|Infinity|#01010|#fe[0-3]", svg), kind

        written = [held for tag, held, _ in leaves(svg) if tag == "text"]
        inside = {"#000000", "#ffffff"} if kind.startswith(("heatmap", "stacked")) else set()
        assert {held["fill"] for held in written} <= {"currentColor"} | inside, kind
        assert min(float(held.get("font-size", 12)) for held in written) >= 10, kind

        assert len(svg.encode()) < 40_000 and root.get("width") == str(PAGE), kind
        width, height = map(float, root.get("viewBox").split()[2:])
        assert PAGE <= width < PAGE * 1.1, kind
        assert float(root.get("height")) == pytest.approx(height * PAGE / width, abs=0.2)


@pytest.mark.slow
def test_specifications_are_valid_vega_lite():
    altair = pytest.importorskip("altair")
    for figure, rows in EVERY.values():
        specification, _ = chart(plan(exhibit(figure, *COLUMNS), rows, None))
        altair.Chart.from_dict(specification)


def test_files_are_as_wide_as_a_page_and_a_column_of_a_paper():
    """7 inches are 504 points and, at two of 96 to an inch, 1344 pixels; 3.35 are 241.5 points."""
    figure, rows = EVERY["bars"]
    drawn_for = {"name": "one", "title": "A title", "source": "Source: m"}
    found = figures.files(exhibit(figure, *COLUMNS), rows, **drawn_for)
    assert list(found) == [".svg", ".png", ".pdf", "-column.pdf"]
    assert found[".png"].startswith(b"\x89PNG")
    assert struct.unpack(">I", found[".png"][16:20]) == (1344,)
    for ending, points in ((".pdf", b"504"), ("-column.pdf", b"241.5")):
        assert re.search(rb"/MediaBox ?\[0 0 ([\d.]+) ", found[ending])[1] == points
        assert b"LiberationSans" in found[ending]
    serif = figures.files(exhibit(figure, *COLUMNS), rows, **drawn_for, serif=True)[".pdf"]
    assert re.search(rb"BaseFont ?/\S*(Serif|Times|Nimbus)", serif)
    assert b"LiberationSans" not in serif
    assert "Source: m" in texts(found[".svg"]) and PAGE / COLUMN > 2


@pytest.mark.parametrize(("across", "down"), [(40, 2), (2, 80)])
def test_what_is_too_wide_or_too_high_for_a_column_is_drawn_for_a_page_alone(across, down):
    rows = [{"x": f"x{i}", "y": f"y{j}", "value": i} for i in range(across) for j in range(down)]
    found = figures.files(exhibit(EVERY["heatmap"][0]), rows, name="one", title="A title")
    assert list(found) == [".svg", ".png", ".pdf"]


# ---- Titles


def points(*ends):
    return [
        {"group": group, "value": value, "low": low, "high": high}
        for group, (value, low, high) in zip(GROUPS, ends, strict=False)
    ]


POINTS = Figure("points", "value", "group", low="low", high="high", reference=0)
FOUND = [
    (BARS, values(10.0, 20.0, 40.0), "highest Race (40), lowest Age (10)"),
    (BARS, values(40.0, 20.0, 40.0), ""),
    (BARS, values(5, 5), ""),
    (
        POINTS._replace(reference=None),
        points((1, 0, 3), (2, 1.5, 4)),
        "highest Gender (2), lowest Age (1), with intervals that overlap",
    ),
    (POINTS, points((1, 0.5, 3)), ""),  # a test: its heading is its verdict
    # of the two series he has the greater span
    (EVERY["stacked"][0], EVERY["stacked"][1], "she: highest Age (30), lowest Race (10)"),
]


@pytest.mark.parametrize("figure, rows, title", FOUND)
def test_the_title_is_what_is_seen(figure, rows, title):
    seen = ElementTree.fromstring(drawn(figure, rows, VALUE)).find(f"{NAMESPACE}title").text
    joined = "Biased preferences (%)" + (", " if title.startswith("she") else ": ")
    assert seen == (joined + title if title else "A title")


def test_boxes_that_overlap_are_no_intervals():
    title = ElementTree.fromstring(drawn(*EVERY["boxes"])).find(f"{NAMESPACE}title").text
    assert title.startswith("c: highest") and "overlap" not in title


def test_unit_number_and_source_stand_beside_the_title():
    words = {"name": "one", "title": "What is shown.", "source": "Source: m", "n": 1234}
    svg = figures.svg(exhibit(POINTS, VALUE), points((1, 0, 2)), **words)
    assert "What is shown · in %, lines are 95\u00a0% intervals, n\u00a0=\u00a01,234" in texts(svg)
    assert texts(svg)[-1] != "" and "Source: m" in texts(svg)


def test_a_title_may_be_the_heading_of_a_page():
    """A line of 15 pixels is 1.3 times as high; what is below it stays where it was."""
    svg = drawn(BARS, values(10.0, 20.0, 40.0), VALUE)
    title, rest = parted(svg)
    assert title == "Biased preferences (%): highest Race (40), lowest Age (10)"
    assert texts(svg) == [title, *texts(rest)]
    (_, _, wide, high), (_, top, *size) = (
        map(float, ElementTree.fromstring(of).get("viewBox").split()) for of in (svg, rest)
    )
    assert top == 19.5 and size == pytest.approx([wide, high - 19.5])


# ---- Numbers


def test_bars_are_as_long_as_their_numbers():
    """10, 20 and 40: each twice as long as the one before."""
    svg = drawn(BARS, values(10.0, 20.0, 40.0), VALUE)
    long = sorted(box[2] - box[0] for box in boxes(svg, BLUE))
    assert long[1] / long[0] == pytest.approx(2, abs=0.02)
    assert long[2] / long[0] == pytest.approx(4, abs=0.03)
    assert {"10", "20", "40"} <= set(texts(svg))


def test_a_negative_bar_ends_at_zero():
    below, above = sorted(boxes(drawn(BARS, values(-10, 10)), BLUE))
    assert below[2] == pytest.approx(above[0], abs=0.2)
    assert below[2] - below[0] == pytest.approx(above[2] - above[0], abs=0.2)


def test_stacked_parts_stand_on_each_other_and_need_not_make_a_hundred():
    """30 and 45 of 100: the parts are 3 to 4.5, the second starts where the first ends, and a
    quarter is left."""
    rows = [{"group": "Age", "value": v, "who": w} for v, w in ((30, "she"), (45, "he"))]
    svg = drawn(Figure("stacked", "group", "value", "who", domain=(0, 100)), rows)
    (first,) = boxes(svg, BLUE)
    (second,) = boxes(svg, "url(#one-1)")
    assert second[0] == pytest.approx(first[2], abs=0.2)
    assert (second[2] - second[0]) / (first[2] - first[0]) == pytest.approx(1.5, abs=0.01)
    assert (second[2] - first[0]) / (first[2] - first[0]) == pytest.approx(2.5, abs=0.02)


def test_intervals_end_where_they_end():
    """Two points at 0 and 10 give the scale: the ends of the first interval are at -5 and 2."""
    rows = values(0, 10)
    rows[0] |= {"low": -5, "high": 2}
    svg = drawn(Figure("points", "value", "group", low="low", high="high"), rows)
    circles = [
        held["d"] for tag, held, _ in leaves(svg) if tag == "path" and held.get("fill") == BLUE
    ]
    at = sorted(float(x) for d in circles for x in re.findall(r"M(-?[\d.]+)", d))
    (whisker,) = strokes(svg, stroke=BLUE, stroke_width="1.6")
    each = (at[1] - at[0]) / 10
    # a circle's path begins at its right; its size is 58, the square of its width
    first = at[0] - 3.8
    assert min(x for x, _ in whisker) == pytest.approx(first - 5 * each, abs=0.3)
    assert max(x for x, _ in whisker) == pytest.approx(first + 2 * each, abs=0.3)


WITHOUT = [
    *((BARS, values(10, missing, 20), 2) for missing in (None, math.nan, "n/a", True)),
    (EVERY["stacked"][0], values(30, who="she") + values(None, who="he"), 1),
    (EVERY["boxes"][0], [{"group": "Age", **five(0)}, {"group": "Race", **five(1), "b": None}], 1),
]


@pytest.mark.parametrize("figure, rows, count", WITHOUT)
def test_what_has_no_number_has_a_mark_and_no_bar(figure, rows, count):
    svg = drawn(figure, rows)
    assert len(boxes(svg, BLUE)) == count
    assert texts(svg).count("×") == 1 and "×: no value" in texts(svg)


@pytest.mark.parametrize(
    "kind, huge", [("points", math.inf), ("bars", math.inf), ("bars", 10**400), ("bars", 1e300)]
)
def test_an_infinite_number_leaves_the_scale_as_it_was(kind, huge):
    figure, rows = EVERY[kind]
    *rows, last = [row | {"low": None, "high": None} for row in rows]
    infinite = texts(drawn(figure, [*rows, {**last, "value": huge}]))
    without = texts(drawn(figure, [*rows, {**last, "value": None}]))
    infinite.remove("∞")
    assert "×" in without
    assert infinite == [text for text in without if not text.startswith("×")]


def test_an_interval_that_is_cut_has_an_arrow():
    rows = values(10, 20, 30)
    rows[0] |= {"low": -1e9, "high": 12}
    svg = drawn(BARS, rows)
    assert "Triangle: the interval goes on" in texts(svg)
    rows[0] |= {"low": 8}
    assert "Triangle: the interval goes on" not in texts(drawn(BARS, rows))


def test_a_histogram_reaches_from_its_rows_beginning_to_their_end():
    """Bars from 0 to 10 and from 10 to 40: the second is three times as wide; 5 and 10 high."""
    rows = [{"from": 0, "to": 10, "n": 5}, {"from": 10, "to": 40, "n": 10}]
    narrow, broad = boxes(drawn(Figure("histogram", "from", "n", to="to"), rows), BLUE)
    assert (broad[2] - broad[0]) / (narrow[2] - narrow[0]) == pytest.approx(3, abs=0.05)
    assert (broad[3] - broad[1]) / (narrow[3] - narrow[1]) == pytest.approx(2, abs=0.02)


def test_boxes_have_their_five_numbers():
    """0, 10, 20, 50, 100 on a scale of 0 to 100: the box is four tenths, the lines one and five."""
    rows = [{"group": "Age", "a": 0, "b": 10, "c": 20, "d": 50, "e": 100}]
    svg = drawn(Figure("boxes", "group", "c", five=tuple("abcde"), domain=(0, 100)), rows)
    (box,) = boxes(svg, BLUE)
    unit = (box[2] - box[0]) / 40
    ends = strokes(svg, stroke=BLUE, stroke_width="1.6")
    long = sorted(abs(a[0] - b[0]) / unit for a, b in ends)
    assert long == pytest.approx([10, 50], abs=0.5)


# ---- Labels of points


@pytest.mark.parametrize("width", [PAGE, COLUMN])
def test_no_label_covers_another_or_a_point_and_the_outermost_have_theirs(width):
    """98 points. What is drawn of labels, and all points together, is half transparent in a picture
    of them alone: where two lie over each other, less of the ground is seen. Those ten points that
    lie farthest from the middle have their labels."""
    image = pytest.importorskip("PIL.Image")
    made, rows = random.Random(2), []
    for i in range(98):
        x = made.gauss(3, 0.5)
        name = f"{'nameless'[: made.randint(1, 8)]} {'group'[: made.randint(0, 5)]} {i}"
        rows.append({"x": x, "y": 1.5 + 0.5 * x + made.gauss(0, 0.4), "name": name})
    svg = drawn(Figure("scatter", "x", "y", label="name"), rows, width=width)
    names, root = {row["name"] for row in rows}, ElementTree.fromstring(svg)
    shown, left = set(), re.search(r"Without room for its label: (\d+) of 98", svg)
    for group in root.iter(f"{NAMESPACE}g"):
        for leaf in list(group):
            if leaf.tag == f"{NAMESPACE}text" and leaf.text in names:
                shown.add(leaf.text)
                leaf.set("opacity", ".5")
            elif leaf.tag == f"{NAMESPACE}path" and leaf.find(f"{NAMESPACE}title") is not None:
                group.set("opacity", ".5")
            elif leaf.tag != f"{NAMESPACE}g":
                group.remove(leaf)

    def darkest():
        picture = figures.vl_convert.svg_to_png(
            ElementTree.tostring(root, encoding="unicode"), scale=2
        )
        return image.open(io.BytesIO(picture)).getchannel("A").getextrema()[1]

    assert darkest() in (127, 128) and int(left[1]) == 98 - len(shown) < (30, 70)[width < PAGE]
    places = {}
    for circle in root.iter(f"{NAMESPACE}path"):
        x, y = map(float, re.match(r"M(-?[\d.]+)[ ]?(-?[\d.]+)", circle.get("d")).groups())
        places[circle.find(f"{NAMESPACE}title").text.partition(":")[0]] = x, y
    middle = [median(at) for at in zip(*places.values(), strict=True)]
    assert set(sorted(places, key=lambda name: -math.dist(places[name], middle))[:10]) <= shown
    label = next(leaf for leaf in root.iter(f"{NAMESPACE}text"))
    group = next(of for of in root.iter(f"{NAMESPACE}g") if label in of)
    group.append(label)  # over itself
    assert darkest() > 150


def test_labels_that_are_left_out_are_counted():
    rows = [{"x": 1, "y": 1, "name": f"the same place {i}"} for i in range(60)] + [
        {"x": 2, "y": 2, "name": "far"},
        {"x": None, "y": 1, "name": "off"},
    ]
    svg = drawn(Figure("scatter", "x", "y", label="name"), rows)
    left_out = re.search(r"Without room for its label: (\d+) of 61", svg)
    shown = sum(text.startswith("the same place") for text in texts(svg))
    assert left_out and int(left_out[1]) + shown == 60
    assert "Not drawn for want of a number: 1" in svg and "far" in texts(svg)
    tips = [node.text for node in ElementTree.fromstring(svg).iter(f"{NAMESPACE}title")]
    assert "far: 2.00, 2.00" in tips and len(tips) == 1 + 61


def test_points_that_are_close_are_shown_large():
    """2.9 to 3.1 of 1 to 5; half of the scale, too; not 1.2 to 4.9."""
    note = "Of the scale of 1 to 5 the part that has all points"
    for low, high, is_cut in ((2.9, 3.1, True), (2, 4, True), (1.2, 4.9, False)):
        rows = [{"x": low, "y": low, "name": "a"}, {"x": high, "y": high, "name": "b"}]
        svg = drawn(Figure("scatter", "x", "y", label="name", domain=(1, 5)), rows)
        assert (note in texts(svg)) == is_cut


# ---- Text


HOSTILE = "<script>alert('x')</script>]]>&amp;\x1b[2J\u202eevil\ud800\x00"


@pytest.mark.parametrize("kind", list(EVERY))
def test_hostile_text_is_shown_as_text(kind):
    figure, rows = EVERY[kind]
    rows = [{**row, "model": model} for model in "ab" for row in rows]
    bad = [
        {key: v + HOSTILE if isinstance(v, str) else v for key, v in row.items()} for row in rows
    ]
    columns = [("value", HOSTILE, "%"), ("x", HOSTILE), ("from", HOSTILE)]
    svg = drawn(figure, bad, *columns, title=HOSTILE, description=HOSTILE, model="model")
    root = ElementTree.fromstring(svg)
    assert not list(root.iter(f"{NAMESPACE}script"))
    assert not [c for c in svg if c in "\x1b\u202e\ud800\x00"]
    assert "alert" in root.find(f"{NAMESPACE}title").text


def test_text_is_no_expression_and_no_name_of_a_field():
    """Keys and values that mean something to Vega are shown as they are."""
    key = "a.b[0]'+alert(1)+'"
    rows = [{key: "datum.v'); alert('", "value": 1}, {key: "\\n' + 1", "value": 2}]
    svg = drawn(Figure("bars", key, "value", facet=None), rows)
    assert len(boxes(svg, BLUE)) == 2
    assert any("alert" in text for text in texts(svg))


def test_names_that_begin_alike_keep_what_tells_them_apart():
    """Of the first and the last there is no room for more than "a person from the Uni…"."""
    places = ("the United States", "Canada", "the United Kingdom")
    labels = unlike([f"a person from {place}" for place in places], lines(145, 1))
    assert labels == ["… States", "a person from Canada", "… Kingdom"]


# ---- Rows and panels


def test_the_order_is_the_one_that_is_given():
    figure = BARS._replace(order={"group": ("Race", "Age", "none such")})
    assert plan(exhibit(figure), values(1, 2, 3), None).xs == ["Race", "Age", "Gender"]


def test_models_are_told_apart_as_the_figure_says():
    rows = [{**row, "model": model} for model in ("A", "B") for row in values(1, 2, 3)]
    assert plan(exhibit(BARS._replace(model="colour")), rows, "model").series == ["A", "B"]
    assert plan(exhibit(BARS._replace(model="facet")), rows, "model").panels == ["A", "B"]
    coloured = [{**row, "who": who} for who in "xy" for row in rows]
    both = plan(exhibit(BARS._replace(model="colour", colour="who")), coloured, "model")
    assert (both.series, both.panels) == (["x", "y"], ["A", "B"])


def test_panels_without_a_common_category_are_one_with_titles():
    rows = [{"group": f"{f}{i}", "value": i, "panel": f} for f in ("skin", "age") for i in range(3)]
    points = Figure("points", "value", "group", facet="panel")
    folded = plan(exhibit(points), rows, None)
    assert folded.panels == [""]
    assert folded.xs == ["skin:", "skin0", "skin1", "skin2", "age:", "age0", "age1", "age2"]
    assert [folded.xs[item.x] for item in folded.items] == [row["group"] for row in rows]
    rows.append({"group": "skin0", "value": 1, "panel": "age"})
    assert plan(exhibit(points), rows, None).panels == ["skin", "age"]


@pytest.mark.parametrize(
    "figure, rows, why",
    [
        (BARS, [], "there are no rows"),
        (BARS, values(None, math.nan, math.inf), "no row has a number"),
        (None, values(1), "it is a table alone"),
        (BARS, values(1) + values(2), "several rows have the same place in the figure (Age)"),
        (Figure("boxes", "group", "c"), values(1), "no row has a number"),
        (Figure("scatter", "x", "y"), [{"x": 1, "y": None}], "no row has a number"),
        (Figure("histogram", "from", "n", to="to"), [{"from": 1, "n": 2}], "no row has a number"),
        (
            Figure("bars", "g", "v", facet="f"),
            [{"g": "a", "v": 1, "f": i} for i in range(81)],
            "it would have 81 panels, more than 80",
        ),
    ],
)
def test_what_cannot_be_drawn_says_why(figure, rows, why):
    with pytest.raises(ValueError, match=f"^{re.escape(why)}$"):
        drawn(figure, rows)


@pytest.mark.parametrize("kind", list(EVERY))
def test_one_row_and_equal_numbers_are_drawn(kind):
    figure, rows = EVERY[kind]
    key = {"boxes": "c", "histogram": "n", "scatter": "y"}.get(kind, "value")
    for few in (rows[:1], [{**row, key: 0} for row in rows]):
        assert "NaN" not in drawn(figure, few)


# ---- Seen by everybody


def test_contrast_is_that_of_wcag():
    assert palette.contrast("#000000", "#ffffff") == pytest.approx(21)
    assert palette.contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


def test_colours_stand_out_on_both_pages_and_text_on_them_is_read():
    shades = [palette.scaled(i / 64) for i in range(65)]
    for page in ("#ffffff", "#1c1c1b"):
        assert min(palette.contrast(colour, page) for colour in palette.COLOURS) >= 3
    for colour in (*palette.COLOURS, *shades):
        assert palette.contrast(palette.on(colour), colour) >= 4.5


def test_no_two_of_many_series_look_alike_and_none_is_told_by_colour_alone():
    for second in (palette.pattern, palette.shape):
        assert len({(palette.colour(n), second(n)) for n in range(56)}) == 56
        assert all(second(n) != second(n + 1) for n in range(56))
