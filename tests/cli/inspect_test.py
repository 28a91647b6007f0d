"""Captures of Soft-RoCE as `wireproof inspect` tells them, and captures that are damaged."""
import glob
import gzip
import os
import random
import re
import struct
import subprocess
import textwrap
import threading
import unittest
import zlib

from command import WIREPROOF, Case, one_object

CASES = os.path.join(os.path.dirname(__file__), "..", "data", "inspect")
CAPTURES = os.path.join(os.path.dirname(__file__), "..", "data", "rocev2")
PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "inspect.md")
KINDS = ("gap", "nak", "rnr", "retry", "duplicate", "abandoned", "lost")


def capture(name):
    return os.path.join(CAPTURES, name + ".pcap")


def case(name):
    return os.path.join(CASES, name + ".pcap")


def records(name):
    """The frames of a capture, each with seconds and microseconds."""
    with open(capture(name), "rb") as file:
        data = file.read()
    at = 24
    while at < len(data):
        seconds, part, size, _ = struct.unpack_from("<IIII", data, at)
        yield seconds, part, data[at + 16:at + 16 + size]
        at += 16 + size


def pcap(frames, order="<", magic=0xA1B2C3D4):
    file = struct.pack(order + "IHHIIII", magic, 2, 4, 0, 0, 65535, 1)
    for seconds, part, frame in frames:
        file += struct.pack(order + "IIII", seconds, part, len(frame), len(frame)) + frame
    return file


def pcapng(frames, order="<"):
    def block(kind, body):
        body += bytes(-len(body) % 4)
        length = struct.pack(order + "I", len(body) + 12)
        return struct.pack(order + "I", kind) + length + body + length
    file = block(0x0A0D0D0A, struct.pack(order + "IHHQ", 0x1A2B3C4D, 1, 0, 2 ** 64 - 1))
    file += block(1, struct.pack(order + "HHI", 1, 0, 0))
    for seconds, part, frame in frames:
        time = seconds * 1_000_000 + part
        file += block(6, struct.pack(order + "IIIII", 0, time >> 32, time & 0xFFFFFFFF,
                                     len(frame), len(frame)) + frame)
    return file


def with_icrc(frame):
    """An Ethernet frame with IPv4 whose ICRC is made right."""
    ip, udp, packet = bytearray(frame[14:34]), bytearray(frame[34:42]), bytearray(frame[42:-4])
    covered = packet[:]
    ip[1] = ip[8] = ip[10] = ip[11] = udp[6] = udp[7] = covered[4] = 0xFF
    icrc = zlib.crc32(b"\xff" * 8 + ip + udp + covered)
    return frame[:42] + bytes(packet) + struct.pack("<I", icrc)


class Inspection(Case):
    def write(self, data, name="some.pcap"):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return name

    def inspect(self, file):
        ended, found = self.run_json("inspect", file)
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertEqual(found["schema"], "wireproof.inspect/1")
        return found


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
            if at == 42 + 4:  # the congestion bits, which are not
                continue
            changed = bytearray(frame)
            changed[at] ^= 1 << at % 8
            found = self.inspect(self.write(pcap([(0, 0, bytes(changed))])))
            self.assertEqual((found["packets"], found["icrc_bad"]), (1, 1), at)

    def test_an_empty_capture_is_no_mistake(self):
        for data in (pcap([]), pcapng([])):
            found = self.inspect(self.write(data))
            self.assertEqual((found["packets"], found["other"], found["events"]), (0, 0, []))


