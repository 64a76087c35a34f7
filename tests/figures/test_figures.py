"""Figures: what stands in the SVG is read back and compared with the numbers."""

import io
import itertools
import random
import re
import struct
from xml.etree import ElementTree

import pytest

pytest.importorskip("vl_convert")

from lm_eval_bias.exhibit import Column, Exhibit, Figure, Numbers
from lm_eval_bias.figures import draw as figures, palette
from lm_eval_bias.figures.draw import COLUMN, PAGE
from lm_eval_bias.figures.plan import plan

NAMESPACE = "{http://www.w3.org/2000/svg}"


def exhibit(figure, *columns, caption="What is shown"):
    columns = [Column(*column) for column in columns]
    return Exhibit("Bias", caption, Numbers(()), columns, "reads", "caveat", figure=figure)


def drawn(figure, rows, *columns, **words):
    return figures.svg(exhibit(figure, *columns), rows, name="one", **{"heading": "Bias", **words})


def nodes(svg, tag):
    return list(ElementTree.fromstring(svg).iter(NAMESPACE + tag))


def texts(svg):
    """The texts, each line of one by itself."""
    lines = [[node, *node.iter(f"{NAMESPACE}tspan")] for node in nodes(svg, "text")]
    return [line.text for node in lines for line in node if line.text]


def translated(node):
    return tuple(map(float, re.findall(r"-?[\d.]+(?:e-\d+)?", node.get("transform"))))


def bars(svg, colour=palette.COLOURS[0]):
    """(left, top, width, height) of the bars of a colour."""
    shape = re.compile(r"M(-?[\d.]+),(-?[\d.]+)h([\d.]+)v([\d.]+)h-[\d.]+Z")
    found = [
        shape.fullmatch(node.get("d"))
        for node in nodes(svg, "path")
        if node.get("fill") == colour and not node.get("transform")
    ]
    return [tuple(map(float, match.groups())) for match in found if match]


def points(svg):
    """Where the points of a figure of one series are."""
    return [
        translated(node)
        for node in nodes(svg, "path")
        if node.get("fill") == palette.COLOURS[0] and node.get("transform")
    ]


GROUPS = ("Age", "Gender", "Race")
BARS = Figure("bars", "group", "value", low="low", high="high")
POINTS = Figure("points", "value", "group", low="low", high="high", reference=0)
VALUE = ("value", "Biased preferences", "%")


def values(*numbers, **more):
    return [
        {"group": group, "value": number, **more}
        for group, number in zip(GROUPS, numbers, strict=False)
    ]


def five(least):
    return dict(zip("abcde", range(least, least + 5), strict=True))


