#!/usr/bin/env python3
"""perftest, as Debian has it, over the device that is built here.

usage: verbs_perftest_test.py FOLDER_OF_THE_LIBRARIES [unittest options]
"""
import glob
import os
import re
import struct
import sys
import threading
import time
import unittest

import verbs_programs as programs

KINDS = ("send", "write", "read", "atomic")
PROGRAMS = [f"ib_{kind}_{what}" for kind in KINDS for what in ("bw", "lat")]
LIMIT = 100  # seconds, for programs that take one of them or two
STOCK_BUFFER = "212992"  # bytes: what the kernel grants where nobody has raised net.core.rmem_max


def setUpModule():
    programs.set_up(FOLDER, PROGRAMS, "perftest")


def tearDownModule():
    programs.tear_down()


class Perftest(unittest.TestCase):
    def passes(self, program, *options, exchanges=100, **settings):
        """Both sides' outputs, the server's first."""
        count = ["-n", str(exchanges)] if exchanges else []
        sides = programs.converse([program, *options, *count], programs.environment(**settings), limit=LIMIT)
        for side, (code, output) in zip(("server", "client"), sides):
            self.assertEqual(code, 0, f"{program} {options}, {side}: {output}")
        return [output for _, output in sides]

    def rows(self, output):
        """Of the table: size in bytes and number of exchanges."""
        return [(int(size), int(count)) for size, count in re.findall(r"(?m)^ (\d+) +(\d+) +[0-9.]+ ", output)]


class ReliableConnections(Perftest):
    def test_latency_and_bandwidth_of_every_operation(self):
        for program in PROGRAMS:
            with self.subTest(program):
                _, client = self.passes(program)
                self.assertEqual(len(self.rows(client)), 1, client)

    def test_every_size(self):
        for program in ("ib_send_bw", "ib_write_lat"):
            with self.subTest(program):
                _, client = self.passes(program, "-a", exchanges=20)
                self.assertEqual([size for size, _ in self.rows(client)], [2 ** n for n in range(1, 24)])

    def test_both_directions(self):
        for program in ("ib_send_bw", "ib_read_bw"):
            self.passes(program, "-b")

    def test_events(self):
        for program in ("ib_send_bw", "ib_send_lat"):
            self.passes(program, "-e")

    def test_several_queue_pairs(self):
        for program in ("ib_send_bw", "ib_write_bw"):
            self.passes(program, "-q", "4")

    def test_shared_receive_queues(self):
        self.passes("ib_send_bw", "--use-srq")
        self.passes("ib_send_bw", "--use-srq", "-q", "2")


class OtherTransports(Perftest):
    def test_unreliable_connections(self):
        for program in ("ib_write_bw", "ib_write_lat", "ib_send_lat"):
            self.passes(program, "-c", "UC")

    def test_datagrams(self):
        for program in ("ib_send_bw", "ib_send_lat"):
            self.passes(program, "-c", "UD")


class Watched(threading.Thread):
    """Reads what the device of a process counts for as long as the process runs."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.text = pid, ""
        self.start()

    def run(self):
        while os.path.exists(f"/proc/{self.pid}"):
            for path in glob.glob(f"/proc/{self.pid}/fd/*"):
                try:
                    if not os.readlink(path).startswith("/memfd:wireproof-verbs "):
                        continue
                    with open(path, "rb") as file:
                        _, _, before, length = struct.unpack("<QqQQ", file.read(32))
                        text = file.read(length).decode()
                        file.seek(16)
                        if struct.unpack("<Q", file.read(8))[0] == before and before % 2 == 0:
                            self.text = text
                except (OSError, struct.error, UnicodeDecodeError):
                    pass
            time.sleep(0.005)

    def sum_of(self, name):
        self.join()
        assert self.text, "nothing was counted"
        return sum(map(int, re.findall(rf"(?m)^queue_pairs\.\d+\.{name} (\d+)$", self.text)))


class WatchedPrograms(Perftest):
    def converse_watched(self, command, **settings):
        env = programs.environment(**settings)
        server, port = programs.start_server(command, env)
        client = programs.start([*command, "-p", str(port), "127.0.0.1"], env)
        try:
            watched = [Watched(server.pid), Watched(client.pid)]
            for process in (client, server):
                output, _ = process.communicate(timeout=LIMIT)
                self.assertEqual(process.returncode, 0, output)
        finally:
            programs.end(client)
            programs.end(server)
        return watched


class Loss(WatchedPrograms):
    def test_every_operation_ends_right_where_one_packet_in_a_hundred_is_lost(self):
        for program in ("ib_send_bw", "ib_send_lat", "ib_write_bw", "ib_write_lat", "ib_read_bw", "ib_atomic_lat"):
            with self.subTest(program):
                self.passes(program, exchanges=300, WIREPROOF_VERBS_LOSS="0.01", WIREPROOF_VERBS_SEED="3")

    def test_what_was_lost_was_sent_again(self):
        watched = self.converse_watched(["ib_send_bw", "-s", "4096", "-n", "1000"], WIREPROOF_VERBS_LOSS="0.01",
                                        WIREPROOF_VERBS_SEED="3")
        sent, resent = watched[1].sum_of("sent"), watched[1].sum_of("resent")
        self.assertGreater(resent, 0)
        self.assertLess(resent, sent / 2)

    def test_several_queue_pairs(self):
        self.passes("ib_send_bw", "-q", "4", WIREPROOF_VERBS_LOSS="0.01", WIREPROOF_VERBS_SEED="3")


class Recovery(WatchedPrograms):
    """What is sent again over UDP where nothing is lost."""

    def test_a_stock_receive_buffer_makes_few_packets_leave_again(self):
        watched = self.converse_watched(["ib_write_bw", "-s", "65536", "-n", "1000"],
                                        WIREPROOF_VERBS_RECEIVE_BUFFER=STOCK_BUFFER, WIREPROOF_VERBS_NO_SHM="1")
        sent = watched[1].sum_of("sent")
        self.assertGreater(sent, 12000)  # of 16,000; the last may not have been seen
        self.assertLess(watched[1].sum_of("resent"), sent / 100)

    def test_reads_of_several_queue_pairs_run_into_no_timeout(self):
        watched = self.converse_watched(["ib_read_bw", "-q", "4", "-n", "200"], WIREPROOF_VERBS_NO_SHM="1")
        self.assertGreater(watched[1].sum_of("answers"), 1000)
        self.assertEqual([side.sum_of("timeouts") for side in watched], [0, 0])


if __name__ == "__main__":
    FOLDER = sys.argv.pop(1)
    unittest.main()
