"""Captures from all sources that `wireproof inspect` reads, and damaged captures."""
import glob
import gzip
import os
import re
import struct
import subprocess
import textwrap
import threading
import unittest

from captures import (Inspection, answer, at_once, capture, case, frame, pcap, pcapng, records, send,
                      super_packet)
from command import PATIENCE, WIREPROOF, one_object

PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "guide", "rdma", "inspect.md")
KINDS = ("gap", "nak", "rnr", "retry", "duplicate", "abandoned", "lost")


class EveryCaptureIsRead(Inspection):
    def test_every_icrc_is_right_but_the_one_that_was_made_wrong(self):
        files = sorted(glob.glob(capture("*")))
        self.assertEqual(len(files), 39)
        packets = 0
        for file in files:
            with self.subTest(os.path.basename(file)):
                found = self.inspect(file)
                packets += found["packets"]
                wrong = 1 if file.endswith("host_rc_bad_icrc_dropped.pcap") else 0
                self.assertEqual((found["icrc_bad"], found["malformed"]), (wrong, 0))
                names = [one["name"] for one in found["connections"]]
                for event in found["events"]:
                    self.assertTrue(event["what"].startswith(KINDS), event)
                    self.assertIn(event["connection"], names)
        self.assertEqual(packets, 606)

    def test_the_table_has_a_row_for_each_packet_and_fits_80_columns(self):
        for file in sorted(glob.glob(capture("*"))):
            with self.subTest(os.path.basename(file)):
                found = self.inspect(file)
                ended = self.run_command("inspect", file)
                self.assertEqual((ended.code, ended.err), (0, ""))
                lines = ended.out.splitlines()
                self.assertLessEqual(max(map(len, lines)), 80)
                rows = [line for line in lines if line[:6].strip().isdigit() and " * " not in line]
                self.assertEqual(len(rows), found["packets"])
                self.assertIn(f"{found['packets']} packets of RoCEv2", lines[-1])

    def test_a_row_names_what_the_headers_say(self):
        rows = self.run_command("inspect", capture("rc_write")).out.splitlines()
        self.assertIn("way 1: 198.18.0.2 > 198.18.0.3 qp 00003f (RC)", rows)
        row = next(row for row in rows if "WRITE Only Imm" in row)
        self.assertEqual(row.split()[2:], ["1", "WRITE", "Only", "Imm", "000002", "6", "of", "6",
                                           "imm", "c0de0005", "AckReq"])

    def test_the_page_about_it_shows_what_its_example_prints(self):
        with open(PAGE, encoding="utf-8") as file:
            example = re.search(r"    \$ wireproof inspect tests/data/rocev2/(\w+)\.pcap\n(.*?)\n\n",
                                file.read(), re.DOTALL)
        ended = self.run_command("inspect", capture(example[1]))
        self.assertEqual(ended.out.strip("\n"), textwrap.dedent(example[2]).strip("\n"))

    def test_what_is_not_rocev2_is_counted_apart(self):
        found = self.inspect(capture("ibv_rc_pingpong"))
        self.assertEqual((found["packets"], found["other"]),
                         (50, len(list(records("ibv_rc_pingpong"))) - 50))

    def test_every_form_of_file_gives_the_same_answer(self):
        frames = list(records("rc_rnr"))
        expected = self.run_command("inspect", capture("rc_rnr")).out
        nanoseconds = [(seconds, part * 1000, frame) for seconds, part, frame in frames]
        for data in (pcap(frames), pcap(frames, ">"), pcap(nanoseconds, "<", 0xA1B23C4D),
                     pcap(nanoseconds, ">", 0xA1B23C4D), pcapng(frames), pcapng(frames, ">")):
            self.assertEqual(self.run_command("inspect", self.write(data)).out, expected)

    def test_a_packet_that_does_not_decode_is_counted_and_the_rest_is_read(self):
        frames = [frame for _, _, frame in records("rc_send")][:4]
        short = bytearray(frames[1])
        short[39] = 200  # the length in the UDP header
        found = self.inspect(self.write(pcap(
            [(0, 0, frames[0]), (0, 1, bytes(short)), (0, 2, frames[2][:50]), (0, 3, frames[3])])))
        self.assertEqual((found["packets"], found["icrc_bad"], found["malformed"]), (4, 0, 2))

    def test_every_bit_of_a_packet_is_covered(self):
        frame = next(frame for _, _, frame in records("uc_send"))
        for at in range(42, len(frame)):
            if at == 42 + 4:  # the ICRC does not cover the congestion bits
                continue
            changed = bytearray(frame)
            changed[at] ^= 1 << at % 8
            found = self.inspect(self.write(pcap([(0, 0, bytes(changed))])))
            self.assertEqual((found["packets"], found["icrc_bad"]), (1, 1), at)

    def test_a_super_packet_that_was_captured_whole_is_shown_packet_by_packet(self):
        for sizes in ((400, 400, 400, 400), (4096, 4096, 1), (4,) * 32):
            frames = [frame(False, 4, 7, 0xFFFFFE + place & 0xFFFFFF, bytes(size + -size % 4))
                      for place, size in enumerate(sizes)]
            path = self.write(pcapng([(0, 0, super_packet(frames), b"together"), (0, 1, answer(7, 0))]))
            found = self.inspect(path)
            self.assertEqual((found["packets"], found["icrc_bad"], found["malformed"]),
                             (len(sizes) + 1, 0, 0))
            self.assertEqual(len(found["comments"]), 1)
            table = self.run_command("inspect", path).out
            self.assertEqual(len(re.findall(r"(?m)^ +1 .* SEND Only", table)), len(sizes), table)

    def test_a_damaged_packet_of_a_super_packet_is_the_only_one(self):
        frames = [frame(False, 4, 7, place, bytes(400)) for place in range(4)]
        whole = super_packet(frames)
        for damaged in range(4):
            changed = bytearray(whole)
            changed[42 + damaged * (12 + 400 + 4) + 100] ^= 1
            found = self.inspect(self.write(pcap([(0, 0, bytes(changed))])))
            self.assertEqual((found["packets"], found["icrc_bad"]), (4, 1), damaged)

    def test_comments_are_shown_with_their_packet(self):
        frames = list(records("uc_drop_middle.at_server"))[:2]
        for order in "<>":
            path = self.write(pcapng([(*frames[0], b"lost: \x1b[2Jby a fault"), frames[1]], order))
            self.assertEqual(self.inspect(path)["comments"], [{"packet": 1, "text": "lost:  [2Jby a fault"}])
            for options in ((), ("--events",)):
                ended = self.run_command("inspect", path, *options)
                self.assertEqual((ended.code, ended.err), (0, ""))
                self.assertRegex(ended.out, r"(?m)^ +1 +- # lost:  \[2Jby a fault$")

    def test_a_time_above_its_unit_is_named_and_not_shown(self):
        found = self.inspect(case("nano_as_micro"))
        self.assertEqual((found["packets"], found["time_above_unit"]), (2, 1))
        ended = self.run_command("inspect", case("nano_as_micro"))
        self.assertIn("\n     2         -   2 ACK", ended.out)
        self.assertIn("\ntime above its unit: 1 packet; the file may count in another\n", ended.out)

    def test_an_empty_capture_is_no_mistake(self):
        for data in (pcap([]), pcapng([])):
            found = self.inspect(self.write(data))
            self.assertEqual((found["packets"], found["other"], found["events"]), (0, 0, []))


