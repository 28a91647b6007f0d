"""Drawings of small exchanges."""

import base64
import re
import xml.etree.ElementTree

import pytest
from kit import SOURCE

import wireproof

SCENARIO = 'protocol = "pcie"\n[[traffic]]\nfrom = "A"\n'


def test_a_scenario_is_drawn_as_text_and_picture():
    ladder = wireproof.ladder(SCENARIO)
    assert ladder.frames == 2
    assert "---- TLP 0 -" in str(ladder)
    assert ladder._repr_svg_().startswith("<svg ")
    xml.etree.ElementTree.fromstring(ladder._repr_svg_())
    image = re.search(r'^<img src="data:image/svg\+xml;base64,([^"]+)" alt="[^"]+"', ladder._repr_html_())
    assert base64.b64decode(image[1]).decode() == ladder.svg


def test_a_scenario_may_be_a_file(tmp_path):
    file = tmp_path / "one.toml"
    file.write_text(SCENARIO)
    assert wireproof.ladder(file) == wireproof.ladder(SCENARIO) == wireproof.ladder(str(file))
    with pytest.raises(FileNotFoundError):
        wireproof.ladder(str(tmp_path / "none.toml"))


@pytest.mark.parametrize(
    "file", sorted((SOURCE / "wireproof/lab/ladder/scenarios").glob("*.toml")), ids=lambda f: f.stem
)
def test_every_scenario_of_the_command_is_drawn(file):
    assert wireproof.ladder(file).frames > 0


def test_a_mistake_has_its_place():
    with pytest.raises(wireproof.Error, match="^scenario:2:1: "):
        wireproof.ladder('protocol = "pcie"\nspeed = 3\n[[traffic]]\nfrom = "A"\n')


def test_the_first_failure_is_that_of_the_point():
    ladder = wireproof.first_failure("pcie", 1e-6)
    assert ladder.name == "pcie-first-failure" and ladder.frames == 12
    assert "==== TLP 1 =" in str(ladder)
    assert str(ladder) != str(wireproof.first_failure("pcie", 1e-6, seed=2))
    with pytest.raises(wireproof.Error, match="^ideal is a model and has no frames to draw$"):
        wireproof.first_failure("ideal", 1e-6)
