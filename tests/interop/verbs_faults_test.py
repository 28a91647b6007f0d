#!/usr/bin/env python3
"""Faults on demand: their effect on programs of ibverbs-utils and perftest.

usage: verbs_faults_test.py FOLDER_OF_THE_LIBRARY [unittest options]
"""
import os
import pathlib
import re
import sys
import time
import unittest

import verbs_programs as programs

PROGRAMS = "ibv_rc_pingpong ibv_asyncwatch ibv_devinfo ib_send_bw ib_send_lat ib_write_bw".split()
RC = ["ibv_rc_pingpong", "-g", "1", "-c"]


def setUpModule():
    programs.set_up(FOLDER, PROGRAMS, "ibverbs-utils or perftest")


def tearDownModule():
    programs.tear_down()


def written(name):
    """A file that the program may write, in the folder that also lists the services of these tests."""
    return os.path.join(programs.library, "runtime", name)


def faults(text, name="faults.toml"):
    path = pathlib.Path(programs.library) / name
    path.write_text(text, encoding="utf-8")
    path.chmod(0o644)
    return str(path)


def marks(name):
    """The faults that packets met, from the comments of the capture file, which contain plain text."""
    data = pathlib.Path(written(name)).read_bytes()
    return [mark.decode() for mark in re.findall(rb"[a-z][a-z0-9, ]*: [A-Z][\w ]+, packet \d+ of queue pair \d+, "
                                                 rb"attempt \d+", data)]


class Packets(unittest.TestCase):
    def passes(self, command, server, client=None):
        """Both sides, each with its own settings, must succeed. Returns what they printed."""
        sides = programs.converse(command, programs.environment(**server), programs.environment(**(client or server)))
        for code, output in sides:
            self.assertEqual(code, 0, output)
        return [output for _, output in sides]

    def repeatable(self, faults_of_both):
        """Settings with which the client's acknowledgements arrive. The client ends after the last one, so the server
        would wait for ever if that were lost. A fate also depends on which side has the lower address."""
        arrive = faults('[[packet]]\nopcode = "ACK"\nattempt = [1, 1000]\nfate = "delay"\ndelay_us = 1\n')
        server, client = [{"WIREPROOF_VERBS_SEED": "7", "WIREPROOF_VERBS_ADDRESS": f"127.66.0.{host}", **faults_of_both}
                          for host in (1, 2)]
        return server, {**client, "WIREPROOF_VERBS_FAULTS": arrive}

    def test_a_lossy_way_ends_right(self):
        self.passes([*RC, "-n", "200"], *self.repeatable({"WIREPROOF_VERBS_LOSS": "0.01"}))

    def test_every_fault_together_ends_right(self):
        self.passes([*RC, "-n", "100"], *self.repeatable({f"WIREPROOF_VERBS_{name}": "0.01" for name in (
            "LOSS", "DAMAGE", "DUPLICATE", "REORDER")}))

    def test_a_measurement_ends_right(self):
        # -u 10: the device waits for 4.096 us x 2^10, and at most four times as long. So no timeout takes seconds.
        for output in self.passes(["ib_send_bw", "-d", "wireproof0", "-x", "1", "-n", "1000", "-s", "4096", "-u", "10"],
                                  {"WIREPROOF_VERBS_LOSS": "0.01"}):
            self.assertRegex(output, r"\n 4096 +1000 ")

    def test_the_same_seed_loses_the_same_packets(self):
        """First attempts are the same in each run. Which packets are sent again depends on time."""
        lost = []
        for run in ("1", "2"):
            server, client = self.repeatable({"WIREPROOF_VERBS_LOSS": "0.02"})
            self.passes([*RC, "-n", "100"], {**server, "WIREPROOF_VERBS_PCAPNG": written(f"server{run}")},
                        {**client, "WIREPROOF_VERBS_PCAPNG": written(f"client{run}")})
            lost.append([sorted({mark for mark in marks(side + run)
                                 if mark.startswith("lost: SEND") and mark.endswith("attempt 1")})
                         for side in ("server", "client")])
        self.assertEqual(lost[0], lost[1])
        self.assertGreater(min(map(len, lost[0])), 2)
        self.assertNotEqual(*lost[0])

    def test_damaged_packets_are_sent_again(self):
        self.passes(["ib_write_bw", "-d", "wireproof0", "-x", "1", "-s", "65536", "-n", "100", "-u", "10"], {},
                    {"WIREPROOF_VERBS_DAMAGE": "0.01", "WIREPROOF_VERBS_SEED": "7",
                     "WIREPROOF_VERBS_PCAPNG": written("damaged")})
        self.assertGreater(len([mark for mark in marks("damaged") if mark.startswith("damaged: ")]), 0)

    def test_a_packet_is_named(self):
        script = faults('[[packet]]\nopcode = "SEND Last"\nnth = [2, 3]\nfate = "lose"\n')
        self.passes([*RC, "-n", "20"], {}, {"WIREPROOF_VERBS_FAULTS": script,
                                            "WIREPROOF_VERBS_PCAPNG": written("named")})
        self.assertEqual(marks("named"), [f"lost: SEND Last, packet {n} of queue pair 1, attempt 1" for n in (8, 12)])

    def test_a_lost_packet_of_a_ping_pong_waits_for_no_timeout(self):
        """No packet follows that shows the loss. The answer timeout is over two minutes, so with it this would take longer
        than the limit. RC-34"""
        script = faults('[[packet]]\nopcode = "SEND Only"\nnth = [10, 12]\nfate = "lose"\n', "ping_pong.toml")
        self.passes(["ib_send_lat", "-d", "wireproof0", "-x", "1", "-s", "8", "-n", "100", "-u", programs.SELDOM],
                    {"WIREPROOF_VERBS_FAULTS": script})


