"""Sweeps, and that they are those of the command."""

import csv
import json
import os
import signal
import subprocess
import threading
import time

import numpy
import pandas
import pytest
from kit import COMMAND, PATIENCE, SWEEPS, command_sweep, without_time

import wireproof

EVERY_KIND = """
seed = 11
packets = 3000
[grid]
protocol = [
    "pcie", "hippi6400", "flit", "flit-selective", "ue-llr", "cxl-llr", "sp-am", "rc", "uc", "go-back-n", "ideal"
]
ber = { from = 1e-7, to = 1e-5, points = 4 }
payload = [60, 940]
fec = ["on", "off"]
[line]
clean_back = true
"""
PRESETS = """
relative_error = 0.1
[grid]
preset = ["pcie-gen5-x16", "sp2", "ue-llr-800g-40m"]
ber = [1e-8, 1e-6]
"""


def presets_text():
    shown = json.loads(
        subprocess.run([COMMAND, "sweep", "--presets", "--json"], capture_output=True, check=True).stdout
    )
    names = [preset["preset"] for preset in shown["presets"]]
    return f'relative_error = 0.2\n[grid]\npreset = {json.dumps(names)}\nber = [1e-7]\n'


def assert_same(result, shown):
    """Value by value; the types, too."""
    assert result.seed == shown["seed"]
    assert len(result) == len(shown["points"])
    for mine, theirs in zip(result, map(without_time, shown["points"])):
        assert list(mine) == list(theirs)
        assert mine == theirs
        assert json.dumps(mine) == json.dumps(theirs)


@pytest.mark.parametrize("text", [EVERY_KIND, presets_text], ids=["protocols", "presets"])
def test_the_results_are_those_of_the_command(text, tmp_path):
    file = tmp_path / "grid.toml"
    file.write_text(text() if callable(text) else text)
    shown = command_sweep(file, tmp_path)
    assert len(shown["points"]) > 10
    assert_same(wireproof.sweep(file), shown)
    assert_same(wireproof.sweep(str(file), workers=1), shown)


def test_a_sweep_of_the_documents_is_that_of_the_command(tmp_path):
    shown = command_sweep(SWEEPS / "payload.toml", tmp_path)
    assert_same(wireproof.sweep(SWEEPS / "payload.toml"), shown)


def test_options_are_those_of_the_command(tmp_path):
    file = tmp_path / "grid.toml"
    file.write_text('[grid]\nprotocol = ["pcie", "flit"]\nber = [1e-5]\npayload = [940]\n')
    shown = command_sweep(file, tmp_path, "--seed", "99", "--packets", "1234")
    assert_same(wireproof.sweep(file, seed=99, packets=1234), shown)


def test_a_dict_gives_the_points_of_the_file(tmp_path):
    file = tmp_path / "grid.toml"
    file.write_text('packets = 500\n[grid]\nprotocol = ["pcie", "ideal"]\nber = [1e-6, 1e-5]\n')
    grid = {"protocol": ["pcie", "ideal"], "ber": [1e-6, 1e-5], "packets": 500}
    assert wireproof.sweep(grid).points == command_points(file, tmp_path)


def command_points(file, folder):
    return [without_time(point) for point in command_sweep(file, folder)["points"]]


def test_the_columns_are_those_of_the_csv(tmp_path):
    file = tmp_path / "grid.toml"
    file.write_text(EVERY_KIND)
    subprocess.run(
        [COMMAND, "sweep", str(file), "--csv", "grid.csv"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    with open(tmp_path / "grid.csv", newline="") as opened:
        rows = list(csv.DictReader(opened))
    result = wireproof.sweep(file)
    names = [name for name in rows[0] if name not in ("preset", "goodput", "stopped")]
    assert [name for name in result.columns if name in rows[0]] == names
    frame = result.to_pandas()
    assert list(frame.columns) == result.columns and len(frame) == len(rows)
    array = result.to_numpy()
    assert list(array.dtype.names) == result.columns and len(array) == len(rows)
    for index, row in enumerate(rows):
        for name in names:
            value = result.column(name)[index]
            assert json.dumps(value).strip('"') == (row[name] or "null").strip('"'), (name, row)
            if value is None:
                assert pandas.isna(frame[name][index])
                assert numpy.isnan(array[name][index])
            else:
                assert frame[name][index] == value
                assert array[name][index] == value


def test_presets_have_columns_with_their_units():
    result = wireproof.sweep('packets = 100\n[grid]\npreset = ["pcie-gen5-x16"]\nber = [1e-8]\n')
    assert result.column("preset") == ["pcie-gen5-x16"]
    assert result.column("goodput") == [result[0]["line"]["goodput"]]
    assert result.column("line_latency_ns_p50") == [result[0]["line"]["latency_ns"]["p50"]]
    assert result.to_numpy()["preset"][0] == "pcie-gen5-x16"
    with pytest.raises(KeyError, match="there is no column 'speed'; there are protocol, "):
        result.column("speed")


def test_a_result_depends_on_no_order():
    grid = {"protocol": ["pcie", "flit"], "ber": [1e-6, 1e-5], "payload": [256, 940], "packets": 3000}
    whole = wireproof.sweep(grid)
    assert wireproof.sweep(grid, workers=5) == whole
    for point in whole:
        alone = {**grid, "protocol": point["protocol"], "ber": point["ber"], "payload": point["payload"]}
        assert wireproof.sweep(alone).points == [point]


def test_progress_counts_points():
    seen = []
    wireproof.sweep({"ber": [1e-6, 1e-5, 1e-4], "packets": 10}, progress=lambda *now: seen.append(now))
    assert seen == [(1, 3), (2, 3), (3, 3)]


LONG = {"ber": [1e-5, 2e-5, 3e-5, 4e-5], "packets": 10**15}  # each would take days


def test_what_progress_raises_ends_the_sweep():
    def progress(_done, _of):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        wireproof.sweep({**LONG, "ber": [0, *LONG["ber"]]} | {"packets": 10**12}, progress=progress)


def test_ctrl_c_ends_all_threads_of_a_sweep():
    before = threading.active_count()
    interrupt = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        interrupt.start()
        wireproof.sweep(LONG, workers=3)
    interrupt.join()
    end = time.monotonic() + PATIENCE
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert threading.active_count() <= before


def test_a_point_that_takes_too_long_is_stopped():
    result = wireproof.sweep(LONG, point_seconds=0.2, workers=4)
    assert [point["stopped"] for point in result] == [True] * 4
    assert all(point["packets"] < 10**15 for point in result)
    assert list(result.to_numpy()["stopped"]) == [True] * 4
    limited = wireproof.sweep({**LONG, "ber": [1e-5], "point_seconds": 0.2})
    assert limited[0]["stopped"]


def test_a_result_shows_itself():
    result = wireproof.sweep({"protocol": ["pcie", "flit"], "payload": 940, "ber": 1e-5, "packets": 500})
    page = result._repr_html_()
    assert page.startswith("<table>") and page.count("<tr>") == 3
    assert "<th>etr</th>" in page and "<td>flit</td>" in page
    assert "<th>goodput</th>" not in page
    lines = str(result).splitlines()
    assert len(lines) == 3 and lines[1].startswith("pcie ")
    assert repr(result) == "<SweepResult 'sweep': 2 points, seed 1>"


def test_a_name_cannot_break_the_table():
    result = wireproof.sweep({"ber": 1e-5, "packets": 10, "name": "<script>alert(1)<|script>"})
    assert "<script>" not in result._repr_html_()
    assert "<script>" not in result.curve()._repr_html_()
