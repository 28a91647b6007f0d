"""One binary, examples/hello_job, under each launcher. Each rank greets each other rank, and says how their frames
travel.

The environment names the programs: WIREPROOF, HELLO_JOB, TRAFFIC_RANK.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import slurm
from clean import MPIRUN, clean_environment
from sshd import Sshd

HELLO = os.environ["HELLO_JOB"]
TRAFFIC = os.environ["TRAFFIC_RANK"]
THREADS = os.environ["THREADS_RANK"]
PATIENCE = 300  # seconds; it only catches a job that hangs
GREETED = re.compile(r"rank (\d+) of (\d+) greeted rank (\d+): (.*)")
SHM = "shared memory"
ONE_HOST = "udp on one host"


def run(command, env=None):
    return subprocess.run(command, text=True, capture_output=True, timeout=PATIENCE, check=False,
                          stdin=subprocess.DEVNULL, env={**clean_environment(), **(env or {})})


def begin(command, env=None):
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            env={**clean_environment(), **(env or {})})


def need(*programs):
    for program in programs:
        if shutil.which(program) is None:
            raise unittest.SkipTest(f"{program} is not installed")


class Case(unittest.TestCase):
    def paths(self, ended):
        """How the frames of each pair of ranks travel, as the ranks said."""
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        found = GREETED.findall(ended.stdout)
        paths = {(int(rank), int(peer)): path for rank, _, peer, path in found}
        self.assertEqual(len(paths), len(found), ended.stdout)
        return paths

    def all_share_memory(self, ended, size):
        pairs = [(rank, peer) for rank in range(size) for peer in range(size) if rank != peer]
        self.assertEqual(self.paths(ended), {pair: SHM for pair in pairs})

    def two_hosts(self, ended):
        """Ranks 0 and 1 are on one host, 2 and 3 on another."""
        pairs = [(rank, peer) for rank in range(4) for peer in range(4) if rank != peer]
        self.assertEqual(self.paths(ended), {(rank, peer): SHM if rank // 2 == peer // 2 else ONE_HOST
                                             for rank, peer in pairs})


LOST = re.compile(r"rank (\d+) lost rank (\d+) after (\d+) ms: (\w+), (.*)")
PEER_TIMEOUT = 10_000  # ms; a rank that waits so long for a processor would be lost, too


class Dying(Case):
    """One rank kills itself amid the traffic. The others learn it by the callback."""

    def losses(self, ended, dies):
        """By rank: after what silence of the dead rank, in ms, how it was noticed, and the path to it."""
        found = [(int(rank), int(peer), int(ms), why, path) for rank, peer, ms, why, path in LOST.findall(ended.stdout)]
        losses = {rank: (ms, why, path) for rank, peer, ms, why, path in found if peer == dies}
        self.assertEqual(sorted({*losses, dies}), list(range(4)), ended.stdout + ended.stderr)
        return losses

    def check(self, losses):
        for rank, (ms, why, path) in losses.items():
            with self.subTest(rank):
                # On shared memory, the kernel tells it. Elsewhere, only silence does.
                self.assertEqual(why, "gone" if path == SHM else "silent")
                if path != SHM:
                    self.assertGreaterEqual(ms, PEER_TIMEOUT - 100)


class OneHost(Dying):
    def test_of_wireproof_launch(self):
        for size in (1, 2, 4):
            with self.subTest(size):
                self.all_share_memory(run([os.environ["WIREPROOF"], "launch", "-n", str(size), "--", HELLO]), size)

    def test_of_mpirun(self):
        need(MPIRUN[0])
        for size in (1, 2, 4):
            with self.subTest(size):
                self.all_share_memory(run([*MPIRUN, "-n", str(size), HELLO]), size)

    def test_of_mpirun_beside_mpi_in_one_process(self):
        need(MPIRUN[0])
        program = os.environ.get("MPI_RANK")
        if program is None:
            raise unittest.SkipTest("no MPI to build with")
        for order in ("first", "last"):
            with self.subTest(order):
                ended = run([*MPIRUN, "-n", "3", program, order])
                self.assertEqual((ended.returncode, ended.stderr), (0, ""))
                self.assertEqual(sorted(ended.stdout.splitlines()),
                                 [f"rank {rank} is node {rank}: sums 3 and 3" for rank in range(3)])

    def test_of_addresses_in_the_environment(self):
        env = {"WIREPROOF_PEERS": "127.77.1.1:7481,127.77.1.1:7482"}
        other = begin([HELLO], {**env, "WIREPROOF_RANK": "1"})
        self.addCleanup(other.kill)
        self.assertEqual(self.paths(run([HELLO], {**env, "WIREPROOF_RANK": "0"})), {(0, 1): "udp"})
        output, _ = other.communicate(timeout=PATIENCE)
        self.assertEqual((other.returncode, output), (0, "rank 1 of 2 greeted rank 0: udp\n"))

    def test_a_rank_that_is_killed_is_lost_at_once(self):
        ended = run([os.environ["WIREPROOF"], "launch", "-n", "4", "--keep-going", "--", TRAFFIC, "2", str(PEER_TIMEOUT)])
        self.assertEqual(ended.returncode, 137, ended.stdout + ended.stderr)
        losses = self.losses(ended, 2)
        self.check(losses)
        self.assertEqual({path for _, _, path in losses.values()}, {SHM})

    def test_without_keep_going_a_rank_that_is_killed_ends_all(self):
        """If the launcher did not end them, they would wait for the peer timeout, much longer than the test."""
        ended = run([os.environ["WIREPROOF"], "launch", "-n", "4", "--", TRAFFIC, "2", str(10_000 * PATIENCE)])
        self.assertEqual(ended.returncode, 137, ended.stdout + ended.stderr)

    def test_two_jobs_at_a_time_do_not_mix(self):
        command = [os.environ["WIREPROOF"], "launch", "-n", "3", "--", HELLO]
        jobs = [begin(command) for _ in range(3)]
        for job in jobs:
            self.addCleanup(job.kill)
        for job in jobs:
            output, _ = job.communicate(timeout=PATIENCE)
            self.all_share_memory(subprocess.CompletedProcess(command, job.returncode, output, ""), 3)

    def test_without_a_launcher_it_says_what_it_tried(self):
        ended = run([HELLO])
        self.assertEqual((ended.returncode, ended.stdout), (1, ""))
        self.assertEqual(ended.stderr.count("\n"), 1, ended.stderr)
        for word in ("PMIx", "PMI2", "WIREPROOF_RENDEZVOUS", "Slurm", "Open MPI", "WIREPROOF_PEERS"):
            self.assertIn(word, ended.stderr)

    def test_a_rank_that_never_comes_is_an_error(self):
        command = f'[ $WIREPROOF_RANK = 1 ] && exit 3; exec "{HELLO}"'
        ended = run([os.environ["WIREPROOF"], "launch", "-n", "2", "--keep-going", "--", "sh", "-c", command])
        self.assertEqual(ended.returncode, 3, ended.stderr)
        self.assertRegex(ended.stderr, "(?m)^hello_job: .*rank 1 has ended")

    def test_a_rank_that_cannot_join_tells_the_others(self):
        command = f'[ $WIREPROOF_RANK = 1 ] && export WIREPROOF_INTERFACE=no-such; exec "{HELLO}"'
        ended = run([os.environ["WIREPROOF"], "launch", "-n", "3", "--keep-going", "--", "sh", "-c", command])
        self.assertEqual(ended.returncode, 1, ended.stderr)
        why = "WIREPROOF_INTERFACE: no-such is no interface of this host\n"
        self.assertEqual(ended.stderr.count(f"hello_job: rank 1: {why}"), 2, ended.stderr)
        self.assertEqual(ended.stderr.count(f"hello_job: {why}"), 1, ended.stderr)

    def test_each_thread_is_a_node(self):
        for threads in (1, 3):
            with self.subTest(threads):
                ended = run([os.environ["WIREPROOF"], "launch", "-n", "2", "--", THREADS, str(threads)])
                self.all_share_memory(ended, 2 * threads)

    def test_each_process_has_as_many_threads(self):
        ended = run([os.environ["WIREPROOF"], "launch", "-n", "2", "--keep-going", "--", "sh", "-c",
                     f'exec "{THREADS}" $((1 + $WIREPROOF_RANK))'])
        self.assertEqual(ended.returncode, 1)
        self.assertIn("threads_rank: rank 1: it has 2 threads, and this process has 1\n", ended.stderr)
        self.assertIn("threads_rank: rank 0: it has 1 threads, and this process has 2\n", ended.stderr)

    def test_ranks_share_no_memory_for_which_they_have_no_descriptors(self):
        """256 descriptors are for the program, so here are two: each rank shares memory with two others."""
        ended = run([os.environ["WIREPROOF"], "launch", "-n", "4", "--", "sh", "-c", f'ulimit -n 258; exec "{HELLO}"'])
        pairs = [(rank, peer) for rank in range(4) for peer in range(4) if rank != peer]
        self.assertEqual(self.paths(ended), {pair: ONE_HOST if 3 in pair else SHM for pair in pairs})


class Namespaces(Dying):
    """Two network namespaces, as two hosts. The ranks of each share memory."""

    addresses = ("10.92.0.1", "10.92.0.2")

    def setUp(self):
        if os.geteuid() != 0:
            raise unittest.SkipTest("network namespaces are made by root")
        need("ip")
        self.hosts = [f"wj{os.getpid()}{side}" for side in "ab"]
        for host in self.hosts:
            made = subprocess.run(["ip", "netns", "add", host], capture_output=True, text=True, check=False)
            if made.returncode != 0:
                raise unittest.SkipTest(f"no network namespace can be made: {made.stderr}")
            self.addCleanup(subprocess.run, ["ip", "netns", "delete", host], check=True)
        self.ip("link", "add", "va", "netns", self.hosts[0], "type", "veth", "peer", "name", "vb", "netns", self.hosts[1])
        for host, link, address in zip(self.hosts, ("va", "vb"), self.addresses):
            self.ip("-n", host, "address", "add", f"{address}/24", "dev", link)
            for device in (link, "lo"):
                self.ip("-n", host, "link", "set", device, "up")
        self.folder = tempfile.TemporaryDirectory(prefix="wireproof-jobs-")
        self.addCleanup(self.folder.cleanup)

    def mpirun(self, ssh, hosts):
        """Its session folder is of this test alone: one that a killed mpirun left in /tmp stops the next with its number."""
        return self.on(0, "mpirun.openmpi", "--allow-run-as-root", "--mca", "plm_rsh_agent", ssh, "--mca",
                       "oob_tcp_if_include", "10.92.0.0/24", "--mca", "orte_tmpdir_base", self.folder.name, "--host",
                       ",".join(f"{host}:2" for host in hosts), "-n", "4", HELLO)

    def ip(self, *arguments):
        subprocess.run(["ip", *arguments], check=True)

    def on(self, host, *command):
        return ["ip", "netns", "exec", self.hosts[host], *map(str, command)]


class TwoHosts(Namespaces):
    """Reached by `ip netns exec` in place of ssh."""

    def setUp(self):
        super().setUp()
        # In place of ssh: its host is a namespace.
        self.ssh = pathlib.Path(self.folder.name) / "ssh"
        self.ssh.write_text('#!/bin/sh\n[ "$1" = -x ] && shift\nhost=$1; shift\n[ "$1" = -- ] && shift\n'
                            'exec ip netns exec "$host" sh -c "$*"\n')
        self.ssh.chmod(0o755)

    def launch(self, *options):
        a, b = self.hosts
        return self.on(0, os.environ["WIREPROOF"], "launch", "--hosts", f"{a}:2,{b}:2", "--ssh", self.ssh, "--address",
                       "10.92.0.1", *map(str, options))

    def test_of_wireproof_launch(self):
        self.two_hosts(run(self.launch("--", HELLO)))

    def test_each_thread_is_a_node(self):
        a, b = self.hosts
        ended = run(self.on(0, os.environ["WIREPROOF"], "launch", "--hosts", f"{a},{b}", "--ssh", self.ssh, "--address",
                            "10.92.0.1", "--", THREADS, 2))
        self.two_hosts(ended)

    def test_of_mpirun(self):
        need("mpirun.openmpi")
        self.two_hosts(run(self.mpirun(self.ssh, self.hosts)))

    def test_a_rank_that_is_killed_is_lost_at_once_here_and_after_the_peer_timeout_there(self):
        ended = run(self.launch("--keep-going", "--", TRAFFIC, "2", PEER_TIMEOUT))
        self.assertEqual(ended.returncode, 137, ended.stdout + ended.stderr)
        losses = self.losses(ended, 2)
        self.check(losses)
        self.assertEqual({rank: path for rank, (_, _, path) in losses.items()}, {0: ONE_HOST, 1: ONE_HOST, 3: SHM})

    def test_the_interface_may_be_named(self):
        self.ip("link", "add", "other", "netns", self.hosts[0], "type", "veth", "peer", "name", "other",
                "netns", self.hosts[1])
        for host, address in zip(self.hosts, ("10.93.0.1", "10.93.0.2")):
            self.ip("-n", host, "address", "add", f"{address}/24", "dev", "other")
            self.ip("-n", host, "link", "set", "other", "up")

        def received():
            shown = subprocess.run(["ip", "-n", self.hosts[0], "-j", "-s", "link", "show", "other"], check=True,
                                   capture_output=True, text=True)
            return json.loads(shown.stdout)[0]["stats64"]["rx"]["bytes"]
        before = received()
        self.two_hosts(run(self.launch("--", HELLO), {"WIREPROOF_INTERFACE": "other"}))
        self.assertGreater(received() - before, 1000)
        ended = run(self.launch("--", HELLO), {"WIREPROOF_INTERFACE": "no-such"})
        self.assertEqual(ended.returncode, 1)
        self.assertIn("WIREPROOF_INTERFACE", ended.stderr)
        self.assertIn("no-such", ended.stderr)


class TwoHostsBySsh(Namespaces):
    """Reached by ssh, each through an sshd of its own. Rank 0 runs in the first namespace."""

    def setUp(self):
        super().setUp()
        sshd = Sshd(dict(zip(self.addresses, self.hosts)))
        self.addCleanup(sshd.close)
        self.ssh = sshd.ssh

    def by_ssh(self, host, **variables):
        """A rank that a person starts from the first host."""
        words = [f"{name}={value}" for name, value in variables.items()]
        return self.on(0, *self.ssh.split(), self.addresses[host], "--", "env", *words, HELLO)

    def test_of_wireproof_launch(self):
        a, b = self.addresses
        self.two_hosts(run(self.on(0, os.environ["WIREPROOF"], "launch", "--hosts", f"{a}:2,{b}:2", "--ssh", self.ssh,
                                   "--", HELLO)))

    def test_of_mpirun(self):
        need("mpirun.openmpi")
        self.two_hosts(run(self.mpirun(self.ssh, self.addresses)))

    def test_without_a_launcher(self):
        peers = ",".join(f"{self.addresses[rank // 2]}:{7500 + rank}" for rank in range(4))
        others = [begin(self.by_ssh(rank // 2, WIREPROOF_PEERS=peers, WIREPROOF_RANK=rank)) for rank in (1, 2, 3)]
        for other in others:
            self.addCleanup(other.kill)
        ended = [run(self.by_ssh(0, WIREPROOF_PEERS=peers, WIREPROOF_RANK=0))]
        for other in others:
            output, _ = other.communicate(timeout=PATIENCE)
            ended.append(subprocess.CompletedProcess([], other.returncode, output, ""))
        for rank, result in enumerate(ended):
            self.assertEqual(self.paths(result), {(rank, peer): "udp" for peer in range(4) if peer != rank})


class SlurmJob(Dying):
    """Two hosts of a Slurm cluster in namespaces, with two ranks each."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = slurm.cluster_of(cls)

    def test_by_pmix(self):
        self.two_hosts(self.cluster.srun("pmix", HELLO))

    def test_by_pmi2(self):
        self.two_hosts(self.cluster.srun("pmi2", HELLO))

    def test_a_rank_that_is_killed(self):
        ended = self.cluster.srun("pmix", "--kill-on-bad-exit=0", TRAFFIC, 2, PEER_TIMEOUT)
        self.assertNotEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        losses = self.losses(ended, 2)
        self.check(losses)
        self.assertEqual({rank: path for rank, (_, _, path) in losses.items()}, {0: ONE_HOST, 1: ONE_HOST, 3: SHM})


if __name__ == "__main__":
    unittest.main()