class EveryKindOfLinkIsReadOrNamed(Inspection):
    def test_other_links_than_ethernet(self):
        for name in ("sll", "sll2", "ipv4_228", "loop108"):
            with self.subTest(name):
                found = self.inspect(case(name))
                self.assertEqual((found["packets"], found["other"], found["icrc_bad"],
                                  found["malformed"], found["unread"]), (1, 0, 0, 0, []))

    def test_a_link_that_is_not_read_is_named_with_what_it_hides(self):
        for name, what in (("erf197", "link type 197 (ERF)"),
                           ("ib247", "link type 247 (INFINIBAND)")):
            with self.subTest(name):
                found = self.inspect(case(name))
                self.assertEqual((found["packets"], found["other"]), (0, 1))
                self.assertEqual(found["unread"], [{"what": what, "packets": 1}])
                self.assertIn(f"{what}: 1 packet not read\n",
                              self.run_command("inspect", case(name)).out)

    def test_the_addresses_within_a_tunnel_are_of_its_network(self):
        inner = send(0x11, 0)
        frames = []
        for network in (1, 2):
            vxlan = struct.pack(">II", 0x08000000, network << 8) + inner
            udp = struct.pack(">HHHH", 50000, 4789, 8 + len(vxlan), 0) + vxlan
            ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0) + bytes(8)
            frames.append(bytes(12) + b"\x08\x00" + ip + udp)
        found = self.inspect(self.write(at_once(frames)))
        self.assertEqual([one["name"] for one in found["connections"]],
                         [f"10.0.0.1 > 10.0.0.2 qp 000011 in vxlan {network}"
                          for network in (1, 2)])
        self.assertEqual(found["events"], [])

    def test_a_snap_length_hides_the_icrc_and_not_the_headers(self):
        found = self.inspect(case("sliced"))
        self.assertEqual((found["packets"], found["icrc_not_captured"], found["icrc_bad"],
                          found["malformed"], found["events"]), (4, 2, 0, 0, []))
        rows = self.run_command("inspect", case("sliced")).out
        self.assertIn("WRITE First            000005 1024 of 2052 ICRC cut", rows)
        self.assertLessEqual(max(map(len, rows.splitlines())), 80)
        self.assertIn("ICRC not captured: 2 packets cut by the snap length", rows)
        found = self.inspect(case("sliced_gap"))
        self.assertEqual([(event["packet"], event["what"]) for event in found["events"]],
                         [(2, "gap: PSN 000007, 000006 was expected"),
                          (3, "nak: sequence, PSN 000006 (way 1)")])

    def test_every_length_that_may_be_kept_of_a_packet(self):
        whole = next(frame for _, _, frame in records("rc_write"))
        head = pcap([])
        for kept in range(14, len(whole)):
            found = self.inspect(self.write(head + struct.pack("<IIII", 0, 0, kept, len(whole)) +
                                            whole[:kept]))
            self.assertEqual((found["icrc_bad"], found["malformed"]), (0, 0), kept)
            if kept < 14 + 20 + 4:
                self.assertEqual(len(found["unread"]), 1, kept)
            else:
                self.assertEqual((found["packets"], found["icrc_not_captured"]), (1, 1), kept)


