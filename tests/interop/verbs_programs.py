"""Shared by the tests of unmodified RDMA programs: runs a program with the libraries that are built here.

Each program runs as an ordinary user, with no right to open a raw socket.
"""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

from published import counters_of

LIMIT = 300  # seconds; it only catches a program that hangs
# For perftest's -u: the local ACK timeout is 34 s. No program waits so long for a processor. So a timeout shows a packet
# that nothing else recovered.
SELDOM = "23"
NOBODY = "65534"
library = None  # the folder of the libraries, readable by every user
keep = None


def set_up(folder, programs, package):
    """Copies the libraries to a folder that the ordinary user can read. Skips the tests if a program is missing."""
    global library, keep
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        raise unittest.SkipTest(f"{package} is not installed: {', '.join(missing)}")
    keep = tempfile.TemporaryDirectory()
    os.chmod(keep.name, 0o755)
    for built in pathlib.Path(folder).glob("*.so*"):
        if not built.is_symlink() or built.name == "libibverbs.so.1":
            shutil.copy(built, keep.name)
    library = keep.name
    runtime = pathlib.Path(library) / "runtime"
    runtime.mkdir(mode=0o700)
    if os.geteuid() == 0:
        os.chown(runtime, int(NOBODY), int(NOBODY))


def tear_down():
    if keep:
        keep.cleanup()


def as_user(command):
    if os.geteuid() != 0:
        return command
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *command]


def environment(**more):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("WIREPROOF_")}
    return {**clean, "LD_LIBRARY_PATH": library, **more}


def hooked(**more):
    """For programs that also look for the device beside verbs. These tests have a folder of their own for services."""
    return environment(LD_PRELOAD=f"{library}/libwireproof-hooks.so", XDG_RUNTIME_DIR=f"{library}/runtime", **more)


def take_first_address():
    """Starts a program that takes 127.0.0.1, so that no other program has it. The caller must end it."""
    program, _ = start_server(["ibv_rc_pingpong", "-g", "1"])
    return program


def start(command, env=None):
    return subprocess.Popen(as_user(command), env=env or environment(), text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def run(command, env=None, limit=LIMIT):
    """Exit code and output. If the program does not end within the limit, it is killed and the test fails."""
    process = start(command, env)
    try:
        output, _ = process.communicate(timeout=limit)
    finally:
        end(process)
    return process.returncode, output


def end(process):
    if process.poll() is None:
        process.kill()
    if not process.stdout.closed:
        process.communicate()


def free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def listens(port, process="self"):
    """Whether a program listens to the port in the network namespace of this process."""
    wanted = f":{port:04X} "
    for table in (f"/proc/{process}/net/tcp", f"/proc/{process}/net/tcp6"):
        try:
            lines = pathlib.Path(table).read_text().splitlines()
        except OSError:
            continue
        if any(wanted in line and line.split()[3] == "0A" for line in lines):
            return True
    return False


def start_server(command, env=None):
    """Starts a server and waits until it listens. Returns the server and the port."""
    port = free_port()
    server = start([*command, "-p", str(port)], env)
    wait_for(server, port)
    return server, port


def wait_for(server, port):
    limit = time.monotonic() + LIMIT
    while not listens(port):
        if server.poll() is not None or time.monotonic() > limit:
            server.kill()
            raise AssertionError(f"{server.args}: no server: {server.communicate()[0]}")
        time.sleep(0.01)


def services():
    """The services of rdma_cm of the user's programs that have the hooks."""
    folder = pathlib.Path(library) / "runtime" / "wireproof"
    return [one.name for one in folder.iterdir() if not one.name.startswith(".")] if folder.exists() else []


def wait_for_service(port, process, space="0106"):
    limit = time.monotonic() + LIMIT
    while not any(name.endswith(f"-{space}-{port}") for name in services()):
        if process.poll() is not None or time.monotonic() > limit:
            end(process)
            raise AssertionError(f"no server: {process.args}: {process.stdout.read()}")
        time.sleep(0.01)


def converse(command, env=None, client_env=None, limit=LIMIT):
    """Exit codes and outputs of both sides, the server's first."""
    server, port = start_server(command, env)
    try:
        client = run([*command, "-p", str(port), "127.0.0.1"], client_env or env, limit)
        output, _ = server.communicate(timeout=limit)
    finally:
        end(server)
    return (server.returncode, output), client


class Counted(dict):
    """The counters of a device at one moment, by name."""

    def sum_of(self, name):
        """Of all queue pairs."""
        return sum(value for key, value in self.items() if re.fullmatch(rf"queue_pairs\.\d+\.{name}", key))


def counted_until(command, env, reached):
    """Runs both sides, which must not end by themselves. Returns their counters as soon as `reached` is true for them,
    the server's first."""
    server, port = start_server(command, env)
    client = start([*command, "-p", str(port), "127.0.0.1"], env)
    try:
        return counted_when((server, client), reached)
    finally:
        end(client)
        end(server)


def counted_when(processes, reached):
    """The counters of these processes as soon as `reached` is true for them."""
    limit = time.monotonic() + LIMIT
    while True:
        counters = [Counted(counters_of(process.pid)) for process in processes]
        if all(counters) and reached(*counters):
            return counters
        for process in processes:
            if process.poll() is not None or time.monotonic() > limit:
                process.kill()
                raise AssertionError(f"{process.args}: {process.communicate()[0]}{counters}")
        time.sleep(0.005)
