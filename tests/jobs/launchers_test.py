#!/usr/bin/env python3
"""Ranks that find their job, under each launcher. JOB_RANK is the program of job_rank.cpp, WIREPROOF the command."""
import os
import re
import shutil
import socket
import subprocess
import threading
import time
import unittest

import slurm
from clean import MPIRUN, clean_environment

JOB_RANK = os.environ["JOB_RANK"]
WIREPROOF = os.environ.get("WIREPROOF", "")
PLACE = re.compile(r"place (.+) (\d+)/(\d+) ([0-9a-f]{16})")


class JobCase(unittest.TestCase):
    def setUp(self):
        # The tests may run in a job of some launcher themselves.
        self.environment = clean_environment()

    def run_command(self, *words, timeout=300, **variables):
        return subprocess.run([str(word) for word in words], env={**self.environment, **variables}, timeout=timeout,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL)

    def expect_job(self, ended, launcher, size, **lines):
        """All ranks have joined one job, and each has printed these lines."""
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        printed = ended.stdout.splitlines()
        places = [PLACE.fullmatch(line).groups() for line in printed if line.startswith("place ")]
        self.assertEqual(sorted(int(place[1]) for place in places), list(range(size)), ended.stdout)
        self.assertEqual({(place[0], place[2]) for place in places}, {(launcher, str(size))})
        jobs = {place[3] for place in places}
        self.assertEqual(len(jobs), 1, "the ranks disagree about the job")
        self.assertEqual(printed.count("done"), size, ended.stdout)
        for name, wanted in lines.items():
            seen = [line.removeprefix(name + " ") for line in printed if line.startswith(name + " ")]
            self.assertEqual(sorted(seen), sorted(wanted), ended.stdout)
        return jobs.pop()

    def expect_errors(self, ended, text):
        """A launcher may end the other ranks when the first has failed."""
        errors = [line for line in ended.stdout.splitlines() if line.startswith("error ")]
        self.assertTrue(errors, ended.stdout + ended.stderr)
        for line in errors:
            self.assertIn(text, line)


def free_address(host="127.0.0.1"):
    with socket.socket() as door:
        door.bind((host, 0))
        return f"{host}:{door.getsockname()[1]}"


class MpiRun(JobCase):

    def setUp(self):
        super().setUp()
        self.assertIsNotNone(shutil.which("mpirun"), "mpirun is not installed")

    def mpirun(self, ranks, *words, **variables):
        return self.run_command(*MPIRUN, "-n", ranks, JOB_RANK, *words, **variables)

    def test_four_ranks_meet(self):
        ended = self.mpirun(4, "--rounds", 3)
        job = self.expect_job(ended, "PMIx", 4, exchanged=["3"] * 4, address=["127.0.0.1"] * 4, shares=["1111"] * 4)
        self.assertNotEqual(job, self.expect_job(self.mpirun(1), "PMIx", 1, shares=["1"]))

    def test_long_entries(self):
        self.expect_job(self.mpirun(3, "--rounds", 3, "--length", 65536), "PMIx", 3, exchanged=["3"] * 3)

    def test_a_rank_that_is_late_is_waited_for(self):
        ended = self.mpirun(3, "--rounds", 2, "--late", "1:1500")
        self.expect_job(ended, "PMIx", 3, exchanged=["2"] * 3)

    def test_patience_ends(self):
        ended = self.mpirun(3, "--rounds", 2, "--late", "1:20000", "--patience", 3000)
        errors = [line for line in ended.stdout.splitlines() if line.startswith("error ")]
        self.assertIn("error PMIx_Fence: not all ranks arrived", errors)

    def test_a_stale_environment_is_an_error(self):
        """As in a shell that an old job has left."""
        ended = self.run_command(JOB_RANK, PMIX_NAMESPACE="old", PMIX_RANK="0")
        self.expect_errors(ended, "PMIx: PMIx_Init: ")

    def test_without_pmix_the_ranks_meet_at_an_address(self):
        unset = ("env", "-u", "PMIX_NAMESPACE", "-u", "PMIX_RANK")
        start = [*MPIRUN, "-n", 3, *unset, JOB_RANK]
        self.expect_errors(self.run_command(*start), "OMPI_COMM_WORLD_SIZE is set, but WIREPROOF_RENDEZVOUS is not")
        ended = self.run_command(*start, "--rounds", 3, WIREPROOF_RENDEZVOUS=free_address())
        self.expect_job(ended, "Open MPI", 3, exchanged=["3"] * 3, shares=["111"] * 3)