EVERY = {
    "bars": (BARS, values(10.0, 20.0, 40.0)),
    "bars beside each other": (
        BARS._replace(colour="who"),
        values(1, 2, 3, who="she") + values(3, 2, 1, who="he"),
    ),
    "stacked": (
        Figure("stacked", "group", "value", "who", domain=(0, 100)),
        values(30, 20, 10, who="she") + values(70, 80, 90, who="he"),
    ),
    "points": (
        POINTS._replace(colour="who"),
        values(1, 2, -3, who="she", low=-4, high=5) + values(2, 0, 1, who="he", low=-1, high=3),
    ),
    "histogram": (
        Figure("histogram", "from", "n", to="to"),
        [{"from": i, "to": i + 1, "n": i} for i in range(5)],
    ),
    "boxes": (
        Figure("boxes", "group", "c", five=tuple("abcde")),
        [{"group": group, **five(i)} for i, group in enumerate(GROUPS)],
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
HOSTILE = "<script>alert('x')</script>]]>&amp;\x1b[2J\u202eevil\ud800\x00\"'); alert('"


@pytest.mark.parametrize("kind", EVERY)
def test_a_figure_has_a_name_and_is_safe_whatever_its_texts(kind):
    """Names of models are those of strangers. Nothing in it needs more than a strict policy
    allows, and its ids are its own."""
    figure, rows = EVERY[kind]
    rows = [{**row, "model": model, "panel": p} for row in rows for model in "ab" for p in "pq"]
    bad = [
        {key: v + HOSTILE if isinstance(v, str) else v for key, v in row.items()} for row in rows
    ]
    columns = [("value", HOSTILE, "%"), ("x", HOSTILE), ("from", HOSTILE)]
    words = {"heading": HOSTILE, "description": HOSTILE, "source": HOSTILE, "n": "12"}
    svg = drawn(figure._replace(facet="panel"), bad, *columns, model="model", **words)
    root = ElementTree.fromstring(svg)
    named = {node.get("id"): node.text for node in root.iter() if node.get("id")}
    assert named.keys() == {root.get("aria-labelledby"), root.get("aria-describedby")}
    assert "alert" in named["one-title"] and named["one-desc"].endswith("n = 12")
    assert not [c for c in svg if c in "\x1b\u202e\ud800\x00"]
    tags = {node.tag.removeprefix(NAMESPACE) for node in root.iter()}
    assert tags <= {"svg", "title", "desc", "g", "path", "line", "text", "tspan"}
    names = {key for node in root.iter() for key in node.attrib}
    assert not [key for key in names if key == "style" or key.startswith("on") or "href" in key]
    assert not re.search('="[^"]*(NaN|undefined|Infinity|url)', svg)
    ink = {"currentColor"} | ({"black", "white"} if kind in ("heatmap", "stacked") else set())
    assert {node.get("fill") for node in nodes(svg, "text")} <= ink
    assert root.get("width") == str(PAGE)


def test_files_are_as_wide_as_a_page_and_a_column_of_a_paper():
    """7 inches are 504 points and, at two of 96 to an inch, 1344 pixels; 3.35 are 241.5 points."""
    figure, rows = EVERY["bars"]
    found = figures.files(exhibit(figure, VALUE), rows, name="one", heading="Bias")
    assert list(found) == [".svg", ".png", "-column.pdf", ".pdf"]
    assert found[".png"].startswith(b"\x89PNG")
    assert struct.unpack(">I", found[".png"][16:20]) == (1344,)
    for ending, wide in ((".pdf", b"504"), ("-column.pdf", b"241.5")):
        assert re.search(rb"/MediaBox ?\[0 0 ([\d.]+) ", found[ending])[1] == wide
        assert b"LiberationSans" in found[ending]


def test_a_heading_is_broken_into_lines_and_not_cut():
    words = " ".join(f"word{i}" for i in range(60))
    asked = exhibit(BARS, VALUE, caption=words)
    svg = figures.svg(asked, values(1, 2), name="one", heading="Bias", width=COLUMN)
    assert " ".join(text for text in texts(svg) if text.startswith("word")) == words


def test_labels_of_an_axis_have_room_in_a_font_that_is_wider_than_arial():
    """In DejaVu Sans this label is 97 pixels long, in Arial 86; it ends 7 from the axis."""
    svg = drawn(BARS, [{"group": "skin complexion", "value": 1}], VALUE)
    axis = float(re.search(r'<g fill="none" [^>]*translate\(([\d.]+),', svg)[1])
    assert axis >= 97 + 7


# ---- Numbers


def test_bars_are_as_long_as_their_numbers():
    """10, 20 and 40: each twice as long as the one before; -10 ends where they begin."""
    svg = drawn(BARS, [*values(10.0, 20.0, 40.0), {"group": "less", "value": -10.0}], VALUE)
    one, two, four, less = bars(svg)
    assert [two[2], four[2], less[2]] == pytest.approx([2 * one[2], 4 * one[2], one[2]])
    assert less[0] + less[2] == pytest.approx(one[0])
    assert {"10.0", "20.0", "40.0", "-10.0"} <= set(texts(svg))


def test_stacked_parts_stand_on_each_other_in_the_order_of_the_legend():
    """30 and 45 of 100: the second is one and a half times as long."""
    rows = [{"group": "Age", "value": v, "who": w} for v, w in ((30, "she"), (45, "he"))]
    svg = drawn(EVERY["stacked"][0], rows)
    (first,), (second,) = (bars(svg, colour) for colour in palette.COLOURS[:2])
    assert second[0] == pytest.approx(first[0] + first[2])
    assert second[2] == pytest.approx(1.5 * first[2])
    assert texts(svg).index("she") < texts(svg).index("he") and {"30", "45"} <= set(texts(svg))


def test_intervals_end_where_they_end():
    """Points at 0 and 10 give the scale: the interval of the first is from -5 to 2."""
    rows = values(0, 10)
    rows[0] |= {"low": -5, "high": 2}
    svg = drawn(POINTS._replace(reference=None), rows)
    (zero, _), (ten, _) = points(svg)
    (line,) = [node for node in nodes(svg, "line") if node.get("stroke") == palette.COLOURS[0]]
    (end, _), length = translated(line), float(line.get("x2"))
    unit = (ten - zero) / 10
    assert sorted([end, end + length]) == pytest.approx([zero - 5 * unit, zero + 2 * unit])
    assert "Lines: 95 % intervals" in texts(svg)


def test_a_null_value_is_shown_and_named():
    svg = drawn(POINTS, values(0, 10))
    (zero, _), _ = points(svg)
    (line,) = [node for node in nodes(svg, "line") if node.get("stroke-dasharray")]
    assert translated(line)[0] == pytest.approx(zero)
    assert "Dashed line: no bias (0)" in texts(svg)


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), "n/a", True])
def test_what_has_no_number_has_a_mark_and_no_bar(value):
    svg = drawn(BARS, values(10, value, 20))
    assert len(bars(svg)) == 2 and "×" in texts(svg) and "Without a number: 1" in texts(svg)
    svg = drawn(EVERY["scatter"][0], [{"x": 1, "y": 1}, {"x": value, "y": 1}])
    assert len(points(svg)) == 1 and "Without a number: 1" in texts(svg)


