"""Options of an endpoint."""

import json
import os
import subprocess

import pytest
from kit import COMMAND, run

import wireproof


def test_without_a_job_it_is_that_of_c_and_cpp():
    """Which is 0. Endpoints of two jobs see only silence."""
    ends = [
        wireproof.Endpoint.open(peers=["127.0.0.1:0" if node == self else None for node in range(2)], self=self, **job)
        for self, job in enumerate(({}, {"job": 0}))
    ]
    for self, end in enumerate(ends):
        end.set_peer_address(1 - self, ends[1 - self].address)

    async def main():
        a, b = ends
        async with a, b:
            b.handler(1)(lambda message: message.data)
            assert await a.request(1, 1, b"heard") == b"heard"

    run(main())


def test_each_option_reaches_the_library():
    (shown, hidden) = (
        wireproof.Endpoint.open(
            peers=["127.0.0.1:0"], self=0, congestion_control=control, congestion_algorithm=algorithm, publish_counters=shows
        )
        for control, algorithm, shows in (("always", "by_loss", True), ("never", "by_path", False))
    )
    said = subprocess.run([COMMAND, "stat", str(os.getpid()), "--json"], capture_output=True, text=True, check=True)
    addresses = {one["endpoint"]["address"] for one in json.loads(said.stdout)["endpoints"]}
    assert shown.address in addresses and hidden.address not in addresses
    shown.end()
    hidden.end()
    with pytest.raises(ValueError, match="congestion_control is 'no', none of between_hosts, always, never"):
        wireproof.Endpoint.open(peers=["127.0.0.1:0"], self=0, congestion_control="no")
    with pytest.raises(ValueError, match="congestion_algorithm is 'x', none of by_loss, by_path"):
        wireproof.Endpoint.open(peers=["127.0.0.1:0"], self=0, congestion_algorithm="x")
    for name in ("congestion", "peers", "self", "job"):
        with pytest.raises(TypeError, match=f"has no option {name}"):
            wireproof.Endpoint.join(**{name: 1})
    for option in ({"congestion_control": "no"}, {"congestion_algorithm": "x"}):
        with pytest.raises(ValueError, match="none of"):
            wireproof.Endpoint.join(**option)


def test_options_that_cannot_work_are_told_in_one_line():
    with pytest.raises(wireproof.Error) as told:
        wireproof.Endpoint.open(peers=["nowhere"], self=0)
    assert "\n" not in str(told.value) and "nowhere" in str(told.value)
    with pytest.raises(wireproof.Error):
        wireproof.Endpoint.open(peers=[], self=0)
    with pytest.raises(wireproof.Error):
        wireproof.Endpoint.open(peers=["127.0.0.1:0"], self=3)
    with pytest.raises(wireproof.Error):
        wireproof.Endpoint.open(peers=["127.0.0.1:0"], self=0, fault_loss=2.0)
