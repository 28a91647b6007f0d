#!/usr/bin/env python3
"""The Wireshark plugin: its filters, the frames of ladders, and packets that the test makes.

usage: wireshark_test.py [CLASS] [unittest options]
"""
import os
import pathlib
import re
import shutil
import struct
import subprocess
import unittest

from wireshark_kit import LINKTYPE_USER0, PLUGIN, ROOT, Case, am_ladders, am_packet, packets_of, pcapng, udp


class Fields(Case):
    """The table of filters in docs/guide/messages/wireshark.md, and the folders of plugins."""

    def filters(self):
        """The filters with the plugin in the user's folder."""
        shutil.copytree(PLUGIN, self.path(".local/lib/wireshark/plugins/wireproof"))
        rows = [line.split("\t") for line in self.tshark("-G", "fields", plugin=False).splitlines()]
        return {row[2] for row in rows if len(row) > 2 and row[2].startswith("wireproof.")}

    def test_each_is_in_the_table_and_each_of_the_table_exists(self):
        text = (ROOT / "docs" / "guide" / "messages" / "wireshark.md").read_text()
        rows = [line for line in text.splitlines() if line.startswith("| `wireproof.")]
        listed = [name for row in rows for name in re.findall(r"`(wireproof\.[a-z_.]+)`", row.split(" | ")[0])]
        self.assertEqual(len(listed), len(set(listed)), "a filter is listed twice")
        self.assertEqual(set(listed), self.filters())


    def test_are_there_from_the_folder_of_all_users(self):
        """The folder that tshark names is the one of the plugin in a mount namespace."""
        folders = self.tshark("-G", "folders", plugin=False)
        there = re.search(r"^Global Lua Plugins:\s+(.*)$", folders, re.M)[1]
        namespace = ["unshare", "--map-root-user", "--mount", "sh", "-ec", 'mount --bind "$1" "$2"; shift 2; exec "$@"',
                     "sh", str(PLUGIN.parent), there]
        if subprocess.run([*namespace, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no mount namespace may be made here")
        done = subprocess.run([*namespace, "tshark", "-G", "fields"], capture_output=True, text=True, check=True,
                              env={**os.environ, "HOME": self.folder})
        self.assertNotIn("Lua", done.stderr)
        self.assertIn("\twireproof.am.number\t", done.stdout)


class Ladders(Case):
    """Each built-in ladder of SP Active Messages: kind, numbers and retransmissions of each packet."""

    KINDS = "- REQ REP CHUNK OPEN GET_REQ ACK NACK KEEPALIVE HELLO BUNDLE UNKNOWN".split()

    def check(self, name, *options):
        """Returns the number of retransmissions."""
        drawn, file = self.ladder(name)
        events = drawn["events"]
        fields = ("malformed", "damaged", "kind", "retransmission", "resent_of", "number")
        rows = self.rows(file, ["wireproof.am." + field for field in fields], *options)
        self.assertEqual(len(rows), len(events))
        for number, (event, row) in enumerate(zip(events, rows), 1):
            complaints, (kind, resent, before, numbers) = row[:2], row[2:]
            self.assertFalse(any(complaints), event)
            self.assertEqual(self.KINDS[int(kind[0])], event["frame"], event)
            self.assertEqual(bool(resent), event["resent"], event)
            self.assertEqual(len(before), event["resent"], event)
            if "seq" in event:
                self.assertIn(str(event["seq"]), numbers, event)
            if before:
                self.expect_the_frame_before(events, event, number, int(before[0]))
        return sum(event["resent"] for event in events)

    def expect_the_frame_before(self, events, event, number, before):
        """A retransmission names the packet that had its number before."""
        self.assertLess(before, number)
        former = events[before - 1]
        self.assertEqual(former["from"], event["from"], event)
        if "seq" in former and "seq" in event:
            self.assertEqual(former["seq"], event["seq"])

    def test_are_shown_as_they_are_drawn(self):
        again = 0
        for name in am_ladders():
            with self.subTest(name):
                again += self.check(name)
        self.assertGreaterEqual(again, 10)

    def test_of_smaller_circles_need_the_modulus(self):
        file = self.path("small.toml")
        pathlib.Path(file).write_text(
            'name = "small"\ntitle = "A small circle."\nprotocol = "sp-am"\n'
            '[engine]\nmodulus = 64\nfirst_number = 0\nwindow = 12\nchunk_packets = 8\nchunks_in_flight = 1\n'
            '[[traffic]]\nfrom = "A"\nmessages = 100\n'
            '[[fault]]\ndirection = "A->B"\nnth = 70\nfate = "damaged"\n')
        self.assertEqual(self.check(file, "-o", "wireproof.am.modulus:64"), 11)

    def test_without_the_packets_that_were_lost_have_gaps(self):
        """The packets that are not in the capture are named as missing by those that follow them."""
        for name in ("am-lost-request", "am-lost-bulk-chunk"):
            with self.subTest(name):
                drawn, file = self.ladder(name)
                kept = [(frame, len(frame), interface) for event, (interface, frame)
                        in zip(drawn["events"], packets_of(file)) if event["fate"] != "lost"]
                self.assertLess(len(kept), len(drawn["events"]))
                seen = self.path("seen.pcapng")
                pathlib.Path(seen).write_bytes(pcapng(kept, LINKTYPE_USER0, ["sp-am A to B", "sp-am B to A"]))
                rows = self.rows(seen, ["wireproof.am.missing", "wireproof.am.gap", "wireproof.am.retransmission"])
                self.assertEqual(sum(int(value) for row in rows for value in row[0]), 1)
                self.assertEqual(sum(len(row[1]) for row in rows), 1)
                again = sum(event["resent"] for event in drawn["events"] if event["fate"] != "lost")
                self.assertEqual(sum(len(row[2]) for row in rows), again)

    def test_are_shown_alike_when_they_are_read_twice(self):
        _, file = self.ladder("am-lost-bulk-chunk")
        self.assertEqual(self.tshark("-r", file, "-V"), self.tshark("-2", "-r", file, "-V"))

    def test_leave_other_files_of_this_link_type_alone(self):
        other = self.path("other.pcapng")
        pathlib.Path(other).write_bytes(pcapng([bytes(40)], LINKTYPE_USER0, ["eth0"]))
        _, link = self.ladder("pcie-lost-tlp")
        for file in (other, link):
            self.assertIn("User encapsulation not handled", self.tshark("-r", file, "-V"))


class Packets(Case):
    """Packets that the test makes, of all kinds."""

    def write(self, frames, name="made.pcapng"):
        file = self.path(name)
        pathlib.Path(file).write_bytes(pcapng(frames))
        return file

    def values(self, file, *names):
        return [[found[0] if found else None for found in row]
                for row in self.rows(file, ["wireproof." + name for name in names])]

    def test_all_kinds_have_their_fields(self):
        def words(*values):
            return struct.pack("<" + "Q" * len(values), *values)
        hello = words(0xAB, 0x1111, 0, 8)
        packets = [
            (9, {"cookie": 0, "count": 1, "data": hello},
             {"job": "0xab", "nonce": "0x1111", "echo": "0x0", "terms": "0x8"}),
            (1, {"number": 4, "id_": 3, "count": 2, "data": b"hi"}, {"number": "4", "id": "3", "data": "6869"}),
            (2, {"channel": 1, "data": struct.pack("<III", 2, 9, 2), "id_": 0},
             {"refused_what": "2", "refused_id": "9", "refused_reason": "2"}),
            (3, {"number": 5, "count": 2, "offset": 100, "data": b"abc"}, {"offset": "100", "data_length": "3"}),
            (4, {"number": 7, "data": words(0x1000, 50) + struct.pack("<II", 6, 0xAA)},
             {"address": "0x1000", "total": "50", "handler": "6", "argument": "0x000000aa"}),
            (5, {"number": 8, "data": words(0x2000, 60)}, {"address": "0x2000", "total": "60"}),
            (6, {"acks": (17, 18)}, {"ack_request": "17", "ack_reply": "18"}),
            (7, {"number": 20, "count": 5, "data": struct.pack("<II", 3, 4) + b"\x02"},
             {"nack_end": "3", "nack_reach": "4", "nack_map": "02", "nack_lost": "2", "nack_marks": "1"}),
            (8, {"number": 9}, {"number": "9"}),
            (10, {"number": 9, "count": 2, "data": struct.pack("<HH", 4, 1) + b"x" + struct.pack("<HH", 5, 0)},
             {"message_handler": "4", "message_length": "1"}),
            (11, {"count": 2, "id_": 1400, "number": 5}, {"ended": "2", "id": "1400"}),
        ]
        file = self.write([udp(am_packet(kind, **fields)) for kind, fields, _ in packets])
        names = sorted({name for *_, expected in packets for name in expected})
        rows = self.values(file, "am.kind", "am.checksum_status", "am.malformed", *("am." + name for name in names))
        for (kind, _, expected), row in zip(packets, rows):
            with self.subTest(kind):
                self.assertEqual(row[:3], [str(kind), "1", None])
                found = dict(zip(names, row[3:]))
                shown = [found[name] and found[name].lower() for name in expected]
                wanted = list(expected.values())
                if shown != wanted:  # numbers of 64 bits have leading zeros
                    shown = [hex(int(value, 16)) if value and value.startswith("0x") else value for value in shown]
                    wanted = [hex(int(value, 16)) if value.startswith("0x") else value for value in wanted]
                self.assertEqual(shown, wanted)

    def test_a_packet_is_found_without_its_port_and_others_are_not(self):
        packet = am_packet(1, number=1, data=b"abcd")
        frames = [udp(packet), udp(packet[:-1] + b"X", source=7005), udp(bytes(100), source=7006)]
        self.assertEqual(self.values(self.write(frames), "am.kind"), [["1"], [None], [None]])

    def test_numbers_wrap(self):
        file = self.write([udp(am_packet(1, number=number % 2 ** 32, data=b"a", round_=round_))
                           for number, round_ in ((-3, 0), (-2, 0), (1, 0), (-1, 1), (0, 1), (1, 1), (2, 1))])
        self.assertEqual(self.values(file, "am.number", "am.missing", "am.retransmission"),
                         [["4294967293", None, None], ["4294967294", None, None], ["1", "2", None],
                          ["4294967295", None, "1"], ["0", None, "1"], ["1", None, "1"], ["2", None, None]])

    def test_rounds_tell_late_packets_duplicates_and_retransmissions_apart(self):
        file = self.write([udp(am_packet(1, number=number, data=b"a", round_=round_))
                           for number, round_ in ((1, 0), (3, 0), (2, 0), (3, 0), (3, 1), (5, 1), (4, 2))])
        self.assertEqual(self.values(file, "am.out_of_order", "am.duplicate", "am.retransmission", "am.resent_of"),
                         [[None] * 4, [None] * 4, ["1", None, None, None], [None, "1", None, "2"],
                          [None, None, "1", "4"], [None] * 4, [None, None, "1", None]])

    def test_streams_are_of_one_session_and_one_channel(self):
        file = self.write([udp(am_packet(1, number=5, data=b"a")), udp(am_packet(1, number=5, data=b"a", cookie=0x99)),
                           udp(am_packet(2, number=5, data=b"a", channel=1))])
        self.assertEqual(self.values(file, "am.retransmission", "am.duplicate", "am.gap"), [[None] * 3] * 3)

    def test_a_chunk_that_is_not_whole_has_a_gap(self):
        def chunk(number, offset, round_=0):
            return udp(am_packet(3, number=number, count=4, offset=offset, data=bytes(10), round_=round_))
        file = self.write([chunk(10, 0), chunk(10, 20), chunk(10, 30), chunk(14, 40), chunk(14, 50), chunk(18, 80),
                           chunk(10, 10, 1), chunk(14, 60, 1), udp(am_packet(1, number=22, data=b"a", round_=1))])
        self.assertEqual(self.values(file, "am.missing", "am.retransmission"),
                         [[None, None], ["1", None], [None, None], [None, None], [None, None], ["2", None],
                          [None, "1"], [None, "1"], ["3", None]])

    def test_a_keepalive_shows_that_the_last_packets_are_missing(self):
        file = self.write([udp(am_packet(1, number=5, data=b"a")), udp(am_packet(8, number=8)),
                           udp(am_packet(1, number=6, data=b"a", round_=1))])
        self.assertEqual(self.values(file, "am.missing", "am.retransmission"), [[None, None], ["2", None], [None, "1"]])

    def test_a_node_that_leaves_is_named(self):
        file = self.write([udp(am_packet(8, number=8)), udp(am_packet(8, number=8, count=1)),
                           udp(am_packet(7, number=8, id_=1)), udp(am_packet(7, number=8, id_=0))])
        self.assertEqual(self.values(file, "am.keepalive", "am.leaves"),
                         [["1", None], [None, "1"], [None, "1"], [None, None]])

    def test_acknowledgements_name_the_packet_and_its_age(self):
        back = {"src": 1, "dst": 0}
        file = self.write([udp(am_packet(1, number=5, data=b"a")), udp(am_packet(1, number=6, data=b"a")),
                           udp(am_packet(6, acks=(7, 0), **back), 7000, 7001),
                           udp(am_packet(6, acks=(7, 0), **back), 7000, 7001)])
        self.assertEqual(self.values(file, "am.acks_frame", "am.ack_rtt", "am.duplicate_ack"),
                         [[None] * 3, [None] * 3, ["2", "0.000001000", None], [None, None, "1"]])

    def test_an_acknowledgement_ends_before_its_number(self):
        back = {"src": 1, "dst": 0}
        file = self.write([udp(am_packet(1, number=5, data=b"a")), udp(am_packet(1, number=6, data=b"a")),
                           udp(am_packet(6, acks=(6, 0), **back), 7000, 7001),
                           udp(am_packet(1, number=6, data=b"a", round_=1)),
                           udp(am_packet(6, acks=(7, 0), **back), 7000, 7001)])
        rows = self.values(file, "am.acks_frame", "am.ack_rtt")
        self.assertEqual((rows[2], rows[4]), (["1", "0.000002000"], ["2", None]))

    def test_filler_is_neither_data_nor_checked(self):
        packet = bytearray(am_packet(3, number=1, count=1, data=b"abc", filler=5)) + b"12345"
        file = self.write([udp(bytes(packet))])
        self.assertEqual(self.values(file, "am.filler", "am.data", "am.data_length", "am.checksum_status"),
                         [["5", "616263", "3", "1"]])

    def test_answers_name_their_question(self):
        back = {"src": 1, "dst": 0}
        there = (7000, 7001)
        hello = struct.pack("<QQQQ", 1, 0x1111, 0, 8), struct.pack("<QQQQ", 1, 0x2222, 0x1111, 8)
        file = self.write([
            udp(am_packet(9, cookie=0, data=hello[0])), udp(am_packet(9, cookie=0, data=hello[1], **back), *there),
            udp(am_packet(5, number=5, id_=3, data=bytes(16))),
            udp(am_packet(3, number=1, id_=3, count=2, channel=1, data=b"ab", **back), *there),
            udp(am_packet(3, number=1, id_=3, count=2, offset=2, channel=1, data=b"ab", **back), *there),
            udp(am_packet(8, number=9, round_=4)),
            udp(am_packet(7, number=6, round_=4, data=struct.pack("<II", 3, 3), **back), *there),
            udp(am_packet(5, number=9, id_=4, data=bytes(16))),
            udp(am_packet(2, number=3, id_=0, channel=1, data=struct.pack("<III", 3, 4, 2), **back), *there)])
        self.assertEqual([row[0] for row in self.values(file, "am.response_to")],
                         [None, "1", None, "3", None, None, "6", None, "8"])

    def test_a_super_packet_is_taken_apart(self):
        first = am_packet(1, number=1, data=b"a" * 20)
        second = am_packet(1, number=2, data=b"b" * 20)
        last = am_packet(1, number=3, data=b"c" * 3)
        spoilt = first[:-1] + b"X"
        file = self.write([udp(first + second + last), udp(spoilt + second + last)])
        rows = self.rows(file, ["wireproof.am.number", "wireproof.am.damaged", "wireproof.am.data_length"])
        self.assertEqual(rows, [[["1", "2", "3"], [], ["20", "20", "3"]], [["1", "2", "3"], ["1"], ["20", "20", "3"]]])


if __name__ == "__main__":
    unittest.main()
