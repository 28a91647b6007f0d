#!/usr/bin/env python3
"""Debian's perftest over the device that is built here.

usage: verbs_perftest_test.py FOLDER_OF_THE_LIBRARIES [unittest options]
"""
import re
import sys
import unittest

import verbs_programs as programs

KINDS = ("send", "write", "read", "atomic")
PROGRAMS = [f"ib_{kind}_{what}" for kind in KINDS for what in ("bw", "lat")]
LATENCY = [program for program in PROGRAMS if program.endswith("_lat")]
NOT_SEND = [program for program in PROGRAMS if "send" not in program]
# For an option of RC: the programs that refuse it, and their message. All other programs are run with it.
REFUSED = {
    "-a": (["ib_atomic_bw", "ib_atomic_lat"], "Message size cannot be changed for Atomic tests"),
    "-b": (LATENCY, "Bidirectional is only available in BW test"),
    "-e": (["ib_write_bw", "ib_write_lat"], "Events feature not available on WRITE verb"),
    "-q": (LATENCY, "Multiple QPs only available on bw tests"),
    "--use-srq": (NOT_SEND, "Using SRQ only"),
}
LIMIT = 100  # seconds, for programs that run once or twice
LONG = 400  # for a program that goes through all sizes; 100 were not enough beside ten busy loops
STOCK_BUFFER = "212992"  # bytes: the kernel's limit if nobody has raised net.core.rmem_max


def size_of(program):
    """Bytes of a message, unless an option says otherwise."""
    return 8 if "atomic" in program else 2 if program in LATENCY else 65536


def setUpModule():
    programs.set_up(FOLDER, PROGRAMS, "perftest")


def tearDownModule():
    programs.tear_down()


class Perftest(unittest.TestCase):
    def passes(self, program, *options, exchanges=100, limit=LIMIT, **settings):
        """Both sides must succeed. Returns their outputs, the server's first."""
        count = ["-n", str(exchanges)] if exchanges else []
        sides = programs.converse([program, *options, *count], programs.environment(**settings), limit=limit)
        for side, (code, output) in zip(("server", "client"), sides):
            self.assertEqual(code, 0, f"{program} {options}, {side}: {output}")
        return [output for _, output in sides]

    def rows(self, output):
        """The rows of the printed table: size in bytes and number of exchanges."""
        return [(int(size), int(count)) for size, count in re.findall(r"(?m)^ (\d+) +(\d+) +[0-9.]+ ", output)]

    def each_passes(self, option, *arguments, rows, exchanges=20, limit=LIMIT):
        """Each program that does not refuse the option succeeds, and its client prints these rows."""
        for program in PROGRAMS:
            if program not in REFUSED[option][0]:
                with self.subTest(program):
                    _, client = self.passes(program, option, *arguments, exchanges=exchanges, limit=limit)
                    self.assertEqual(self.rows(client), rows(program), client)


class ReliableConnections(Perftest):
    def test_latency_and_bandwidth_of_every_operation(self):
        for program in PROGRAMS:
            with self.subTest(program):
                _, client = self.passes(program)
                self.assertEqual(len(self.rows(client)), 1, client)

    # Only the keeper moves packets at the target.
    def test_a_target_that_looks_at_its_memory_alone_is_written_to(self):
        self.passes("ib_write_lat", exchanges=20)

    def test_a_target_that_waits_for_a_word_by_tcp_is_read(self):
        self.passes("ib_read_lat", exchanges=20)

    def test_both_directions(self):
        self.each_passes("-b", rows=lambda program: [(size_of(program), 20)])

    def test_events(self):
        self.each_passes("-e", rows=lambda program: [(size_of(program), 20)])

    def test_several_queue_pairs(self):
        self.each_passes("-q", "4", rows=lambda program: [(size_of(program), 80)])

    def test_shared_receive_queues(self):
        self.each_passes("--use-srq", rows=lambda program: [(size_of(program), 20)])
        self.passes("ib_send_bw", "--use-srq", "-q", "2")

    def test_connections_by_rdma_cm(self):
        for program in PROGRAMS:
            with self.subTest(program):
                command = [program, "-R", "-n", "20", "-p", str(programs.free_port())]
                server = programs.start(command, programs.hooked())
                self.addCleanup(programs.end, server)
                programs.wait_for_service(command[-1], server)
                code, client = programs.run([*command, "127.0.0.1"], programs.hooked(), LIMIT)
                heard, _ = server.communicate(timeout=LIMIT)
                self.assertEqual((code, server.returncode), (0, 0), f"client: {client}\nserver: {heard}")
                self.assertIn("rdma_cm QPs\t : ON", client)
                self.assertEqual(self.rows(client), [(size_of(program), 20)], client)