class EventsAreToldWithTheirPacket(Inspection):
    def events(self, name):
        return [(event["packet"], event["what"].split()[0].rstrip(":"))
                for event in self.inspect(capture(name))["events"]]

    def test_a_receiver_that_is_not_ready(self):
        events = self.events("rc_rnr")
        self.assertEqual([one for one in events if one[1] == "rnr"],
                         [(number, "rnr") for number in (6, 11, 16, 21, 26, 31)])

    def test_a_refusal_is_named(self):
        for name, packet, reason in (
                ("rc_nak_badkey_write", 6, "remote access"),
                ("rc_nak_long_send", 4, "remote operational"),
                ("host_rc_nak_misaligned_atomic", 2, "invalid request"),
                ("rc_drop_send_middle.at_server", 9, "sequence")):
            with self.subTest(name):
                naks = [event for event in self.inspect(capture(name))["events"]
                        if event["what"].startswith("nak")]
                self.assertEqual([event["packet"] for event in naks], [packet])
                self.assertIn(reason, naks[0]["what"])
                self.assertIn(" > 198.18.0.", naks[0]["connection"])

    def test_a_message_that_lost_a_packet_is_abandoned_at_the_gap(self):
        self.assertEqual(self.events("uc_drop_middle.at_server"), [(3, "gap"), (3, "abandoned")])
        self.assertEqual(self.events("uc_drop_middle"), [])
        gap = self.inspect(capture("uc_drop_middle.at_server"))["events"][0]
        self.assertEqual(gap["what"], "gap: PSN 000013, 000012 was expected")

    def test_what_a_responder_of_rc_misses_or_has_already_is_told(self):
        for name, expected in {
                "rc_drop_send_middle.at_server": [(3, "gap"), (9, "nak"), (10, "retry")],
                # Where the packet was still there, the NAK alone shows the loss.
                "rc_drop_send_middle": [(10, "nak"), (11, "retry")],
                "rc_drop_ack": [(3, "retry"), (3, "duplicate"), (4, "duplicate")],
                "rc_drop_ack.at_server": [(4, "retry"), (4, "duplicate"), (5, "duplicate")],
                "rc_drop_read_request": [(4, "nak"), (5, "retry")],
                "rc_drop_read_request.at_server": [(3, "nak"), (4, "retry")],
                "rc_drop_read_response": [(3, "lost"), (7, "retry"), (7, "duplicate")],
                "rc_drop_read_response.at_server": [(8, "retry"), (8, "duplicate")],
                "rc_nak_badkey_write": [(6, "nak")], "rc_nak_oob_write": [(3, "nak")],
                "rc_nak_long_send": [(4, "nak")],
                "host_rc_nak_middle_without_first": [(2, "nak")],
                "host_rc_nak_misaligned_atomic": [(2, "nak")]}.items():
            with self.subTest(name):
                self.assertEqual(self.events(name), expected)

    def test_what_a_receiver_was_not_ready_for_is_no_duplicate_when_it_comes_again(self):
        self.assertEqual({what for _, what in self.events("rc_rnr")}, {"rnr", "nak", "retry"})

    def test_a_queue_pair_that_failed_begins_anew(self):
        frames = list(records("rc_nak_badkey_write"))
        events = self.inspect(self.write(pcap(frames + frames)))["events"]
        self.assertEqual([(event["packet"], event["what"][:3]) for event in events],
                         [(6, "nak"), (12, "nak")])

    def test_what_only_the_capture_lost_is_no_event(self):
        """One gap at most, and none after the acknowledgement of what was not seen."""
        frames = list(records("rc_send"))
        for lost in (4, 5, 14, 17, 26):
            events = self.inspect(self.write(pcap(frames[:lost] + frames[lost + 1:])))["events"]
            self.assertLessEqual(len(events), 1, events)
            for event in events:
                self.assertTrue(event["what"].startswith("gap"), event)
                self.assertEqual(event["packet"], lost + 1)

    def test_a_second_copy_on_uc_is_a_duplicate(self):
        frames = list(records("uc_send"))
        copies = frames[:8] + [frames[2], frames[7]] + frames[8:]
        events = self.inspect(self.write(pcap(copies)))["events"]
        self.assertEqual([(event["packet"], event["what"]) for event in events],
                         [(9, "duplicate: PSN fffffc"), (10, "duplicate: PSN 000001")])

    def test_every_single_loss_on_uc_is_told_where_it_shows(self):
        frames = list(records("uc_send"))
        for lost in range(1, len(frames) - 1):
            with self.subTest(lost + 1):
                found = self.inspect(self.write(pcap(frames[:lost] + frames[lost + 1:])))
                self.assertEqual([event["packet"] for event in found["events"]
                                  if event["what"].startswith("gap")], [lost + 1])
                self.assertTrue(all(event["packet"] == lost + 1 for event in found["events"]))

    def test_packets_that_say_anything_are_followed_without_harm(self):
        draw = random.Random(5)
        for name in ("uc_write", "uc_send", "rc_pipelined", "rc_atomic", "rc_rnr"):
            with self.subTest(name):
                frames = []
                for second in range(60):
                    for _, part, frame in records(name):
                        frame = bytearray(frame)
                        for _ in range(draw.randrange(3)):
                            # Not the opcode's transport, version or queue pair: these end it at once.
                            at = draw.choice((43, 51, 52, 53, *range(54, min(len(frame), 84))))
                            frame[at] = draw.choice((0, 1, 0x7F, 0xFF, draw.randrange(256)))
                        frame[42] = (frame[42] & 0xE0) | draw.choice(
                            (frame[42] & 0x1F, draw.randrange(0x18)))
                        frame[43] &= 0xF0
                        frames.append((second, part, with_icrc(bytes(frame))))
                found = self.inspect(self.write(pcap(frames)))
                self.assertEqual((found["packets"], found["icrc_bad"]), (len(frames), 0))
                self.assertGreater(len(found["events"]), 5)

    def test_a_clean_exchange_has_no_events(self):
        for name in ("uc_send", "uc_write", "uc_mtu256", "uc_mtu4096", "uc_errors_silent",
                     "ibv_uc_pingpong", "ibv_ud_pingpong", "perftest_send_uc", "rc_send",
                     "rc_write", "rc_read", "rc_atomic", "rc_mtu256", "rc_ipv6", "rc_pipelined",
                     "ibv_rc_pingpong", "perftest_read_rc", "perftest_atomic_cas", "rping_rdmacm"):
            with self.subTest(name):
                self.assertEqual(self.events(name), [])

    def test_going_back_is_told_once_for_each_time(self):
        for name, packets in (("rc_rnr", [8, 13, 18, 23, 28, 33]), ("rc_drop_ack", [3]),
                              ("rc_drop_send_middle", [11]), ("rc_drop_read_request", [5]),
                              ("rc_drop_read_response", [7]), ("rc_retry_exceeded", [3, 5, 7]),
                              ("rc_pipelined", []), ("uc_drop_middle", [])):
            with self.subTest(name):
                self.assertEqual([packet for packet, what in self.events(name)
                                  if what == "retry"], packets)

    def test_the_list_of_events_leaves_the_packets_out(self):
        ended = self.run_command("inspect", capture("rc_nak_badkey_write"), "--events")
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertIn("* nak: remote access", ended.out)
        self.assertNotIn("WRITE", ended.out)


