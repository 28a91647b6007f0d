"""Searches and random worlds, and that they are those of the command."""

import base64
import json
import os
import signal
import subprocess
import threading

import pytest
from kit import COMMAND

import wireproof


def of_command(*options):
    run = subprocess.run(
        [COMMAND, "search", *options, "--json", "--no-timing"], capture_output=True, text=True
    )
    assert run.returncode in (0, 1), run.stderr
    return json.loads(run.stdout)


def assert_same(found, shown):
    assert found.verdict == shown["verdict"]
    assert found.violation == shown["violation"]
    assert (found.states, found.edges) == (shown["states"], shown["edges"])
    assert (found.path, found.circle) == (shown["path"], shown["circle"])


@pytest.mark.parametrize("protocol", wireproof.search_protocols())
def test_a_search_is_that_of_the_command(protocol):
    found = wireproof.search(protocol, window=2, messages=1, faults=1)
    shown = of_command(protocol, "--window", "2", "--messages", "1", "--faults", "1")
    assert_same(found, shown)
    assert found.holds and found.counterexample is None and found.scenario is None
    assert str(found).startswith(f"{protocol}: holds; {found.states} states")


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ({"protocol": "hippi6400", "rule": "literal", "damage": False}, "hippi6400 --rule literal --no-damage"),
        (
            {"protocol": "sp-am", "recovery": "selective", "both_ways": True, "faults": 1, "messages": 1},
            "sp-am --recovery selective --both-ways --faults 1 --messages 1",
        ),
        (
            {"protocol": "pcie", "modulus": 6, "window": 2, "in_flight": 3, "messages": 4},
            "pcie --modulus 6 --window 2 --in-flight 3 --messages 4",
        ),
        (
            {"protocol": "sp-am", "messages": 1, "duplicates": False, "reorder": False, "early_timers": True},
            "sp-am --messages 1 --no-duplicates --no-reorder --early-timers",
        ),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_every_argument_is_an_option_of_the_command(arguments, options):
    assert_same(wireproof.search(**arguments), of_command(*options.split()))


def test_a_counterexample_shows_itself(tmp_path):
    found = wireproof.search("hippi6400", rule="literal", damage=False)
    assert not found.holds and found.violation
    drawn = found.counterexample
    assert drawn.frames > 3 and drawn.svg.startswith("<svg ")
    assert found.text in str(found) and found.violation in str(found)
    page = found._repr_html_()
    assert page.startswith("<pre>hippi6400: ") and "<style>" not in page
    picture = page.split("base64,")[1].split('"')[0]
    assert base64.b64decode(picture).decode() == drawn.svg
    # The file that the command writes is this scenario.
    file = tmp_path / "found.toml"
    of_command("hippi6400", "--rule", "literal", "--no-damage", "--out", str(file))
    assert file.read_text() == found.scenario
    assert wireproof.ladder(file) == drawn


def test_a_search_may_be_limited_and_stopped():
    found = wireproof.search("pcie", states_max=50)
    assert found.verdict == "too_many_states" and not found.holds and found.violation is None

    def progress(share):
        raise KeyError(share)

    with pytest.raises(KeyError):
        wireproof.search("pcie", progress=progress)
    large = {"window": 4, "messages": 100, "in_flight": 6, "both_ways": True, "any_faults": True}
    interrupt = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        interrupt.start()
        wireproof.search("pcie", **large, states_max=20_000_000)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"protocol": "tcp"}, "no protocol is called tcp; there are pcie, "),
        ({"window": 17}, "window is 1 to 16"),
        ({"faults": 101}, "faults is 0 to 100"),
        ({"protocol": "hippi6400", "rule": "x"}, "rule: there is no x; there are status-null, literal"),
        ({"recovery": "selective"}, "recovery is only of sp-am"),
    ],
)
def test_what_cannot_be_searched_is_told_in_one_line(arguments, text):
    with pytest.raises(wireproof.Error, match="^" + text):
        wireproof.search(**arguments)


def test_a_limit_of_faults_is_not_any_number():
    with pytest.raises(ValueError, match="either there is a limit of faults"):
        wireproof.search(faults=1, any_faults=True)


@pytest.mark.parametrize("protocol", ["sp-am", "rc", "uc", "ib"])
def test_a_random_world_is_that_of_the_command(protocol):
    run = subprocess.run(
        [COMMAND, "soak", "--protocol", protocol, "--worlds", "1", "--seed", "4711", "--json"],
        capture_output=True,
        check=True,
    )
    shown = json.loads(run.stdout)
    world = wireproof.world(protocol, 4711)
    assert world.violation is None and world.what
    assert (world.operations, world.frames) == (shown["operations"], shown["frames"])
    assert int(world.controlled) == shown["congestion_controlled"]
    assert world == wireproof.world(protocol, 4711) != wireproof.world(protocol, 4712)
    assert wireproof.world(protocol, 4711, "off").controlled is False


def test_a_world_that_does_not_exist_is_told():
    with pytest.raises(wireproof.Error, match="^there are worlds of sp-am, rc, uc and ib, not of tcp$"):
        wireproof.world("tcp")
