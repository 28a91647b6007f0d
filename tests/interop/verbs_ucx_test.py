#!/usr/bin/env python3
"""Message passing libraries and their programs over the device that is built here: UCX, Open MPI, libfabric, qperf.

usage: verbs_ucx_test.py FOLDER_OF_THE_LIBRARIES [unittest options]
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import verbs_programs as programs

DEVICE = "wireproof0:1"
PROGRAMS = [pathlib.Path(__file__).with_name(name) for name in ("mpi_exchange.c", "mpi_requests.c")]


def setUpModule():
    programs.set_up(FOLDER, ["ucx_info", "ucx_perftest", "mpirun", "mpicc", "qperf", "fi_info", "fi_pingpong",
                             "ibv_rc_pingpong"], "ucx-utils, openmpi-bin, libopenmpi-dev, qperf, libfabric-bin or ibverbs-utils")


def tearDownModule():
    programs.tear_down()


def ucx_environment(transport=None):
    chosen = {"UCX_TLS": f"{transport},self"} if transport else {}
    return programs.hooked(UCX_NET_DEVICES=DEVICE, **chosen)


class Ucx(unittest.TestCase):
    def passes(self, *options, exchanges, transport=None):
        command = ["ucx_perftest", "-n", str(exchanges), "-w", "10", *options]
        sides = programs.converse(command, ucx_environment(transport))
        for side, (code, output) in zip(("server", "client"), sides):
            self.assertEqual(code, 0, f"{side}: {output}")
            self.assertNotRegex(output, "ERROR|WARN", side)
        self.assertRegex(sides[1][1], rf"(?m)^Final: +{exchanges} ")

    def of_the_device(self, transport, *options, exchanges):
        self.passes("-d", DEVICE, "-x", transport, *options, exchanges=exchanges)

    def test_lists_the_transports(self):
        code, output = programs.run(["ucx_info", "-d"], programs.hooked())
        self.assertEqual(code, 0, output)
        ours = output[output.index("# Memory domain: wireproof0"):]
        for transport in ("rc_verbs", "ud_verbs"):
            self.assertRegex(ours, rf"Transport: {transport}\n#\s+Device: {DEVICE}\n")

    def test_finds_no_device_without_the_hooks(self):
        _, output = programs.run(["ucx_info", "-d"])
        self.assertNotIn("rc_verbs", output)

    def test_rc_active_messages(self):
        for layout, size in (("short", 8), ("bcopy", 4096), ("zcopy", 8000)):
            with self.subTest(layout=layout):
                self.of_the_device("rc_verbs", "-t", "am_lat", "-D", layout, "-s", str(size), exchanges=300)
        self.of_the_device("rc_verbs", "-t", "am_bw", "-D", "zcopy", "-s", "8000", exchanges=2000)

    def test_rc_one_sided(self):
        self.of_the_device("rc_verbs", "-t", "put_lat", "-D", "short", "-s", "8", exchanges=300)
        self.of_the_device("rc_verbs", "-t", "put_bw", "-D", "zcopy", "-s", "65536", exchanges=300)
        self.of_the_device("rc_verbs", "-t", "get", "-D", "zcopy", "-s", "65536", exchanges=300)
        self.of_the_device("rc_verbs", "-t", "fadd", "-D", "short", "-s", "8", exchanges=300)

    def test_ud_active_messages(self):
        for layout, size in (("short", 8), ("bcopy", 4000), ("zcopy", 4000)):
            with self.subTest(layout=layout):
                self.of_the_device("ud_verbs", "-t", "am_lat", "-D", layout, "-s", str(size), exchanges=300)
        self.of_the_device("ud_verbs", "-t", "am_bw", "-D", "zcopy", "-s", "4000", exchanges=2000)

    def test_tags(self):
        for transport in ("rc_v", "ud_v"):
            with self.subTest(transport=transport):
                self.passes("-t", "tag_lat", "-s", "8", exchanges=300, transport=transport)
                self.passes("-t", "tag_bw", "-s", "1000000", exchanges=30, transport=transport)

    def test_a_sender_that_wants_few_completions_runs_into_no_timeout(self):
        """UCX wants a completion for one message in 64. Devices of one host acknowledge the others together (RC-37). How
        many acknowledgements that saves depends on when the processes run: bench/compare_verbs shows it."""
        seldom = {"UCX_RC_VERBS_TIMEOUT": "34s"}
        for memory in ({}, {"WIREPROOF_VERBS_NO_SHM": "1"}):
            with self.subTest(memory):
                sides = programs.counted_until(
                    ["ucx_perftest", "-t", "tag_lat", "-s", "8", "-n", "1000000000"],
                    {**ucx_environment("rc_v"), **seldom, **memory},
                    lambda *sides: min(side.sum_of("executed") for side in sides) > 300)
                self.assertEqual([side.sum_of("timeouts") for side in sides], [0, 0])

    def test_put(self):
        self.passes("-t", "ucp_put_bw", "-s", "65536", exchanges=200, transport="rc_v")

    def test_two_threads(self):
        for transport in ("rc_v", "ud_v"):
            with self.subTest(transport=transport):
                self.passes("-t", "tag_lat", "-s", "8", "-T", "2", "-M", "multi", exchanges=300,
                            transport=transport)


class OpenMpi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        os.chmod(cls.folder.name, 0o777)  # the user's session directory is there, too
        for program in PROGRAMS:
            subprocess.run(["mpicc", "-O1", "-Wall", "-Werror", str(program), "-o", str(cls.built(program.stem))],
                           check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def built(cls, name):
        return pathlib.Path(cls.folder.name) / name

    UCX = ["--mca", "pml", "ucx", "--mca", "osc", "ucx"]
    LIBFABRIC = ["--mca", "pml", "cm", "--mca", "mtl", "ofi", "--mca", "mtl_ofi_provider_include", "verbs;ofi_rxm"]

    def exchange(self, ranks, environment, over=UCX, program="mpi_exchange"):
        # All ranks run on this host, so ssh starts nothing.
        command = ["mpirun", "--oversubscribe", "-n", str(ranks), *over, "--mca", "plm_rsh_agent", "false",
                   str(self.built(program))]
        return programs.run(command, {**environment, "HOME": self.folder.name, "TMPDIR": self.folder.name})

    def passes(self, transport, ranks):
        code, output = self.exchange(ranks, ucx_environment(transport))
        self.assertEqual(code, 0, output)
        self.assertIn(f"{ranks} ranks: all is right\n", output)

    def test_two_ranks(self):
        for transport in ("rc_v", "ud_v"):
            with self.subTest(transport=transport):
                self.passes(transport, 2)

    def test_four_ranks(self):
        for transport in ("rc_v", "ud_v"):
            with self.subTest(transport=transport):
                self.passes(transport, 4)

    def test_requests_of_one_sided_calls(self):
        """UCX emulates an Atomic by messages, and Open MPI takes the answer as a sign that an earlier Read is done. UCX polls
        its queue of sends only if there is no message (RC-38). With losses the answer of the Read may be lost (RC-40).
        MPI_REPLACE is a Read and a Write of the same bytes without a fence (RC-41)."""
        for memory in ({}, {"WIREPROOF_VERBS_NO_SHM": "1"}, {"WIREPROOF_VERBS_LOSS": "0.01"}):
            with self.subTest(memory):
                code, output = self.exchange(2, {**ucx_environment("rc_v"), **memory}, program="mpi_requests")
                self.assertEqual(code, 0, output)
                self.assertIn("2 ranks: all is right\n", output)

    def test_libfabric(self):
        code, output = self.exchange(2, programs.hooked(), self.LIBFABRIC)
        self.assertEqual(code, 0, output)
        self.assertIn("2 ranks: all is right\n", output)

    def test_runs_over_nothing_else(self):
        environment = ucx_environment("rc_v")
        del environment["LD_PRELOAD"]
        code, output = self.exchange(2, environment)
        self.assertNotEqual(code, 0, output)
        self.assertNotIn("all is right", output)


class Libfabric(unittest.TestCase):
    def setUp(self):
        """A third program takes 127.0.0.1, so that neither side has it."""
        self.addCleanup(programs.end, programs.take_first_address())

    def ping_pong(self, endpoint, longest):
        """Sends every size of the program's list 100 times in each direction and checks the received data."""
        port = programs.free_port()
        command = ["fi_pingpong", "-p", "verbs", "-e", endpoint, "-I", "100", "-c"]
        server = programs.start([*command, "-B", str(port)], programs.hooked())
        try:
            programs.wait_for(server, port)
            code, output = programs.run([*command, "-P", str(port), "127.0.0.1"], programs.hooked())
            self.assertEqual(code, 0, output)
            self.assertRegex(output, rf"(?m)^{longest} +100 +=100 ")
            said, _ = server.communicate(timeout=programs.LIMIT)
            self.assertEqual(server.returncode, 0, said)
        finally:
            programs.end(server)

    def test_lists_the_device(self):
        code, output = programs.run(["fi_info", "-p", "verbs"], programs.hooked())
        self.assertEqual(code, 0, output)
        for kind in ("MSG", "DGRAM"):
            self.assertRegex(output, rf"domain: wireproof0\S*\n.*\n +type: FI_EP_{kind}\n")

    def test_datagrams(self):
        self.ping_pong("dgram", "4k")


