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
OVER_UDP = {"WIREPROOF_VERBS_NO_SHM": "1"}
STOCK_BUFFER = "212992"  # bytes: the kernel's limit if nobody has raised net.core.rmem_max


def size_of(program):
    """Bytes of a message, unless an option says otherwise."""
    return 8 if "atomic" in program else 2 if program in LATENCY else 65536


def setUpModule():
    programs.set_up(FOLDER, PROGRAMS, "perftest")


def tearDownModule():
    programs.tear_down()


class Perftest(unittest.TestCase):
    def passes(self, program, *options, exchanges=100, **settings):
        """Both sides must succeed. Returns their outputs, the server's first."""
        count = ["-n", str(exchanges)] if exchanges else []
        sides = programs.converse([program, *options, *count], programs.environment(**settings))
        for side, (code, output) in zip(("server", "client"), sides):
            self.assertEqual(code, 0, f"{program} {options}, {side}: {output}")
        return [output for _, output in sides]

    def rows(self, output):
        """The rows of the printed table: size in bytes and number of exchanges."""
        return [(int(size), int(count)) for size, count in re.findall(r"(?m)^ (\d+) +(\d+) +[0-9.]+ ", output)]

    def each_passes(self, option, *arguments, rows, exchanges=20):
        """Each program that does not refuse the option succeeds, and its client prints these rows."""
        for program in PROGRAMS:
            if program not in REFUSED[option][0]:
                with self.subTest(program):
                    _, client = self.passes(program, option, *arguments, exchanges=exchanges)
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
                code, client = programs.run([*command, "127.0.0.1"], programs.hooked())
                heard, _ = server.communicate(timeout=programs.LIMIT)
                self.assertEqual((code, server.returncode), (0, 0), f"client: {client}\nserver: {heard}")
                self.assertIn("rdma_cm QPs\t : ON", client)
                self.assertEqual(self.rows(client), [(size_of(program), 20)], client)


class Sizes(Perftest):
    def test_every_size(self):
        self.each_passes("-a", rows=lambda _: [(2 ** n, 5) for n in range(1, 24)], exchanges=5)


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
            code, output = programs.run(command)
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
    """Programs that run until their counters show what a test waits for. How long that takes does not matter, and no
    share of counters is judged: it depends on when the processes run."""

    def counted(self, command, reached, **settings):
        return programs.counted_until([*command, "-u", programs.SELDOM, "-D", "3600"], programs.environment(**settings), reached)


class Loss(WatchedPrograms):
    def test_every_operation_ends_right_where_one_packet_in_a_hundred_is_lost(self):
        for program in PROGRAMS:
            with self.subTest(program):
                self.passes(program, exchanges=300, WIREPROOF_VERBS_LOSS="0.01", WIREPROOF_VERBS_SEED="3")

    def test_what_was_lost_is_sent_again(self):
        self.counted(["ib_send_bw", "-s", "4096"], lambda _, client: client.sum_of("resent") > 10,
                     WIREPROOF_VERBS_LOSS="0.01", WIREPROOF_VERBS_SEED="3")

    def test_several_queue_pairs(self):
        self.passes("ib_send_bw", "-q", "4", WIREPROOF_VERBS_LOSS="0.01", WIREPROOF_VERBS_SEED="3")


class Acknowledgements(WatchedPrograms):
    """Over UDP one acknowledgement covers several messages if the sender does not wait for each of them."""

    def test_some_of_a_stream_of_writes_cover_several(self):
        server, client = self.counted(["ib_write_bw", "-s", "8"], lambda server, _: server.sum_of("executed") > 5000,
                                      **OVER_UDP)
        self.assertLess(server.sum_of("acks_sent"), server.sum_of("executed"))
        self.assertEqual(client.sum_of("timeouts"), 0)

    def test_a_write_that_the_sender_waits_for_draws_one(self):
        server, client = self.counted(["ib_write_bw", "-s", "8", "-t", "1"],
                                      lambda server, _: server.sum_of("executed") > 500, **OVER_UDP)
        # A copy that leaves because the answer comes late draws one, too.
        copies = server.sum_of("acks_sent") - server.sum_of("executed")
        self.assertTrue(0 <= copies <= server["hw_counters.duplicate_request"], server)
        self.assertEqual(client.sum_of("timeouts"), 0)


class Recovery(WatchedPrograms):
    """Over UDP, where nothing is lost on the way."""

    def test_a_default_receive_buffer_has_room_for_all_that_is_under_way(self):
        for side in self.counted(["ib_write_bw", "-s", "65536"], lambda server, _: server.sum_of("executed") > 200,
                                 WIREPROOF_VERBS_RECEIVE_BUFFER=STOCK_BUFFER, **OVER_UDP):
            self.assertEqual(side["wire.kernel_dropped"], 0)

    def test_long_messages_leave_in_super_packets_and_none_is_damaged(self):
        for program in ("ib_write_bw", "ib_send_bw", "ib_read_bw"):
            with self.subTest(program):
                def many(server, client, sends=program != "ib_read_bw"):
                    sender, receiver = (client, server) if sends else (server, client)
                    return sender["wire.super_packets_sent"] > 100 and receiver["hw_counters.rcvd_pkts"] > 2000

                for side in self.counted([program, "-s", "65536"], many, **OVER_UDP):
                    self.assertEqual(side["wire.icrc_wrong"], 0)
                    self.assertEqual(side["wire.identification_jumped"], 0)
                    self.assertEqual(side["wire.segments_refused"], 0)

    def test_reads_of_several_queue_pairs_run_into_no_timeout(self):
        sides = self.counted(["ib_read_bw", "-q", "4"], lambda _, client: client.sum_of("answers") > 1000, **OVER_UDP)
        self.assertEqual([side.sum_of("timeouts") for side in sides], [0, 0])


if __name__ == "__main__":
    FOLDER = sys.argv.pop(1)
    unittest.main()