class Launch(JobCase):
    def test_in_a_job_of_mpirun_makes_a_job_of_its_own(self):
        if shutil.which(MPIRUN[0]) is None:
            self.skipTest(f"{MPIRUN[0]} is not installed")
        ended = self.run_command(*MPIRUN, "-n", 1, WIREPROOF, "launch", "-n", 3, "--", JOB_RANK)
        self.expect_job(ended, "wireproof launch", 3)

    def test_ranks_meet(self):
        ended = self.run_command(WIREPROOF, "launch", "-n", 4, "--", JOB_RANK, "--rounds", 3, "--length", 65536)
        self.expect_job(ended, "wireproof launch", 4, exchanged=["3"] * 4, address=["127.0.0.1"] * 4,
                        shares=["1111"] * 4)


class Peers(JobCase):
    def start(self, rank, peers):
        return subprocess.Popen([JOB_RANK, "--rounds", "2"], stdout=subprocess.PIPE, text=True,
                                env={**self.environment, "WIREPROOF_PEERS": peers, "WIREPROOF_RANK": str(rank)})

    def test_ranks_that_a_person_starts_meet(self):
        peers = ",".join(free_address() for _ in range(3))
        ranks = []
        for rank in (2, 0, 1):
            ranks.append(self.start(rank, peers))
            time.sleep(0.3)
        out = "".join(rank.communicate(timeout=300)[0] for rank in ranks)
        ended = subprocess.CompletedProcess([], max(rank.returncode for rank in ranks), out, "")
        self.expect_job(ended, "WIREPROOF_PEERS", 3, exchanged=["2"] * 3)

    def test_nobody_is_a_job(self):
        ended = self.run_command(JOB_RANK)
        self.expect_errors(ended, "no job joined: torchrun: WIREPROOF_LAUNCHER is not set; "
                                  "PMIx: PMIX_NAMESPACE is not set; PMI2: PMI_FD is not set; PMI-1: PMI_FD is not set; ")


class AnyLauncher(JobCase):
    """Ranks with no more than these variables."""

    def run_ranks(self, size, *words, pass_fds=(), **of_rank):
        """`of_rank`: by name of a variable, its value for a rank."""
        ranks = [subprocess.Popen([JOB_RANK, *words], stdout=subprocess.PIPE, text=True, pass_fds=pass_fds,
                                  env={**self.environment, **{name: str(value(rank)) for name, value in of_rank.items()}})
                 for rank in range(size)]
        out = "".join(rank.communicate(timeout=300)[0] for rank in ranks)
        return subprocess.CompletedProcess([], max(rank.returncode for rank in ranks), out, "")

    def test_of_ranks_a_size_and_an_address(self):
        address = free_address()
        ended = self.run_ranks(3, "--rounds", "2", WIREPROOF_TOKEN=lambda _: "secret", WIREPROOF_SIZE=lambda _: 3,
                               WIREPROOF_RANK=lambda rank: rank, WIREPROOF_RENDEZVOUS=lambda _: address)
        self.expect_job(ended, "WIREPROOF_RANK", 3, exchanged=["2"] * 3, shares=["111"] * 3)

    def test_of_pmi_1(self):
        """The test keeps the addresses, as mpiexec.hydra and Flux do."""
        for size in (1, 3):
            with self.subTest(size):
                launcher = Pmi1(size)
                ended = self.run_ranks(size, "--rounds", "2", "--length", "5000", pass_fds=launcher.of_ranks,
                                       PMI_FD=lambda rank: launcher.of_ranks[rank], PMI_RANK=lambda rank: rank,
                                       PMI_SIZE=lambda _: size)
                launcher.close()
                self.expect_job(ended, "PMI-1", size, exchanged=["2"] * size)
                self.assertEqual(launcher.finalized, size)


