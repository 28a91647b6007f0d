#!/usr/bin/env python3
"""The laboratory as a job: sweep, soak and search started by launchers. WIREPROOF is the command.

The results of a job are those of one process, even if ranks die.
"""
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

from clean import MPIRUN, clean_environment

WIREPROOF = os.environ["WIREPROOF"]
PATIENCE = 300  # seconds; it only catches a job that hangs
POINTS = 200
GRID = """
seed = 7
packets = {packets}
[grid]
protocol = ["pcie", "hippi6400", "rc", "ideal"]
ber = {{ from = 1e-7, to = 1e-5, points = 10 }}
payload = [128, 256, 512, 1024, 2048]
"""
# A rank writes its process number, so that a test can kill it. exec: it stays the same.
KNOWN = 'echo $$ > pid.new.$WIREPROOF_RANK; mv pid.new.$WIREPROOF_RANK pid.$WIREPROOF_RANK; exec "$@"'


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="wireproof-lab-")
        self.addCleanup(shutil.rmtree, self.folder)
        # The tests may run in a job of some launcher themselves.
        self.environment = clean_environment()
        self.packets = 12_000
        self.write("grid.toml", GRID.format(packets=self.packets))

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name="grid.results"):
        with open(self.path(name), "rb") as file:
            return file.read()

    def lines(self, name="grid.results"):
        return self.read(name).count(b"\n") if os.path.exists(self.path(name)) else 0

    def start(self, *words, **environment):
        process = subprocess.Popen([*words], cwd=self.folder, env={**self.environment, **environment}, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()

    def run_words(self, *words, code=0, error="", **environment):
        process = self.start(*words, **environment)
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, err), (code, error), out)
        return out

    def alone(self, *words, **how):
        return self.run_words(WIREPROOF, *words, **how)

    def launch(self, ranks, *words, **how):
        return self.run_words(WIREPROOF, "launch", "-n", str(ranks), "--", WIREPROOF, *words, **how)

    def start_known(self, ranks, *words):
        """A job whose processes a test can find: the launcher."""
        for rank in range(ranks):
            if os.path.exists(self.path(f"pid.{rank}")):
                os.remove(self.path(f"pid.{rank}"))
        return self.start(WIREPROOF, "launch", "--keep-going", "-n", str(ranks), "--", "sh", "-c", KNOWN, "sh",
                          WIREPROOF, *words)

    def wait_for(self, what):
        end = time.monotonic() + PATIENCE
        while not what():
            self.assertLess(time.monotonic(), end, "it did not happen")
            time.sleep(0.001)

    def pid(self, rank):
        self.wait_for(lambda: os.path.exists(self.path(f"pid.{rank}")))
        return int(self.read(f"pid.{rank}"))

    def make_longer(self):
        """For a test that was too late: the points of the sweep take four times as long."""
        self.packets *= 4
        self.write("grid.toml", GRID.format(packets=self.packets))
        for name in os.listdir(self.folder):
            if name.endswith(".results"):
                os.remove(self.path(name))

    def wholly(self):
        """The results file of a sweep without a job. It is removed."""
        self.alone("sweep", "grid.toml")
        whole = self.read()
        self.assertEqual(self.lines(), POINTS)
        os.remove(self.path("grid.results"))
        return whole