class Qperf(unittest.TestCase):
    def measures(self, environment, tests, *options):
        """Each test must report a number greater than 0."""
        port = programs.free_port()
        server = programs.start(["qperf", "--listen_port", str(port)], environment)
        try:
            programs.wait_for(server, port)
            for test in tests:
                for seconds in (1, 10, 60):  # a client without a processor for so long measures 0
                    code, output = programs.run(["qperf", "--listen_port", str(port), "-t", str(seconds), *options,
                                                 "127.0.0.1", test], environment)
                    self.assertEqual(code, 0, f"{test}: {output}")
                    if not re.search(r"=  +0 ", output):
                        break
                self.assertRegex(output, r"(?m)^    (latency|bw|recv_bw) +=  +[0-9.]+ \S+$", test)
                self.assertNotRegex(output, r"=  +0 |rror", test)
        finally:
            programs.end(server)

    def test_hosts_that_are_named_by_lids(self):
        self.measures(programs.environment(WIREPROOF_VERBS_LINK="infiniband"), ["rc_lat", "rc_bw", "uc_bw", "ud_lat"])

    def test_connections_by_rdma_cm(self):
        self.addCleanup(programs.end, programs.take_first_address())
        self.measures(programs.hooked(), ["rc_lat", "rc_bw", "rc_rdma_read_lat", "rc_rdma_write_bw"], "--use_cm", "1")

    def test_without_lids_is_refused_as_on_ethernet(self):
        with self.assertRaisesRegex(AssertionError, "failed to modify QP to RTR"):
            self.measures(programs.environment(), ["uc_bw"])


if __name__ == "__main__":
    FOLDER = sys.argv.pop(1)
    unittest.main()