class Port(unittest.TestCase):
    def test_goes_down_and_comes_up_again(self):
        script = faults("[[link_down]]\nat_ms = 200\nfor_ms = 200\n", "port.toml")
        watch = programs.start(["stdbuf", "-oL", "ibv_asyncwatch"], programs.environment(WIREPROOF_VERBS_FAULTS=script))
        seen = ""
        limit = time.monotonic() + programs.LIMIT
        try:
            while "ACTIVE" not in seen and time.monotonic() < limit and (line := watch.stdout.readline()):
                seen += line
        finally:
            programs.end(watch)
        self.assertRegex(seen, r"(?s)IBV_EVENT_PORT_ERR \(10\), port 1\n.*IBV_EVENT_PORT_ACTIVE \(9\), port 1\n")

    def test_is_told_to_be_down(self):
        script = faults("[[link_down]]\nat_ms = 0\nfor_ms = 3600000\n", "down.toml")
        code, output = programs.run(["ibv_devinfo"], programs.environment(WIREPROOF_VERBS_FAULTS=script))
        self.assertEqual(code, 0, output)
        self.assertIn("PORT_DOWN", output)

    def test_what_was_sent_meanwhile_is_sent_again(self):
        script = faults("[[link_down]]\nat_packet = 40\nfor_ms = 20\n", "packets.toml")
        for code, output in programs.converse([*RC, "-n", "100"],
                                              client_env=programs.environment(WIREPROOF_VERBS_FAULTS=script)):
            self.assertEqual(code, 0, output)


class Events(unittest.TestCase):
    def test_are_told_at_their_time(self):
        script = faults('[[event]]\nwhat = "DEVICE_FATAL"\nat_ms = 200\n', "events.toml")
        watch = programs.start(["stdbuf", "-oL", "ibv_asyncwatch"], programs.environment(WIREPROOF_VERBS_FAULTS=script))
        seen = ""
        try:
            while "FATAL" not in seen and (line := watch.stdout.readline()):
                seen += line
        finally:
            programs.end(watch)
        self.assertIn("IBV_EVENT_DEVICE_FATAL (8)", seen)


class Completions(unittest.TestCase):
    def test_a_receive_ends_as_chosen(self):
        """The server's second receive fails, so the client's second Send fails, too."""
        script = faults('[[completion]]\nof = "receive"\nnth = 2\nstatus = "LOC_PROT_ERR"\n', "receive.toml")
        server, client = programs.converse([*RC, "-n", "20"], programs.environment(WIREPROOF_VERBS_FAULTS=script),
                                           programs.environment())
        self.assertIn("Failed status local protection error", server[1])
        self.assertIn("Failed status remote operation error", client[1])

    def test_the_nth_request_ends_as_chosen(self):
        for status, said in (("REM_OP_ERR", "remote operation error"), ("LOC_PROT_ERR", "local protection error"),
                             ("RETRY_EXC_ERR", "transport retry counter exceeded")):
            script = faults(f'[[completion]]\nnth = 5\nstatus = "{status}"\n', "completion.toml")
            server, port = programs.start_server([*RC, "-n", "20"])
            try:
                code, output = programs.run([*RC, "-n", "20", "-p", str(port), "127.0.0.1"],
                                            programs.environment(WIREPROOF_VERBS_FAULTS=script))
            finally:
                programs.end(server)
            self.assertNotEqual(code, 0)
            self.assertIn(f"Failed status {said}", output)


class Settings(unittest.TestCase):
    def test_a_file_that_is_wrong_is_told_with_its_place(self):
        script = faults("[sent]\nlost = 1\n", "wrong.toml")
        code, output = programs.run(["ibv_devinfo"], programs.environment(WIREPROOF_VERBS_FAULTS=script))
        self.assertNotEqual(code, 0)
        self.assertIn(f"WIREPROOF_VERBS_FAULTS: {script}:2:1: unknown key", output)

    def test_a_log_that_cannot_be_made_is_told(self):
        code, output = programs.run(["ibv_devinfo"], programs.environment(WIREPROOF_VERBS_PCAPNG="/nowhere/a"))
        self.assertNotEqual(code, 0)
        self.assertIn("/nowhere/a: No such file or directory", output)


if __name__ == "__main__":
    FOLDER = sys.argv.pop(1)
    unittest.main()
