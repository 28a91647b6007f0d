"""Runs the command for the tests beside this file. Each run has a time limit, uses only the loopback
interface, and leaves no process and no file behind."""
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import jsonschema

WIREPROOF = os.environ.get("WIREPROOF", "wireproof")
SCHEMAS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "schemas")
PATIENCE = 300  # seconds; it only catches a run that hangs


class Ended:
    """The exit code and the output of a finished command."""

    def __init__(self, code, out, err):
        self.code, self.raw, self.err = code, out, err.decode(errors="replace")
        self.out = out.decode(errors="replace")

    def lines_of_error(self):
        return self.err.splitlines()


def is_running(number):
    try:
        with open(f"/proc/{number}/stat", encoding="ascii", errors="replace") as stat:
            # A container without an init process keeps the entries of orphans that have ended.
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def kill_if_there(number):
    if is_running(number):
        os.kill(number, signal.SIGKILL)


CARRYING = ("carry", "send", "recv")  # they have the options of a transfer


class Case(unittest.TestCase):
    """A test with its own folder. Its commands end when it ends."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="wireproof-cli-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def file(self, size, name="file.bin"):
        """Writes random bytes, so that the test notices a piece in a wrong place."""
        with open(self.path(name), "wb") as file:
            file.write(os.urandom(size))
        return self.path(name)

    def long_run(self):
        """Returns the arguments of a transfer that takes much longer than a test waits."""
        with open(self.path("long.bin"), "wb") as file:
            file.truncate(256 << 20)
        return [self.path("long.bin"), "--loss", "0.3", "--mtu", "200"]

    @staticmethod
    def environment():
        """That of the test, without the configuration of the user who runs it. A peer that waits for a processor is
        silent, too: where a test says nothing else, it is not given up."""
        patient = {f"WIREPROOF_{subcommand}_PEER_TIMEOUT": str(PATIENCE) for subcommand in map(str.upper, CARRYING)}
        return {**os.environ, "XDG_CONFIG_HOME": "/nonexistent", **patient}

    def start(self, *arguments, **streams):
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, "env": self.environment(), **streams}
        # A shell that runs the tests in the background may have set SIGINT to be ignored.
        process = subprocess.Popen(
            [WIREPROOF, *arguments], cwd=self.folder, **streams,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        self.addCleanup(self.put_away, process)
        return process

    def until(self, condition, process):
        """Returns as soon as the condition is true. Fails if the process ends before."""
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end, "it does not begin")
            self.assertIsNone(process.poll(), "the run was too short for this test")
            time.sleep(0.005)

    def until_it_catches(self, process, number):
        """Returns when the process catches the signal. A start may take any time."""
        self.until(lambda: number in signals_caught(process.pid), process)

    @staticmethod
    def put_away(process):
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=PATIENCE)  # a program that was left behind may hold the pipe

    def finish(self, process, patience=PATIENCE):
        out, err = process.communicate(timeout=patience)
        return Ended(process.returncode, out or b"", err or b"")

    def run_command(self, *arguments, **streams):
        return self.finish(self.start(*arguments, **streams))

    def sweep_part(self, number, parts, *arguments):
        """Runs `sweep` as task `number` of a Slurm array with `parts` tasks, which count from 1."""
        array = {"ID": number, "COUNT": parts, "MIN": 1, "MAX": parts, "STEP": 1}
        slurm = {"SLURM_ARRAY_TASK_" + name: str(value) for name, value in array.items()}
        return self.run_command("sweep", *arguments, env={**self.environment(), **slurm})

    def run_json(self, subcommand, *arguments):
        ended = self.run_command(subcommand, "--json", *arguments)
        return ended, one_object(ended)

    def expect_failure(self, ended, code, *words):
        """Expects one clear line and this exit code."""
        self.assertEqual(ended.code, code, ended.err)
        self.assertEqual(len(ended.lines_of_error()), 1, ended.err)
        for word in ("wireproof: ", *words):
            self.assertIn(word, ended.err)

    def expect_no_part_left(self, *kept):
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(kept))

    def same_bytes(self, left, right):
        with open(left, "rb") as a, open(right, "rb") as b:
            self.assertTrue(a.read() == b.read(), f"{left} and {right} differ")


def child_of(process):
    """Returns the process number of the child as soon as there is one."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{entry}/stat", encoding="ascii", errors="replace") as stat:
                    parent = int(stat.read().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue  # it has just ended
            if parent == process.pid:
                return int(entry)
        time.sleep(0.01)
    raise AssertionError("the command started no child")


def signals_caught(number):
    """Their numbers; none of a process that is gone."""
    try:
        with open(f"/proc/{number}/status", encoding="ascii", errors="replace") as file:
            caught = int(dict(line.split(":\t") for line in file)["SigCgt"], 16)
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [bit + 1 for bit in range(64) if caught >> bit & 1]


def bytes_written(number):
    with open(f"/proc/{number}/io", encoding="ascii") as file:
        return int(dict(line.split(": ") for line in file)["wchar"])


def free_port(host="127.0.0.1"):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.bind((host, 0))
        return probe.getsockname()[1]


def one_object(ended):
    """Expects one JSON object on standard output and returns it. NaN and Infinity are errors."""
    def no_constant(name):
        raise AssertionError(f"{name} is no plain finite number")
    assert ended.out.count("\n") == 1 and ended.out.endswith("\n"), ended.out
    value = json.loads(ended.out, parse_constant=no_constant)
    assert isinstance(value, dict)
    fits_its_schema(value)
    return value


def fits_its_schema(value):
    """Expects what the file in schemas/ says, and no other member. The file itself allows others, because a later
    version may add them."""
    name = value["schema"].removeprefix("wireproof.").replace("/", "-")
    with open(os.path.join(SCHEMAS, name + ".json"), encoding="utf-8") as file:
        schema = json.load(file)
    wrong = [f"{error.json_path}: {error.message}"
             for error in jsonschema.Draft202012Validator(no_other_member(schema)).iter_errors(value)]
    assert not wrong, f"{name}: {wrong}"


def no_other_member(schema):
    if isinstance(schema, list):
        return [no_other_member(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: no_other_member(value) for key, value in schema.items()}
    if schema.get("type") == "object" and "properties" in schema:
        closed.setdefault("additionalProperties", False)
    return closed