class SweepJob(Case):
    def test_the_results_of_every_job_are_those_of_one_process(self):
        whole = self.wholly()
        table = self.alone("sweep", "grid.toml")
        for ranks in (2, 4):
            with self.subTest(launch=ranks):
                os.remove(self.path("grid.results"))
                self.assertEqual(self.launch(ranks, "sweep", "grid.toml"), table)
                self.assertEqual(self.read(), whole)
                self.assertEqual(sorted(os.listdir(self.folder)), ["grid.results", "grid.toml"])

    def test_of_mpirun(self):
        if shutil.which(MPIRUN[0]) is None:
            self.skipTest("there is no mpirun")
        whole = self.wholly()
        for ranks in (1, 2, 4):
            with self.subTest(ranks):
                self.run_words(*MPIRUN, "-n", str(ranks), WIREPROOF, "sweep", "grid.toml")
                self.assertEqual(self.read(), whole)
                os.remove(self.path("grid.results"))

    def test_parts_of_a_slurm_array_and_a_job_for_the_rest_are_one_sweep(self):
        whole = self.wholly()
        array = {"SLURM_ARRAY_TASK_MIN": "10", "SLURM_ARRAY_TASK_COUNT": "5"}
        self.alone("sweep", "grid.toml", SLURM_ARRAY_TASK_ID="13", **array)
        # A task of the array may be a job itself.
        self.launch(2, "sweep", "grid.toml", SLURM_ARRAY_TASK_ID="14", **array)
        self.launch(2, "sweep", "grid.toml")
        self.assertEqual(self.read(), whole)

    def test_on_udp_the_results_are_the_same(self):
        whole = self.wholly()
        peers = ",".join(f"127.77.1.2:{port}" for port in (7491, 7492, 7493))
        others = [self.start(WIREPROOF, "sweep", "grid.toml", WIREPROOF_PEERS=peers, WIREPROOF_RANK=str(rank))
                  for rank in (1, 2)]
        self.alone("sweep", "grid.toml", WIREPROOF_PEERS=peers, WIREPROOF_RANK="0")
        for other in others:
            self.assertEqual((*other.communicate(timeout=PATIENCE), other.returncode), ("", "", 0))
        self.assertEqual(self.read(), whole)

    def test_a_file_that_makes_no_sense_is_told_once(self):
        self.write("grid.toml", "[grid]\nspeed = 3\n")
        process = self.start(WIREPROOF, "launch", "-n", "3", "--", WIREPROOF, "sweep", "grid.toml")
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, out), (1, ""), err)
        told = [line for line in err.splitlines() if "rank 0 ended" not in line]
        self.assertEqual(len(told), 1, err)
        self.assertIn("grid.toml:2:1: ", told[0])

    def test_all_ranks_must_run_one_program(self):
        process = self.start(WIREPROOF, "launch", "-n", "2", "--", "sh", "-c",
                             'test $WIREPROOF_RANK = 0 && exec "$0" soak --worlds 9999; exec "$0" sweep grid.toml',
                             WIREPROOF)
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, out), (1, ""), err)
        self.assertRegex(err, r"^wireproof: rank 1 runs wireproof \S+ sweep, but rank 0 runs wireproof \S+ soak\n"
                              r"(wireproof: rank 0 ended with .*\n)?$")

    def test_ranks_without_a_job_do_not_all_do_the_same(self):
        process = self.start(WIREPROOF, "sweep", "grid.toml", OMPI_COMM_WORLD_RANK="1", OMPI_COMM_WORLD_SIZE="3")
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, out, err.count("\n")), (1, "", 1), err)
        self.assertIn("cannot join the job: ", err)
        self.assertFalse(os.path.exists(self.path("grid.results")))

    def test_variables_that_plain_programs_have_too_are_told_and_join_no_job(self):
        """torchrun sets these. It must be named."""
        process = self.start(WIREPROOF, "soak", "--worlds", "2", RANK="1", WORLD_SIZE="2")
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, err)
        self.assertIn("2 worlds from seed", out)
        self.assertEqual(err.count("\n"), 1, err)
        self.assertIn("WORLD_SIZE is 2, but this process joins no job", err)
        process = self.start(WIREPROOF, "soak", "--worlds", "2", RANK="1", WORLD_SIZE="2", WIREPROOF_LAUNCHER="torchrun")
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, out), (1, ""))
        self.assertIn("torchrun: WIREPROOF_TOKEN is not set", err)

    def test_a_terminal_shows_the_speed_and_the_ranks(self):
        self.write("grid.toml", GRID.format(packets=100_000))
        screen, terminal = pty.openpty()
        process = subprocess.Popen([WIREPROOF, "launch", "-n", "2", "--", WIREPROOF, "sweep", "grid.toml"],
                                   cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=terminal)
        os.close(terminal)
        shown = b""
        try:
            while block := os.read(screen, 4096):
                shown += block
        except OSError:  # the last writer has closed the terminal
            pass
        os.close(screen)
        self.assertEqual(process.wait(timeout=PATIENCE), 0)
        self.assertRegex(shown.decode(), r"points \[=* *\] +\d+ %  [\d.]+ (k )?points/s.*  2 ranks")