class ACaptureComesFromAnywhere(Inspection):
    def read_from(self, data, *arguments):
        ended = subprocess.run([WIREPROOF, "inspect", *arguments, "-"], input=data,
                               capture_output=True, timeout=PATIENCE, check=False)
        return ended.returncode, ended.stdout.decode(), ended.stderr.decode()

    def setUp(self):
        super().setUp()
        self.expected = self.run_command("inspect", capture("rc_rnr")).out
        with open(capture("rc_rnr"), "rb") as file:
            self.data = file.read()

    def test_standard_input(self):
        self.assertEqual(self.read_from(self.data), (0, self.expected, ""))
        code, out, err = self.read_from(self.data[:-30])
        self.assertEqual((code, err.count("\n")), (1, 1))
        self.assertIn("standard input: packet ", err)
        self.assertIn("packets of RoCEv2", out)

    def test_a_fifo_that_gives_a_little_at_a_time(self):
        path = self.path("fifo")
        os.mkfifo(path)

        def write():
            with open(path, "wb", buffering=0) as file:
                for at in range(0, len(self.data), 333):
                    file.write(self.data[at:at + 333])
        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        ended = self.run_command("inspect", path)
        writer.join(PATIENCE)
        self.assertEqual((ended.code, ended.out, ended.err), (0, self.expected, ""))

    def test_gzip(self):
        half = len(self.data) // 2
        for packed in (gzip.compress(self.data),
                       gzip.compress(self.data[:half]) + gzip.compress(self.data[half:])):
            self.assertEqual(self.run_command("inspect", self.write(packed, "some.pcap.gz")).out,
                             self.expected)
            self.assertEqual(self.read_from(packed), (0, self.expected, ""))

    def test_another_compression_is_named(self):
        for name, first in (("xz", b"\xfd7zXZ\0"), ("zstd", b"\x28\xb5\x2f\xfd"),
                            ("bzip2", b"BZh9")):
            ended = self.run_command("inspect", self.write(first + bytes(50)))
            self.expect_failure(ended, 1, f"it is compressed by {name}; pipe it through")

    def test_gzip_that_is_cut_short_or_damaged_is_told_in_one_line(self):
        packed = gzip.compress(self.data)
        bad = bytearray(packed)
        bad[-6] ^= 1  # in the check of the whole file
        for data, words in ((packed[:-20], "its gzip data ends early, after "),
                            (bytes(bad), "its gzip data is damaged after "),
                            (packed[:30] + bytes(40), "its gzip data ")):
            name = self.write(data, "some.pcap.gz")
            self.expect_failure(self.run_command("inspect", name), 1, "some.pcap.gz: " + words)
            ended = self.run_command("inspect", "--json", name)
            self.assertIn(words, one_object(ended)["error"])
        found = one_object(self.run_command("inspect", "--json", self.write(packed[:-20], "x.gz")))
        self.assertGreater(found["packets"], 20)


