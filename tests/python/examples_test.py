"""The examples print what they promise."""

import subprocess
import sys

from kit import PATIENCE, SOURCE


def printed(name, folder):
    run = subprocess.run(
        [sys.executable, str(SOURCE / "examples" / name)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    assert run.stderr == ""
    return run.stdout.splitlines()


def test_an_endpoint(tmp_path):
    assert printed("python_endpoint.py", tmp_path) == [
        "b'2121'",
        r"b'at the peer\x00\x00\x00\x00\x00'",
        "b'peer'",
    ]


def test_a_sweep(tmp_path):
    lines = printed("python_sweep.py", tmp_path)
    assert lines[-1] == "flit carries more from a bit error rate of 3.1623e-06 on"
    assert (tmp_path / "curves.svg").read_text().startswith("<svg ")