def test_a_masked_cell_is_blank_and_one_without_a_number_is_not():
    figure, rows = EVERY["heatmap"]
    svg = drawn(figure, [{**rows[0], "value": None}, {**rows[1], "value": None}, *rows[2:]])
    assert texts(svg).count("×") == 1 and "Without a number: 1" in " ".join(texts(svg))
    shown = [row["value"] for row in rows[2:] if not row["mask"]]
    assert {str(value) for value in shown} <= set(texts(svg))


def test_a_histogram_reaches_from_its_rows_beginning_to_their_end():
    """Bars from 0 to 10 and from 10 to 40, 5 and 10 high; Vega leaves a pixel between bars."""
    rows = [{"from": 0, "to": 10, "n": 5}, {"from": 10, "to": 40, "n": 10}]
    narrow, broad = bars(drawn(EVERY["histogram"][0], rows))
    assert broad[2] + 1 == pytest.approx(3 * (narrow[2] + 1), abs=1)
    assert broad[3] == pytest.approx(2 * narrow[3])


def test_boxes_have_their_five_numbers():
    """0, 10, 20, 50, 100: the box is from 10 to 50, the line from 0 to 100."""
    rows = [{"group": "Age", "a": 0, "b": 10, "c": 20, "d": 50, "e": 100}]
    svg = drawn(EVERY["boxes"][0]._replace(domain=(0, 100)), rows)
    (box,) = bars(svg)
    (line,) = [node for node in nodes(svg, "line") if node.get("stroke-width") == "1.5"]
    unit = box[2] / 40
    assert abs(float(line.get("x2"))) == pytest.approx(100 * unit)
    assert box[0] == pytest.approx(10 * unit)


# ---- Labels of points


def test_no_label_covers_another_or_a_point_and_the_outermost_have_theirs():
    """98 points. Labels and points are half transparent in a picture of them alone: where two lie
    over each other, less of the ground is seen. The points on the far left and right have their
    labels, and labels that are left out are counted."""
    image = pytest.importorskip("PIL.Image")
    made, rows = random.Random(2), []
    for i in range(98):
        x = made.gauss(3, 0.5)
        name = f"{'nameless'[: made.randint(1, 8)]} {'group'[: made.randint(0, 5)]} {i}"
        rows.append({"x": x, "y": 1.5 + 0.5 * x + made.gauss(0, 0.4), "name": name})
    svg = drawn(Figure("scatter", "x", "y", label="name"), rows, width=COLUMN)
    names = {row["name"] for row in rows}
    shown = [node for node in nodes(svg, "text") if node.text in names]
    left_out = int(re.search(r"Without room for its label: (\d+)", svg)[1])
    assert left_out == 98 - len(shown) < 75

    def darkest(labels):
        kept = [f'<text x="{x}" y="{y}" {look}>{text}</text>' for x, y, look, text in labels]
        page = f'<svg xmlns="http://www.w3.org/2000/svg" width="{COLUMN}" height="640">'
        picture = figures.drawing.call("svg_to_png", f"{page}{''.join(kept)}</svg>", scale=2)
        return image.open(io.BytesIO(picture)).getchannel("A").getextrema()[1]

    look = 'font-family="Arial, Liberation Sans" font-size="11" opacity=".5" text-anchor='
    places = [
        (*translated(node), f'{look}"{node.get("text-anchor")}"', node.text) for node in shown
    ]
    assert darkest(places) in (127, 128)
    assert darkest([*places, places[0]]) > 150  # over itself
    outermost = {end(rows, key=lambda row: row["x"])["name"] for end in (min, max)}
    assert outermost <= {node.text for node in shown}