class Sizes(Perftest):
    def test_every_size(self):
        self.each_passes("-a", rows=lambda _: [(2 ** n, 5) for n in range(1, 24)], exchanges=5, limit=LONG)


class OtherTransports(Perftest):
    def test_unreliable_connections(self):
        for program in ("ib_send_bw", "ib_send_lat", "ib_write_bw", "ib_write_lat"):
            with self.subTest(program):
                self.passes(program, "-c", "UC")

    def test_datagrams(self):
        for program in ("ib_send_bw", "ib_send_lat"):
            with self.subTest(program):
                self.passes(program, "-c", "UD")


class Refused(Perftest):
    """Perftest itself refuses what the table above lists, on any adapter. So the table lists no program too many."""

    def refuses(self, reason, *command):
        with self.subTest(command):
            code, output = programs.run(command, limit=LIMIT)
            self.assertNotEqual(code, 0)
            self.assertIn(reason, output)

    def test_options(self):
        for option, (refusing, reason) in REFUSED.items():
            for program in refusing:
                self.refuses(reason, program, option, *(["4"] if option == "-q" else []))

    def test_transports(self):
        for program in PROGRAMS:
            if "read" in program or "atomic" in program:
                self.refuses("UC connection not possible in READ/ATOMIC verbs", program, "-c", "UC")
            if "send" not in program:
                self.refuses("UD connection only possible in SEND verb", program, "-c", "UD")


class WatchedPrograms(Perftest):
    def converse_watched(self, command, **settings):
        watched, outputs = programs.converse_watched(command, programs.environment(**settings), LIMIT)
        for code, output in outputs:
            self.assertEqual(code, 0, output)
        return watched


class Loss(WatchedPrograms):
    def test_every_operation_ends_right_where_one_packet_in_a_hundred_is_lost(self):
        for program in PROGRAMS:
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


class Acknowledgements(WatchedPrograms):
    """Over UDP one acknowledgement covers several messages if the sender does not wait for each of them."""

    def test_a_stream_of_writes_draws_few(self):
        server, client = self.converse_watched(["ib_write_bw", "-s", "8", "-n", "30000"], WIREPROOF_VERBS_NO_SHM="1")
        self.assertGreater(server.sum_of("executed"), 20000)  # the last may not have been seen
        self.assertLess(server.sum_of("acks_sent"), server.sum_of("executed") / 6)
        self.assertEqual(client.sum_of("timeouts"), 0)

    def test_a_write_that_the_sender_waits_for_draws_one(self):
        server, client = self.converse_watched(["ib_write_bw", "-s", "8", "-n", "2000", "-t", "1"],
                                               WIREPROOF_VERBS_NO_SHM="1")
        self.assertEqual(server.sum_of("acks_sent"), server.sum_of("executed"))
        self.assertEqual(client.sum_of("timeouts"), 0)


class Recovery(WatchedPrograms):
    """Retransmission over UDP when nothing is lost."""

    def test_a_stock_receive_buffer_makes_few_packets_leave_again(self):
        watched = self.converse_watched(["ib_write_bw", "-s", "65536", "-n", "1000"],
                                        WIREPROOF_VERBS_RECEIVE_BUFFER=STOCK_BUFFER, WIREPROOF_VERBS_NO_SHM="1")
        sent = watched[1].sum_of("sent")
        self.assertGreater(sent, 12000)  # of 16,000; the last may not have been seen
        self.assertLess(watched[1].sum_of("resent"), sent / 100)

    def test_long_messages_leave_in_super_packets_and_none_is_damaged(self):
        for program in ("ib_write_bw", "ib_send_bw", "ib_read_bw"):
            with self.subTest(program):
                watched = self.converse_watched([program, "-s", "65536", "-n", "2000"], WIREPROOF_VERBS_NO_SHM="1")
                sender = watched[0] if program == "ib_read_bw" else watched[1]
                sent = sender.counted("hw_counters.sent_pkts")
                self.assertGreater(sent, 6000)  # of 32,000; the last may not have been seen
                self.assertGreater(sender.counted("wire.super_packets_sent"), sent / 32)
                for side in watched:
                    self.assertEqual(side.counted("wire.icrc_wrong"), 0)
                    self.assertEqual(side.counted("wire.identification_jumped"), 0)
                    self.assertEqual(side.counted("wire.segments_refused"), 0)

    def test_reads_of_several_queue_pairs_run_into_no_timeout(self):
        watched = self.converse_watched(["ib_read_bw", "-q", "4", "-n", "600"], WIREPROOF_VERBS_NO_SHM="1")
        self.assertGreater(watched[1].sum_of("answers"), 1000)
        self.assertEqual([side.sum_of("timeouts") for side in watched], [0, 0])


if __name__ == "__main__":
    FOLDER = sys.argv.pop(1)
    unittest.main()
