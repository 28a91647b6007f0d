"""Curves of a sweep: those that the command draws."""

import subprocess

import pytest
from kit import COMMAND

import wireproof

GRID = """
packets = 2000
[grid]
protocol = ["pcie", "flit", "ideal"]
ber = { from = 1e-7, to = 1e-5, points = 5 }
payload = [512, 940]
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    file = tmp_path_factory.mktemp("curve") / "grid.toml"
    file.write_text(GRID)
    return file


@pytest.fixture(scope="module")
def result(file):
    return wireproof.sweep(file)


def test_the_picture_is_that_of_the_command(file, result, tmp_path):
    subprocess.run([COMMAND, "sweep", str(file), "--svg", "curves.svg"], cwd=tmp_path, capture_output=True, check=True)
    result.curve().save(tmp_path / "mine.svg")
    assert (tmp_path / "mine.svg").read_text() == (tmp_path / "curves.svg").read_text()


def test_a_notebook_shows_it_as_a_picture(result):
    curve = result.curve()
    assert curve._repr_svg_().startswith("<svg ")
    assert curve._repr_html_().startswith('<img src="data:image/svg+xml;base64,')


def test_stopped_points_are_left_out():
    grid = {"protocol": "pcie", "ber": [1e-6, 1e-5], "packets": 1000}
    result = wireproof.sweep(grid)
    result.points[1]["stopped"] = True
    assert result.curve().svg == wireproof.sweep({**grid, "ber": [1e-6]}).curve().svg
    result.points[0]["stopped"] = True
    with pytest.raises(wireproof.Error, match="there are no points to draw"):
        result.curve()
