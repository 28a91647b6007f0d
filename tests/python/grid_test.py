"""Grids: as dicts, texts and files."""

import numpy
import pytest
from kit import SWEEPS

import wireproof
from wireproof._grid import spec_of, toml_of


def points_of(grid, **options):
    return wireproof.sweep(grid, packets=50, **options).points


def test_a_dict_becomes_the_file_that_the_command_reads():
    grid = {
        "seed": 7,
        "protocol": ["pcie", "ideal"],
        "bit_error_rate": {"from": 1e-9, "to": 1e-5, "points": 3},
        "payload": range(256, 1025, 256),
        "loaded_back": False,
        "notice_loss": 0.25,
        "bursts": {"begin": 1e-6, "end": 0.1},
    }
    assert toml_of(grid)[0] == (
        "seed = 7\n"
        "[grid]\n"
        'protocol = ["pcie", "ideal"]\n'
        'ber = { "from" = 1e-09, "to" = 1e-05, "points" = 3 }\n'
        "payload = [256, 512, 768, 1024]\n"
        "loaded_back = false\n"
        "[line]\n"
        "notice_loss = 0.25\n"
        'bursts = { "begin" = 1e-06, "end" = 0.1 }\n'
    )
    assert spec_of(grid).sweep().points == 2 * 3 * 4


def test_arrays_of_numpy_are_lists():
    grid = {"protocol": "pcie", "ber": numpy.logspace(-7, -5, 3), "payload": numpy.int32(512)}
    points = points_of(grid)
    assert [point["ber"] for point in points] == list(numpy.logspace(-7, -5, 3))
    assert {point["payload"] for point in points} == {512}


def test_the_order_of_the_grid_is_that_of_the_file():
    grid = {"ber": [1e-6, 1e-5], "payload": [256, 512]}
    assert [(p["payload"], p["ber"]) for p in points_of(grid)] == [
        (256, 1e-6),
        (256, 1e-5),
        (512, 1e-6),
        (512, 1e-5),
    ]


@pytest.mark.parametrize(
    ("grid", "text"),
    [
        ({"ber": [0.5]}, r"grid\['ber'\]: a bit error rate is 0, or 1e-17 to 0.1"),
        ({"ber": 1e-6, "speed": 3}, r"grid\['speed'\]: unknown key \"speed\" in \[grid\]"),
        ({"ber": 1e-6, "lanes": 99}, r"grid\['lanes'\]: "),
        ({"protocol": "tcp"}, r"grid\['protocol'\]: \"protocol\" must be "),
        ({"protocol": "pcie", "payload": 5000}, r"grid\['payload'\]: pcie with a payload of 5000 bytes: "),
        ({"a b\n": 3}, r"grid\['a b\\n'\]: unknown key"),
        ("[grid]\nber = 2\n", "grid:2:7: a bit error rate is 0, or 1e-17 to 0.1"),
    ],
)
def test_a_mistake_has_its_place(grid, text):
    with pytest.raises(wireproof.Error, match="^" + text):
        wireproof.sweep(grid)


@pytest.mark.parametrize("value", [{1, 2}, None, object(), 1j, b"pcie"])
def test_a_value_that_is_none_of_a_grid_is_named(value):
    with pytest.raises(TypeError, match=r"^grid\['protocol'\]: "):
        wireproof.sweep({"protocol": value})


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_is_not_finite_is_refused(value):
    with pytest.raises(ValueError, match=r"^grid\['ber'\]: "):
        wireproof.sweep({"ber": [value]})


def test_a_mistake_in_a_file_names_the_file(tmp_path):
    file = tmp_path / "wrong.toml"
    file.write_text("[grid]\nber = 1e-6\nspeed = 2\n")
    with pytest.raises(wireproof.Error) as told:
        wireproof.sweep(file)
    assert str(told.value).startswith(f"{file}:3:1: ")
    with pytest.raises(FileNotFoundError):
        wireproof.sweep(tmp_path / "none.toml")
    file.write_text("#" * ((1 << 20) + 1))
    with pytest.raises(wireproof.Error, match="is longer than 1 MiB$"):
        wireproof.sweep(file)


def test_options_replace_what_the_grid_says():
    grid = {"ber": 1e-5, "seed": 4, "packets": 1000}
    result = wireproof.sweep(grid)
    assert result.seed == 4 and result[0]["packets"] == 1000
    assert wireproof.sweep(grid, seed=4) == result
    assert wireproof.sweep(grid, seed=5) != result
    assert wireproof.sweep(grid, packets=77)[0]["packets"] == 77
    close = {"ber": 1e-5}
    assert wireproof.sweep(close, relative_error=0.2)[0]["packets"] < wireproof.sweep(close)[0]["packets"]
    with pytest.raises(wireproof.Error, match="^a relative error is 0.0001 to 0.5$"):
        wireproof.sweep(grid, relative_error=7)


def test_recorded_losses_are_beside_the_file(tmp_path):
    (tmp_path / "cable.trace").write_text("ok 99\nbad\n")
    file = tmp_path / "lossy.toml"
    file.write_text('packets = 1000\n[grid]\nber = 0\n[line]\nloss_trace = "cable.trace"\n')
    result = wireproof.sweep(file)
    assert result.name == "lossy" and result[0]["resent"] >= 10
    assert "loss_trace" in result[0]["asked"]
    again = wireproof.sweep({"ber": 0, "packets": 1000, "loss_trace": tmp_path / "cable.trace"})
    assert again[0]["resent"] == result[0]["resent"]
    (tmp_path / "cable.trace").write_text("ok 99\nno\n")
    with pytest.raises(wireproof.Error, match="^cable.trace:2:1: "):
        wireproof.sweep(file)


@pytest.mark.parametrize("file", sorted(SWEEPS.glob("*.toml")), ids=lambda f: f.stem)
def test_every_sweep_of_the_documents_is_read(file):
    assert spec_of(file).sweep().points > 10