# What a sender and a receiver put into a frame, for captures of many queue pairs.

def frame(back, opcode, queue_pair, psn, rest, port=49152):
    """An Ethernet frame from 10.0.0.1 to 10.0.0.2, or back, with a right ICRC."""
    packet = struct.pack(">BBHIBBH", opcode, 0x40, 0xFFFF, queue_pair, 0x80, psn >> 16,
                         psn & 0xFFFF) + rest
    size = 20 + 8 + len(packet) + 4
    hosts = b"\x0a\0\0\2\x0a\0\0\1" if back else b"\x0a\0\0\1\x0a\0\0\2"
    ip = struct.pack(">BBHHHBBH", 0x45, 0, size, 0, 0x4000, 64, 17, 0) + hosts
    udp = struct.pack(">HHHH", port, 4791, size - 20, 0)
    return with_icrc(bytes(12) + b"\x08\x00" + ip + udp + packet + bytes(4))


def send(queue_pair, psn, **more):
    return frame(False, 4, queue_pair, psn, b"data", **more)


def answer(queue_pair, psn, syndrome=0x1F, msn=0, **more):
    return frame(True, 17, queue_pair, psn, struct.pack(">I", syndrome << 24 | msn), **more)


def at_once(frames):
    return pcap([(0, number, one) for number, one in enumerate(frames)])