class Pmi1:
    """The launcher's side of PMI-1, for ranks of this host."""

    def __init__(self, size):
        pairs = [socket.socketpair() for _ in range(size)]
        self.ours = [pair[0] for pair in pairs]
        self.theirs = [pair[1] for pair in pairs]
        self.of_ranks = tuple(end.fileno() for end in self.theirs)
        self.values, self.finalized = {}, 0
        self.lock, self.fence = threading.Lock(), threading.Barrier(size)
        self.threads = [threading.Thread(target=self.serve, args=(end,), daemon=True) for end in self.ours]
        for thread in self.threads:
            thread.start()

    def serve(self, end):
        with end.makefile("rw", encoding="ascii") as lines:
            for line in lines:
                words = dict(word.split("=", 1) for word in line.split())
                lines.write(self.answer(words) + "\n")
                lines.flush()

    def answer(self, words):
        match words["cmd"]:
            case "init":
                return "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"
            case "get_maxes":
                return "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024"
            case "get_my_kvsname":
                return "cmd=my_kvsname kvsname=kvs_0"
            case "put":
                with self.lock:
                    self.values[words["key"]] = words["value"]
                return "cmd=put_result rc=0 msg=success"
            case "barrier_in":
                self.fence.wait(300)
                return "cmd=barrier_out rc=0"
            case "get":
                return f"cmd=get_result rc=0 msg=success value={self.values[words['key']]}"
            case "finalize":
                with self.lock:
                    self.finalized += 1
                return "cmd=finalize_ack rc=0"
        raise AssertionError(words)

    def close(self):
        for end in self.theirs:
            end.close()
        for thread in self.threads:
            thread.join(300)
        for end in self.ours:
            end.close()


class Slurm(JobCase):
    """Two hosts with three tasks each."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = slurm.cluster_of(cls)

    def srun(self, *words, **options):
        return self.cluster.srun(*words, **options)

    BOTH = {"address": ["10.77.0.1"] * 2 + ["10.77.0.2"] * 2, "shares": ["1100"] * 2 + ["0011"] * 2}

    def test_pmi2(self):
        ended = self.srun("pmi2", JOB_RANK, "--rounds", 3)
        job = self.expect_job(ended, "PMI2", 4, exchanged=["3"] * 4, **self.BOTH)
        again = self.srun("pmi2", JOB_RANK, nodes=1, tasks=2)
        self.assertNotEqual(job, self.expect_job(again, "PMI2", 2, address=["127.0.0.1"] * 2, shares=["11"] * 2))

    def test_pmi2_long_entries(self):
        ended = self.srun("pmi2", JOB_RANK, "--rounds", 2, "--length", 65536)
        self.expect_job(ended, "PMI2", 4, exchanged=["2"] * 4)

    def test_pmi2_patience_ends(self):
        ended = self.srun("pmi2", JOB_RANK, "--rounds", 2, "--late", "1:20000", "--patience", 3000)
        self.assertIn("error not all ranks arrived", ended.stdout, ended.stderr)

    def test_pmix(self):
        ended = self.srun("pmix", JOB_RANK, "--rounds", 3)
        self.expect_job(ended, "PMIx", 4, exchanged=["3"] * 4, **self.BOTH)

    def test_pmix_long_entries(self):
        ended = self.srun("pmix", JOB_RANK, "--rounds", 2, "--length", 65536)
        self.expect_job(ended, "PMIx", 4, exchanged=["2"] * 4)

    def test_pmix_join_gives_up_after_its_limit(self):
        ended = self.srun("pmix", JOB_RANK, "--rounds", 2, "--late", "1:20000", "--patience", 3000)
        self.assertIn("error PMIx_Fence: not all ranks arrived", ended.stdout, ended.stderr)

    def test_none_needs_an_address(self):
        self.expect_errors(self.srun("none", JOB_RANK), "SLURM_STEP_NUM_TASKS is set, but WIREPROOF_RENDEZVOUS is not")
        ended = self.srun("none", JOB_RANK, "--rounds", 3, WIREPROOF_RENDEZVOUS="10.77.0.1:7100")
        self.expect_job(ended, "Slurm", 4, exchanged=["3"] * 4, **self.BOTH)

    def test_an_interface_of_the_users_choice(self):
        ended = self.srun("pmi2", JOB_RANK, WIREPROOF_INTERFACE="eth7")
        self.expect_errors(ended, "WIREPROOF_INTERFACE: eth7 is no interface of this host")

    def test_peers_in_a_batch_script(self):
        """A batch script is no task, although it has some variables of one."""
        script = self.cluster.folder / "batch.sh"
        output = self.cluster.folder / "batch.out"
        script.write_text(f"#!/bin/sh\nWIREPROOF_PEERS=127.0.0.1:7200 WIREPROOF_RANK=0 {JOB_RANK}\n")
        ended = self.cluster.run(0, ["sbatch", "-W", "-n", "3", "-o", str(output), str(script)])
        ended.stdout = output.read_text()
        self.expect_job(ended, "WIREPROOF_PEERS", 1)


if __name__ == "__main__":
    unittest.main()
