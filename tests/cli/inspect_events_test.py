"""The events that `wireproof inspect` reports, and the queue pair of each event."""
import os
import random
import struct
import unittest

from captures import (CASES, Inspection, answer, at_once, capture, case, frame, pcap, pcapng, records, send,
                      with_icrc)


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
                # This capture still has the lost packet, so only the NAK shows the loss.
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
        """At most one gap, and none after an acknowledgement of the packet that the capture lost."""
        frames = list(records("rc_send"))
        for lost in (4, 5, 14, 17, 26):
            events = self.inspect(self.write(pcap(frames[:lost] + frames[lost + 1:])))["events"]
            self.assertLessEqual(len(events), 1, events)
            for event in events:
                self.assertTrue(event["what"].startswith("gap"), event)
                self.assertEqual(event["packet"], lost + 1)

    def test_a_second_copy_on_uc_is_a_duplicate(self):
        frames = list(records("uc_send"))
        seconds = frames[8][0]
        late = [(seconds, 999_000, frames[at][2]) for at in (2, 7)]
        copies = frames[:8] + late + [(seconds + 1, part, one) for _, part, one in frames[8:]]
        events = self.inspect(self.write(pcap(copies)))["events"]
        self.assertEqual([(event["packet"], event["what"]) for event in events],
                         [(9, "duplicate: PSN fffffc"), (10, "duplicate: PSN 000001")])

    def test_what_the_log_of_a_program_calls_lost_did_not_reach_the_receiver(self):
        found = self.inspect(os.path.join(CASES, "lost_by_its_log.pcapng"))
        lost = next(one for one in found["comments"] if one["text"].startswith("lost: SEND Only"))
        self.assertEqual([one["what"].split(":")[0] for one in found["events"]
                          if one["packet"] >= lost["packet"]], ["retry"])

    def test_a_word_in_the_comment_of_another_program_is_no_loss(self):
        frames = list(records("uc_drop_middle.at_server"))[:2]
        frames[0] = (*frames[0], b"lost: not for us")
        self.assertEqual(self.inspect(self.write(pcapng(frames)))["events"], [])

    def test_copies_that_only_the_capture_has_are_no_events(self):
        once = self.inspect(case("once"))
        self.assertEqual((once["packets"], once["copies"], once["events"]), (6, 0, []))
        for name, places in (("any_bridge", 3), ("span_twice", 2)):
            with self.subTest(name):
                found = self.inspect(case(name))
                self.assertEqual((found["packets"], found["copies"]), (6 * places, 6 * (places - 1)))
                self.assertEqual((found["events"], found["connections"]), ([], once["connections"]))
                table = self.run_command("inspect", case(name)).out
                self.assertEqual(table.count(" copy of packet 1\n"), places - 1, table)
                self.assertIn(f"copies of packets that the capture has before: {6 * (places - 1)}\n", table)
                self.assertLessEqual(max(map(len, table.splitlines())), 80)

    def test_a_packet_that_is_sent_again_is_no_copy_however_soon(self):
        sent = [send(0x12, psn) for psn in range(4)]
        refused = answer(0x22, 1, 0x60, msn=1)
        again = [refused, *sent[1:], answer(0x22, 3, msn=4)]
        for frames, events in (([*sent, *again], ["nak", "retry"]),
                               # Without the refusal, a sender waits for its timer.
                               ([*sent, *sent[1:]], [])):
            found = self.inspect(self.write(at_once(frames)))
            self.assertEqual([one["what"].split(":")[0] for one in found["events"]], events)
            self.assertEqual(found["copies"], 0 if events else 3)
        later = [(0, place, one) for place, one in enumerate(sent)]
        later += [(0, 4000 + place, one) for place, one in enumerate(sent)]
        found = self.inspect(self.write(pcap(later)))
        self.assertEqual((found["copies"], found["events"][0]["what"]), (0, "retry: from PSN 000000 on"))

    def test_copies_of_what_is_sent_again_are_copies_too(self):
        one = [send(0x12, 0), send(0x12, 1), answer(0x22, 0, 0x60), send(0x12, 0), send(0x12, 1),
               answer(0x22, 1, msn=2)]
        found = self.inspect(self.write(pcap([(0, 200 * place + copy, frame)
                                              for place, frame in enumerate(one) for copy in (0, 3)])))
        self.assertEqual(([event["what"].split(":")[0] for event in found["events"]], found["copies"]),
                         (["nak", "retry"], 6))

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
                            # A change of transport, version or queue pair would only make the packet unknown.
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

    def test_a_number_that_is_used_again_is_another_connection(self):
        found = self.inspect(case("reused_qp"))
        self.assertEqual(found["events"], [])
        self.assertEqual([(one["name"], one["answered_by"]) for one in found["connections"]],
                         [("10.0.0.1 > 10.0.0.2 qp 000011", "10.0.0.2 > 10.0.0.1 qp 000022"),
                          ("10.0.0.2 > 10.0.0.1 qp 000022", "10.0.0.1 > 10.0.0.2 qp 000011"),
                          ("10.0.0.1 > 10.0.0.2 qp 000011 (2)", "10.0.0.2 > 10.0.0.1 qp 000022 (2)"),
                          ("10.0.0.2 > 10.0.0.1 qp 000022 (2)", "10.0.0.1 > 10.0.0.2 qp 000011 (2)")])

    def used_again(self, *later):
        """Two messages that are acknowledged, and 10 ms later these packets."""
        times = [(0, number, one) for number, one in enumerate([send(0x11, 5), send(0x11, 6), answer(0x22, 6, msn=2)])]
        return self.inspect(self.write(pcap(times + [(0, 10_000 + number, one) for number, one in enumerate(later)])))

    def test_another_message_at_a_psn_that_was_sent_is_another_connection(self):
        write = struct.pack(">QII", 0x1000, 7, 4)
        for name, first in (("opcode", frame(False, 10, 0x11, 5, write + b"data")),
                            ("length", frame(False, 4, 0x11, 5, b"longer data."))):
            with self.subTest(name):
                found = self.used_again(first, send(0x11, 6), answer(0x22, 5, msn=1))
                self.assertEqual(self.told(found), [])
                self.assertEqual([(one["name"], one["answered_by"]) for one in found["connections"]],
                                 [("10.0.0.1 > 10.0.0.2 qp 000011", "10.0.0.2 > 10.0.0.1 qp 000022"),
                                  ("10.0.0.2 > 10.0.0.1 qp 000022", "10.0.0.1 > 10.0.0.2 qp 000011"),
                                  ("10.0.0.1 > 10.0.0.2 qp 000011 (2)", "10.0.0.2 > 10.0.0.1 qp 000022 (2)"),
                                  ("10.0.0.2 > 10.0.0.1 qp 000022 (2)", "10.0.0.1 > 10.0.0.2 qp 000011 (2)")])
        headers = [frame(False, 10, 0x11, 5, write + b"data"),
                   frame(False, 10, 0x11, 5, struct.pack(">QII", 0x2000, 7, 4) + b"data")]
        found = self.inspect(self.write(at_once(headers)))
        self.assertEqual((self.told(found), len(found["connections"])), ([], 2))

    def test_a_message_that_is_sent_again_with_another_payload_is_told(self):
        again = frame(False, 4, 0x11, 5, b"atad")
        found = self.used_again(again, send(0x11, 6))
        self.assertEqual(self.told(found), [(4, "retry: from PSN 000005 on, with another payload"),
                                            (4, "duplicate: PSN 000005"), (5, "duplicate: PSN 000006")])
        found = self.used_again(send(0x11, 5), again)
        self.assertEqual(self.told(found)[0], (4, "retry: from PSN 000005 on"))

    def test_psns_that_begin_again_are_not_those_of_before(self):
        def read(psn, length):
            return frame(False, 12, 0x11, psn, struct.pack(">QII", 0x1000, 7, length * 256))
        half = 1 << 22
        frames = [send(0x11, 0)] + [read(1 + place * half, half) for place in range(4)]
        frames += [read(1, 2), read(2, 1)]
        found = self.inspect(self.write(pcap([(number, 0, one) for number, one in enumerate(frames)])))
        self.assertEqual(len(found["connections"]), 1)

    def test_thousands_of_psns_that_a_sender_may_go_back_to_are_compared(self):
        frames = [send(0x11, psn) for psn in range(3_000)] + [frame(False, 4, 0x11, 1, b"atad"),
                                                               frame(False, 5, 0x11, 2, b"atadatad")]
        found = self.inspect(self.write(pcap([(number, 0, one) for number, one in enumerate(frames)])))
        self.assertEqual(self.told(found)[0], (3_001, "retry: from PSN 000001 on, with another payload"))
        self.assertEqual(len(found["connections"]), 2)

    def test_a_connection_that_cm_sets_up_a_second_time_is_another_one(self):
        mad = 14 + 20 + 8 + 12 + 8  # its begin in a frame with IPv4

        def with_another_identifier(frame):
            changed = bytearray(frame)
            attribute = frame[mad + 16:mad + 18] if frame[47:50] == b"\0\0\1" else b""
            if attribute == b"\0\x10":  # REQ
                changed[mad + 24] ^= 1
            elif attribute == b"\0\x13":  # REP: it names that of the REQ second
                changed[mad + 28] ^= 1
            return with_icrc(bytes(changed)) if attribute else frame
        frames = list(records("rping_rdmacm"))
        later = [(frames[-1][0] + 1 + seconds, part, with_another_identifier(one))
                 for seconds, part, one in frames]
        found = self.inspect(self.write(pcap(frames + later)))
        names = [one["name"] for one in found["connections"] if one["transport"] == "RC"]
        self.assertEqual(sum(name.endswith(" (2)") for name in names), 2, names)
        self.assertEqual((len(names), found["events"]), (4, []))

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


if __name__ == "__main__":
    unittest.main()
