"""Sweeps on a cluster of Dask: three worker processes on this host."""

import contextlib
import os
import signal
import threading
import time

import pytest
from distributed import Client, LocalCluster
from kit import PATIENCE, SWEEPS, command_sweep, without_time

import wireproof


@contextlib.contextmanager
def cluster(workers=3):
    with LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        host="127.0.0.1",
    ) as made, Client(made) as client:
        client.wait_for_workers(workers, timeout=PATIENCE)
        yield client


@pytest.fixture(scope="module")
def two_workers():
    """A cluster takes seconds to start, so tests that do no harm share one."""
    with cluster(2) as client:
        yield client


def pids(client):
    return list(client.run(os.getpid).values())


def test_a_worker_that_is_killed_changes_nothing(tmp_path):
    file = SWEEPS / "which-protocol.toml"
    shown = command_sweep(file, tmp_path)
    with cluster() as client:
        victim = pids(client)[1]
        killed = []

        def progress(done, of):
            if done >= of // 4 and not killed:
                os.kill(victim, signal.SIGKILL)
                killed.append((done, of))

        result = wireproof.sweep(file, client, progress=progress)
        assert killed and killed[0][0] < killed[0][1] / 2
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:  # the scheduler may not yet know that it is gone
                if victim not in pids(client):
                    break
            except OSError:
                pass
            time.sleep(0.1)
        else:
            pytest.fail("the worker that was killed is still there")
    assert result.points == [without_time(point) for point in shown["points"]]
    assert result.seed == shown["seed"]


def test_the_number_of_workers_changes_nothing_and_each_works(two_workers):
    grid = {"protocol": ["pcie", "ideal"], "ber": {"from": 1e-7, "to": 1e-5, "points": 10}}
    assert wireproof.sweep(grid, two_workers) == wireproof.sweep(grid)
    logs = two_workers.run(lambda dask_worker: len(dask_worker.data))
    assert len(logs) == 2


def test_a_mistake_is_told_before_any_task():
    class Nobody:
        def map(self, *_arguments, **_options):
            raise AssertionError("a task was made")

    with pytest.raises(wireproof.Error, match="a bit error rate is"):
        wireproof.sweep({"ber": 3}, Nobody())


def test_an_error_of_a_task_comes_back_as_itself(two_workers):
    error = two_workers.submit(_fail)
    with pytest.raises(wireproof.PeerLost, match="^nobody there$") as told:
        error.result()
    assert told.value.status == "peer_lost"
    assert threading.current_thread() is threading.main_thread()


def test_an_exception_ends_the_sweep_and_its_tasks(two_workers):
    def progress(_done, _of):
        raise KeyError("enough")

    grid = {"ber": [0, *(i * 1e-6 for i in range(10, 60))], "packets": 10**10}
    with pytest.raises(KeyError, match="enough"):
        wireproof.sweep(grid, two_workers, progress=progress, point_seconds=2)
    end = time.monotonic() + PATIENCE
    while any(two_workers.processing().values()) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(two_workers.processing().values())


def _fail():
    raise wireproof.PeerLost("nobody there")