class ADamagedCaptureIsToldInOneLine(Inspection):
    def refuses(self, code, *arguments, words=()):
        with self.subTest(arguments):
            ended = self.run_command("inspect", *arguments)
            self.expect_failure(ended, code, *words)
            return ended

    def test_the_command_line_makes_no_sense(self):
        self.refuses(2, words=["FILE"])
        self.refuses(2, capture("rc_send"), capture("rc_send"))
        self.refuses(2, capture("rc_send"), "--packets")

    def test_it_cannot_be_read(self):
        self.refuses(1, "nowhere.pcap", words=["cannot read nowhere.pcap", "No such file"])
        self.refuses(1, self.folder, words=["cannot read", "directory"])

    def test_it_is_no_capture(self):
        self.refuses(1, self.write(b""), words=["some.pcap: neither a pcap nor a pcapng file"])
        self.refuses(1, self.write(b"\x7fELF" + bytes(100)), words=["neither a pcap nor"])
        self.refuses(1, self.write(pcap([])[:10]), words=["cut short"])

    def test_json_names_the_error_too(self):
        for file in ("nowhere.pcap", self.folder, self.write(b"")):
            ended = self.run_command("inspect", "--json", file)
            self.expect_failure(ended, 1)
            self.assertIn(one_object(ended)["error"], ended.err)

    def test_it_is_cut_short(self):
        for whole in (pcap(records("rc_tos")), pcapng(records("rc_tos"))):
            name = self.write(whole[:-30])
            ended = self.refuses(1, name, words=["some.pcap: packet 5: the file ends after"])
            self.assertEqual(ended.out.count("AckReq"), 2)
            ended = self.run_command("inspect", "--json", name)
            self.expect_failure(ended, 1, "packet 5: ")
            found = one_object(ended)
            self.assertEqual((found["packets"], found["icrc_bad"]), (4, 0))
            self.assertIn("packet 5: the file ends", found["error"])

    def test_it_is_damaged(self):
        frames = list(records("rc_tos"))
        data = bytearray(pcap(frames))
        at = 24 + 16 + len(frames[0][2])
        struct.pack_into("<I", data, at + 8, 0x7FFFFFFF)
        self.refuses(1, self.write(bytes(data)), words=["packet 2: it claims 2147483647 bytes"])
        data = bytearray(pcapng(frames))
        data[28 + 20 + 4] ^= 4
        self.refuses(1, self.write(bytes(data)), words=["packet 1: ", "damaged"])


if __name__ == "__main__":
    unittest.main()