class RankDies(Case):
    def begin(self, ranks, *, kill, with_launcher=False):
        """Starts a job, and kills these ranks before it has ended. Returns the launcher."""
        for _ in range(6):
            launcher = self.start_known(ranks, "sweep", "grid.toml")
            pids = [self.pid(rank) for rank in range(ranks)]
            self.wait_for(lambda: self.lines() > 20 or launcher.poll() is not None)
            victims = [pids[rank] for rank in kill] + ([launcher.pid] if with_launcher else [])
            for pid in victims:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass  # the job has ended
            if self.lines() < POINTS:
                return launcher
            launcher.communicate(timeout=PATIENCE)
            self.make_longer()
        self.fail("the ranks died too late")

    def expect_results_of_one_process(self):
        results = self.read()
        os.remove(self.path("grid.results"))
        self.assertEqual(results, self.wholly())

    def test_its_points_are_simulated_by_others(self):
        launcher = self.begin(3, kill=[2])
        _, err = launcher.communicate(timeout=PATIENCE)
        self.assertEqual(launcher.returncode, 128 + signal.SIGKILL, err)
        self.expect_results_of_one_process()

    def test_rank_0_goes_on_alone(self):
        launcher = self.begin(3, kill=[1, 2])
        _, err = launcher.communicate(timeout=PATIENCE)
        self.assertEqual(launcher.returncode, 128 + signal.SIGKILL, err)
        self.expect_results_of_one_process()

    def test_without_rank_0_the_others_end_and_the_next_job_goes_on(self):
        launcher = self.begin(3, kill=[0])
        _, err = launcher.communicate(timeout=PATIENCE)
        told = sorted(line for line in err.splitlines() if "assigns the work" in line)
        self.assertEqual(told, [f"wireproof: rank {rank}: rank 0, which assigns the work, was lost (node 0 is gone)"
                                for rank in (1, 2)], err)
        self.launch(2, "sweep", "grid.toml", error=self.notice_of_a_torn_line())
        self.expect_results_of_one_process()

    def notice_of_a_torn_line(self):
        torn = not self.read().endswith(b"\n")
        return "wireproof: grid.results: the last line is incomplete and was dropped\n" if torn else ""

    def test_a_job_that_was_killed_goes_on(self):
        launcher = self.begin(3, kill=[0, 1, 2], with_launcher=True)
        launcher.communicate(timeout=PATIENCE)
        self.launch(4, "sweep", "grid.toml", error=self.notice_of_a_torn_line())
        self.expect_results_of_one_process()


def checked(results):
    """The lines, each with the CRC-32 of its text in its last field."""
    bodies = [line.rpartition(b',"check":')[0] for line in results.splitlines()]
    return b"".join(b'%s,"check":"%08x"}\n' % (body, zlib.crc32(body)) for body in bodies)


class OneRunOneFile(Case):
    def stopped(self, results, **environment):
        """A sweep that is stopped while it writes. If it ended before, it is made longer."""
        for _ in range(6):
            first = self.start(WIREPROOF, "sweep", "grid.toml", **environment)
            self.wait_for(lambda: self.lines(results) > 2 or first.poll() is not None)
            first.send_signal(signal.SIGSTOP)
            if first.poll() is None:
                return first
            self.make_longer()
        self.fail("the sweep ended before it was stopped")

    def test_a_second_run_fails_at_once_while_the_first_writes(self):
        first = self.stopped("grid.results")
        before = self.read()
        busy = "wireproof: grid.results: another run is writing it\n"
        self.alone("sweep", "grid.toml", code=1, error=busy)
        process = self.start(WIREPROOF, "launch", "-n", "2", "--", WIREPROOF, "sweep", "grid.toml")
        _, err = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, err.count(busy)), (1, 1), err)
        self.assertEqual(self.read(), before)
        first.send_signal(signal.SIGCONT)
        _, err = first.communicate(timeout=PATIENCE)
        self.assertEqual((first.returncode, err, self.lines()), (0, "", POINTS))

    def test_a_part_is_not_read_while_a_run_writes_it(self):
        second = self.stopped("grid.2-of-2.results", SLURM_ARRAY_TASK_ID="1", SLURM_ARRAY_TASK_COUNT="2")
        self.alone("sweep", "grid.toml", code=1, error="wireproof: grid.2-of-2.results: another run is writing it\n")
        second.send_signal(signal.SIGCONT)
        second.communicate(timeout=PATIENCE)
        self.alone("sweep", "grid.toml")
        self.assertEqual(self.lines(), POINTS)

    def test_an_incomplete_line_is_dropped_and_told(self):
        whole = self.wholly()
        lines = whole.splitlines(keepends=True)
        with open(self.path("grid.results"), "wb") as file:
            file.write(b"".join(lines[:150]) + lines[150][:33])
        self.alone("sweep", "grid.toml", error="wireproof: grid.results: the last line is incomplete and was dropped\n")
        self.assertEqual(self.read(), whole)

    def test_results_of_another_sweep_seed_or_version_are_left_alone(self):
        whole = self.wholly()
        lines = whole.splitlines(keepends=True)
        self.assertIn(b'"version":"wireproof ', lines[0])
        grid = GRID.format(packets=self.packets)
        other = {"sweep": (grid.replace("128, ", ""), whole), "seed": (grid.replace("seed = 7", "seed = 8"), whole),
                 "version": (grid, checked(whole.replace(b'"version":"wireproof ', b'"version":"wireproof 9'))),
                 "old": (grid, checked(whole.replace(b',"version":"wireproof ', b',"by":"wireproof ')))}
        for name, (grid, results) in other.items():
            for torn in (b"", lines[0][:40]):
                with self.subTest(name, torn=torn):
                    self.write("grid.toml", grid)
                    with open(self.path("grid.results"), "wb") as file:
                        file.write(results + torn)
                    process = self.start(WIREPROOF, "sweep", "grid.toml")
                    out, err = process.communicate(timeout=PATIENCE)
                    self.assertEqual((process.returncode, out, err.count("\n")), (1, "", 1), err)
                    self.assertRegex(err, r"^wireproof: grid.results:\d+: ")
                    self.assertIn("another version" if name in ("version", "old") else "no point of this sweep", err)
                    self.assertEqual(self.read(), results + torn)


