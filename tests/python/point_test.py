"""Points and their figures."""

import dataclasses
import os
import signal
import subprocess
import sys
import threading

import pytest
from kit import PATIENCE

import wireproof


def test_a_point_is_that_of_its_arguments():
    figures = wireproof.point("pcie", 1e-6, packets=20_000, seed=3)
    assert figures.packets == 20_000
    assert figures == wireproof.point(protocol="pcie", bit_error_rate=1e-6, packets=20_000, seed=3)
    assert figures != wireproof.point("pcie", 1e-6, packets=20_000, seed=4)
    assert 0.9 < figures.etr < 1 and figures.unit_bytes == 4096 + 28
    assert abs(figures.deviation) < 5
    assert figures.latency_p50_bytes <= figures.latency_p99_bytes <= figures.latency_max_bytes
    with pytest.raises(dataclasses.FrozenInstanceError):
        figures.etr = 1


@pytest.mark.parametrize(
    "change",
    [
        {"bit_error_rate": 4e-6},
        {"clean_back": True},
        {"notice_loss": 0.5},
        {"payload": 2048},
        {"loop": 20_000},
        {"buffer": 1},
        {"ack_every": 2},
        {"timer": 60_000},
        {"renak_on_bad_head": True},
        {"loaded_back": True},
        {"bursts": wireproof.Bursts(0.01, 0.5, 0.5)},
        {"protocol": "ideal"},
        {"seed": 2},
        {"packets": 49_999},
    ],
)
def test_every_argument_reaches_the_simulation(change):
    plain = {"protocol": "pcie", "bit_error_rate": 3e-6, "packets": 50_000}
    assert wireproof.point(**plain | change) != wireproof.point(**plain)


def test_jump_and_ends_are_followed():
    jumped = wireproof.point("pcie", 1e-9, packets=300_000)
    lived = wireproof.point("pcie", 1e-9, packets=300_000, jump=False)
    assert jumped.jumped > 0 and lived.jumped == 0
    assert jumped.resend_ratio == lived.resend_ratio
    assert wireproof.point("pcie", 1e-6, relative_error=0.1).relative_error <= 0.1
    assert wireproof.point("pcie", 1e-9, packets_max=1000).packets == 1000


def test_what_does_not_exist_is_none():
    figures = wireproof.point("pcie", 0.0, packets=1000)
    assert figures.relative_error is None and figures.deviation is None
    assert wireproof.point("pcie", 1e-6, packets=1000, loaded_back=True).closed_etr is None


def test_a_mistake_is_told_in_one_line():
    with pytest.raises(wireproof.Error, match="^no protocol is called tcp; there are pcie, ") as told:
        wireproof.point("tcp")
    assert told.value.status == "failed"
    with pytest.raises(wireproof.Error, match="^payload of pcie is 1 to 4096$"):
        wireproof.point("pcie", payload=5000)
    with pytest.raises((TypeError, RuntimeError)):
        wireproof.point("pcie", payload=-1)


LONG = {"bit_error_rate": 1e-3, "packets": 10**15}  # it would take days


def test_progress_is_a_share_and_may_end_the_point():
    shares = []

    def progress(share):
        shares.append(share)
        if len(shares) == 3:
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        wireproof.point("pcie", **LONG, progress=progress)
    assert len(shares) == 3 and all(0 <= share <= 1 for share in shares)


def test_ctrl_c_ends_a_point():
    with pytest.raises(KeyboardInterrupt):  # by itself the point would end after days
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        wireproof.point("pcie", **LONG)


def test_other_threads_run_during_a_point():
    """The GIL is released: this thread goes on while others simulate what would take days."""
    program = f"""
import os, threading, time, wireproof
for _ in range(3):
    threading.Thread(target=lambda: wireproof.point("pcie", **{LONG!r}), daemon=True).start()
for _ in range(20):
    time.sleep(0.01)
os.write(1, b"went on")
os._exit(0)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=PATIENCE, check=True)
    assert ran.stdout == b"went on"


def test_the_protocols_are_listed():
    names = wireproof.point_protocols()
    assert "pcie" in names and "ideal" in names
    for name in names:
        assert wireproof.point(name, 1e-6, payload=32, packets=100).packets == 100
