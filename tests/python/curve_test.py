"""Curves of a sweep."""

import re
import xml.etree.ElementTree

import pytest

import wireproof
from wireproof._curve import draw

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def result():
    return wireproof.sweep(
        {
            "protocol": ["pcie", "ideal"],
            "ber": {"from": 1e-7, "to": 1e-5, "points": 5},
            "payload": [512, 4096],
            "packets": 2000,
        }
    )


def parsed(curve):
    return xml.etree.ElementTree.fromstring(curve._repr_svg_())


def test_each_combination_of_the_other_settings_is_a_curve(result):
    curve = result.curve("ber", "etr")
    assert sorted(curve.curves) == [
        "ideal, payload 4096",
        "ideal, payload 512",
        "pcie, payload 4096",
        "pcie, payload 512",
    ]
    for points in curve.curves.values():
        assert [x for x, _, _ in points] == [1e-7, 3.1623e-7, 1e-6, 3.1623e-6, 1e-5]
    picture = parsed(curve)
    assert curve._repr_html_().startswith('<img src="data:image/svg+xml;base64,')
    classes = [one.get("class") for one in picture.iter(f"{SVG}path")]
    assert sum(c.startswith("form ") for c in classes) == 4  # the closed forms
    assert sum(1 for _ in picture.iter(f"{SVG}circle")) == 20


def test_values_are_those_of_the_points(result):
    points = result.curve("ber", "throughput").curves["pcie, payload 512"]
    rows = [p for p in result if p["protocol"] == "pcie" and p["payload"] == 512]
    assert [(x, y) for x, y, _ in points] == [(p["ber"], p["throughput"]) for p in rows]


def test_the_axes_have_names_and_units(result):
    texts = [one.text for one in parsed(result.curve("ber", "etr")).iter(f"{SVG}text")]
    assert "bit error rate" in texts and "ETR in %" in texts
    assert {"1e-7", "1e-6", "1e-5"} <= set(texts)  # it is logarithmic
    assert {"80", "90"} & set(texts)  # per cent
    texts = [one.text for one in parsed(result.curve("payload", "latency_p50")).iter(f"{SVG}text")]
    assert "payload in bytes" in texts
    assert "latency of 50 % of units, in bytes on the line" in texts


def test_an_axis_is_logarithmic_if_it_is_asked(result):
    texts = [t.text for t in parsed(result.curve("ber", "etr", log_x=False)).iter(f"{SVG}text")]
    assert "1e-7" not in texts
    assert "ideal, payload 512" in texts


def test_it_has_light_and_dark_colours(result):
    assert "@media (prefers-color-scheme:dark)" in result.curve().svg


def test_it_is_saved(result, tmp_path):
    result.curve().save(tmp_path / "curve.svg")
    assert (tmp_path / "curve.svg").read_text().startswith("<svg ")


def test_a_column_that_does_not_exist_is_named(result):
    with pytest.raises(KeyError, match="there is no column 'speed'"):
        result.curve("ber", "speed")


def test_points_that_cannot_be_drawn_are_left_out():
    curves = {"": [(0.0, 1.0, None), (1e-6, 0.5, None), (1e-3, 0.0, None), (1e-2, 0.25, 0.3)]}
    picture = xml.etree.ElementTree.fromstring(draw("a", "ber", "resend_ratio", curves, True, True).svg)
    assert sum(1 for _ in picture.iter(f"{SVG}circle")) == 2


@pytest.mark.parametrize(
    "curves",
    [
        {},
        {"": []},
        {"one": [(1.0, 1.0, None)]},
        {"flat": [(1.0, 0.0, None), (2.0, 0.0, None)]},
        {"huge": [(1e300, -1e300, None), (-1e300, 1e300, None)]},
        {"tiny": [(1e-17, 1e-17, None), (1.0000001e-17, 1e-17, None)]},
        {"near": [(1e15, 1e15, None), (1e15 + 1, 1e15 + 1, None)]},
        {f"curve {i}": [(1.0, float(i), None), (2.0, float(i), None)] for i in range(20)},
    ],
    ids=["none", "empty", "one", "flat", "huge", "tiny", "near", "many"],
)
def test_any_values_can_be_drawn(curves):
    svg = draw("a & b", "x", "y", curves, None, None).svg
    picture = xml.etree.ElementTree.fromstring(svg)
    assert "nan" not in svg and "inf" not in svg
    width, height = float(picture.get("width")), float(picture.get("height"))
    for circle in picture.iter(f"{SVG}circle"):
        assert 0 <= float(circle.get("cx")) <= width and 0 <= float(circle.get("cy")) <= height
    marks = [t for t in picture.iter(f"{SVG}text") if re.fullmatch(r"[-0-9.e+]+", t.text or "")]
    assert 2 <= len(marks) < 40