class SoakJob(Case):
    def test_the_worlds_are_those_of_one_process(self):
        for arguments in (("--worlds", "90", "--json"), ("--worlds", "90"), ("--worlds", "60", "--protocol", "ib"),
                          ("--worlds", "40", "--protocol", "ue-llr")):
            with self.subTest(arguments):
                words = ("soak", "--seed", "4711", "--no-timing", *arguments)
                self.assertEqual(self.launch(3, *words), self.alone(*words))

    def test_its_seed_is_that_of_rank_0(self):
        shown = json.loads(self.launch(2, "soak", "--worlds", "9", "--json"))
        self.assertEqual((shown["worlds"], shown["failed"]), (9, 0))

    def test_it_ends_when_its_time_is_over(self):
        shown = json.loads(self.launch(2, "soak", "--seconds", "1", "--json"))
        self.assertEqual(shown["failed"], 0)


class SearchJob(Case):
    LIST = """# three searches
pcie --messages 3
hippi6400 --rule literal --no-damage   # refuted

sp-am --messages 1 --faults 1
"""

    def test_a_list_is_answered_in_its_order(self):
        self.write("list.txt", self.LIST)
        for extra in ((), ("--json",)):
            words = ("search", "--tasks", "list.txt", "--no-timing", *extra)
            alone = self.alone(*words, code=1)
            process = self.start(WIREPROOF, "launch", "-n", "3", "--", WIREPROOF, *words)
            out, _ = process.communicate(timeout=PATIENCE)
            self.assertEqual((process.returncode, out), (1, alone))
        shown = json.loads(alone)
        self.assertEqual(shown["schema"], "wireproof.search_list/1")
        self.assertEqual([one["verdict"] for one in shown["searches"]], ["holds", "stuck", "holds"])
        single = json.loads(self.alone("search", "pcie", "--messages", "3", "--no-timing", "--json"))
        self.assertEqual(shown["searches"][0], single)

    def test_a_line_that_makes_no_sense_is_named(self):
        for line, word in (("tcp", "PROTOCOL"), ("pcie --window 99", "--window"), ("pcie --out a", "--out"),
                           ("pcie --rule literal", "--rule"), ("--window 2", "PROTOCOL")):
            with self.subTest(line):
                self.write("list.txt", "pcie\n" + line + "\n")
                process = self.start(WIREPROOF, "search", "--tasks", "list.txt")
                out, err = process.communicate(timeout=PATIENCE)
                self.assertEqual((process.returncode, out, err.count("\n")), (1, "", 1), err)
                self.assertIn("list.txt:2: ", err)
                self.assertIn(word, err)

    def test_a_list_excludes_options_of_a_search(self):
        self.write("list.txt", self.LIST)
        for words in (("pcie",), ("--window", "3"), ("--out", "found.toml")):
            process = self.start(WIREPROOF, "search", *words, "--tasks", "list.txt")
            _, err = process.communicate(timeout=PATIENCE)
            self.assertEqual((process.returncode, err.count("\n")), (2, 1), err)
            self.assertIn("--tasks", err)

    def test_a_search_that_is_not_finished_is_named(self):
        self.write("list.txt", "pcie --messages 2\npcie --states 10\n")
        process = self.start(WIREPROOF, "search", "--tasks", "list.txt", "--no-timing")
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 1, err)
        self.assertIn("holds: ", out)
        self.assertEqual(err, "wireproof: list.txt:2: not finished: there are more than 10 states (--states)\n")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
