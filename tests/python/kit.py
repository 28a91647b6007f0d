"""For the tests of the package."""

import asyncio
import json
import os
import pathlib
import subprocess

import wireproof

SOURCE = pathlib.Path(os.environ["WIREPROOF_SOURCE"])
COMMAND = os.environ["WIREPROOF"]
SWEEPS = SOURCE / "docs" / "sweeps"
PATIENCE = 300  # seconds; it only catches what hangs


def command_sweep(file, folder, *options):
    """What the command finds for a sweep file: the JSON of the whole sweep."""
    run = subprocess.run(
        [COMMAND, "sweep", str(file), "--json", "--no-timing", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(run.stdout)


def without_time(point):
    """The command also tells how long a point took."""
    return {k: v for k, v in point.items() if k not in ("wall_seconds", "frames_per_second")}


def pair(job=0, nodes=2, **options):
    """Two endpoints or more on UDP, on ports that the system chooses, which know each other. A peer whose thread gets
    no processor is not lost, unless the options say so."""
    options.setdefault("peer_timeout", 24 * 3600)
    ends = [
        wireproof.Endpoint.open(
            peers=["127.0.0.1:0" if node == self else None for node in range(nodes)],
            self=self,
            job=job or os.getpid(),
            **options,
        )
        for self in range(nodes)
    ]
    for end in ends:
        for peer, other in enumerate(ends):
            if other is not end:
                end.set_peer_address(peer, other.address)
    return ends


def run(coroutine):
    """Runs it in a loop of its own. No error of the loop may get lost."""
    errors = []

    async def main():
        asyncio.get_running_loop().set_exception_handler(lambda _loop, what: errors.append(what))
        async with asyncio.timeout(PATIENCE):
            return await coroutine

    result = asyncio.run(main())
    assert not errors, errors
    return result