# ---- Rows and panels


def test_text_is_no_expression_and_no_name_of_a_field():
    """Keys and values that mean something to Vega are shown as they are."""
    key = "a.b[0]'+alert(1)+'"
    rows = [{key: "datum.v'); alert('", "value": 1}, {key: "\\n' + 1", "value": 2}]
    svg = drawn(Figure("bars", key, "value"), rows)
    assert len(bars(svg)) == 2 and {"datum.v'); alert('", "\\n' + 1"} <= set(texts(svg))


def test_names_of_one_place_are_apart_however_alike_they_look():
    long = "a model with a name that is too long to be shown whole {} on an axis of a figure"
    rows = [{"group": long.format(i), "value": i} for i in (1, 2)]
    assert len(bars(drawn(BARS, rows))) == 2


def test_the_order_is_the_one_that_is_given():
    figure = BARS._replace(order={"group": ("Race", "Age", "none such")})
    labels = plan(exhibit(figure), values(1, 2, 3), None, PAGE).labels
    assert labels["name"] == ["Race", "Age", "Gender"]


@pytest.mark.parametrize(
    "more, series, panels",
    [
        ({"model": "colour"}, ["A", "B"], [""]),
        ({"model": "facet"}, [""], ["A", "B"]),
        ({"model": "colour", "colour": "who"}, ["x"], ["A", "B"]),
    ],
)
def test_models_are_told_apart_as_the_figure_says(more, series, panels):
    rows = [{**row, "model": model} for model in "AB" for row in values(1, 2, 3, who="x")]
    labels = plan(exhibit(BARS._replace(**more)), rows, "model", PAGE).labels
    assert (labels["series"], labels["panel"]) == (series, panels)


def test_each_of_ten_series_looks_its_own_and_one_without_a_number_is_named():
    rows = [{"group": "x", "who": f"model {i}", "value": i or None} for i in range(10)]
    svg = drawn(POINTS._replace(colour="who"), rows)
    assert {row["who"] for row in rows} <= set(texts(svg))
    signs = [(x.get("fill"), x.get("d")) for x in nodes(svg, "path")]
    signs = [sign for sign in signs if sign[0] in palette.COLOURS]
    assert len({*signs}) == len(signs) == 19  # the legend's are of another size


def test_each_panel_has_its_own_categories():
    rows = [{"group": f"{f}{i}", "value": i, "panel": f} for f in ("skin", "age") for i in range(3)]
    svg = drawn(POINTS._replace(facet="panel"), rows)
    assert sorted(text for text in texts(svg) if text.startswith(("skin", "age"))) == sorted(
        [row["group"] for row in rows] + ["skin", "age"]
    )


@pytest.mark.parametrize(
    "figure, rows, why",
    [
        (BARS, values(1) + values(2), "several rows have the same place in the figure"),
        (Figure("histogram", "from", "n", to="to"), [{"from": 1, "n": 2}], "no row has a number"),
        (BARS, values(1) * 6001, "it would have 6,001 marks, more than 6,000"),
    ],
)
def test_what_cannot_be_drawn_says_why(figure, rows, why):
    with pytest.raises(ValueError, match=f"^{re.escape(why)}$"):
        drawn(figure, rows)


@pytest.mark.parametrize("kind", EVERY)
def test_one_row_and_equal_numbers_are_drawn(kind):
    figure, rows = EVERY[kind]
    key = {"boxes": "c", "histogram": "n", "scatter": "y"}.get(kind, "value")
    for few in (rows[1:2], [{**row, key: 0} for row in rows]):
        assert "NaN" not in drawn(figure, few)


def test_colours_stand_out_on_both_pages():
    """By the contrast of WCAG 2."""

    def luminance(colour):
        shares = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares]
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True)) + 0.05

    assert luminance("#ffffff") / luminance("#000000") == pytest.approx(21)
    for colour in palette.COLOURS:
        assert luminance("#ffffff") / luminance(colour) >= 3
        assert luminance(colour) / luminance("#1c1c1b") >= 3