class AnswersBelongToTheRightQueuePair(Inspection):
    def told(self, found):
        return [(event["packet"], event["what"]) for event in found["events"]]

    def test_two_queue_pairs_that_begin_at_the_same_psn(self):
        one = self.inspect(case("one_qp"))
        self.assertEqual(self.told(one), [(11, "nak: sequence, PSN 000005 (way 1)"),
                                          (12, "retry: from PSN 000005 on")])
        two = self.inspect(case("two_qps_psn0"))
        self.assertEqual(self.told(two), [(19, "nak: sequence, PSN 000005 (way 3)"),
                                          (20, "retry: from PSN 000005 on")])
        refused, retry = two["events"]
        self.assertEqual(refused["refused"], "10.0.0.1 > 10.0.0.2 qp 000012")
        self.assertEqual(refused["connection"], "10.0.0.2 > 10.0.0.1 qp 000022")
        self.assertEqual(retry["connection"], refused["refused"])
        self.assertEqual([one["answered_by"] for one in two["connections"]],
                         ["10.0.0.2 > 10.0.0.1 qp 000021", "10.0.0.1 > 10.0.0.2 qp 000011",
                          "10.0.0.2 > 10.0.0.1 qp 000022", "10.0.0.1 > 10.0.0.2 qp 000012"])

    def test_a_refusal_that_could_be_of_two_says_so_and_nothing_is_invented(self):
        frames = [send(queue_pair, psn) for psn in range(6) for queue_pair in (0x11, 0x12)]
        frames += [answer(0x22, 3, 0x60)]
        frames += [send(0x12, psn) for psn in range(3, 6)]
        found = self.inspect(self.write(at_once(frames)))
        self.assertEqual(self.told(found), [(13, "nak: sequence, PSN 000003 (way 1 or 2)"),
                                            (14, "retry: from PSN 000003 on")])
        self.assertEqual(found["events"][0]["possible"],
                         ["10.0.0.1 > 10.0.0.2 qp 000011", "10.0.0.1 > 10.0.0.2 qp 000012"])
        self.assertNotIn("refused", found["events"][0])

    def test_ports_tell_many_queue_pairs_apart(self):
        pairs = range(300)
        frames = [send(0x1000 + i, psn, port=50000 + i) for psn in range(3) for i in pairs]
        frames += [answer(0x2000 + i, 2, msn=3, port=50000 + i) for i in pairs]
        frames += [answer(0x2000 + 7, 1, 0x60, port=50007), send(0x1000 + 7, 1, port=50007),
                   send(0x1000 + 7, 2, port=50007)]
        found = self.inspect(self.write(at_once(frames)))
        self.assertEqual(self.told(found), [(1201, "nak: sequence, PSN 000001 (way 8)"),
                                            (1202, "retry: from PSN 000001 on")])

    def test_thousands_of_queue_pairs_that_nothing_tells_apart_are_read(self):
        pairs = range(3000)
        frames = [send(0x1000 + i, psn) for psn in range(2) for i in pairs]
        frames += [answer(0x2000 + i, 1, msn=2) for i in pairs]
        frames += [answer(0x2000, 1, 0x60)]
        found = self.inspect(self.write(at_once(frames)))
        self.assertEqual((found["packets"], len(found["connections"])), (9001, 6000))
        self.assertEqual(self.told(found), [(9001, "nak: sequence, PSN 000001 (way unknown)")])

    def test_cm_names_both_queue_pairs_of_a_connection(self):
        names = {one["name"]: one["answered_by"]
                 for one in self.inspect(capture("rping_rdmacm"))["connections"]
                 if one["transport"] == "RC"}
        self.assertEqual(len(names), 2)
        for name, peer in names.items():
            self.assertEqual(names[peer], name)

    def test_a_lost_response_to_a_read_and_that_its_rest_is_asked_for_again(self):
        found = self.inspect(case("read_lost_response"))
        self.assertEqual(self.told(found),
                         [(4, "lost: Read response PSN 000066"),
                          (5, "retry: from PSN 000066 on, the rest of the Read 000064"),
                          (5, "duplicate: PSN 000066")])


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
                               capture_output=True, timeout=60, check=False)
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
        writer.join(30)
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
        bad[-6] ^= 1  # of the check of the whole
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
