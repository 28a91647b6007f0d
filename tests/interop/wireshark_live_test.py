#!/usr/bin/env python3
"""The Wireshark plugin counts in a live capture what the command counts in the same run.

usage: wireshark_live_test.py [CLASS] [unittest options]
"""
import unittest

from wireshark_kit import COMPLAINTS, LINKS, LOSES, PREFIX, LiveCase

# Packets that the kernel may swap.
SWAPPED_MAX = 2


class Live(LiveCase):
    """A file is carried. The capture has all that left, so what the plugin counts is what the command counts."""

    def seen(self, protocol, capture):
        prefix = f"wireproof.{PREFIX[protocol]}."
        frames = "wireproof.am.kind" if protocol == "sp-am" else "wireproof.link.counter"
        again = "wireproof.am.retransmission" if protocol == "sp-am" else "wireproof.link.resent"
        names = {"frames": frames, "again": again, "late": "wireproof.link.late",
                 "duplicate": "wireproof.am.duplicate", "gap": "wireproof.link.gap", "am_gap": "wireproof.am.gap",
                 **{what: prefix + what for what in COMPLAINTS},
                 **{"link_" + what: "wireproof.link." + what for what in COMPLAINTS}}
        found = self.counts(capture, list(names.values()))
        self.expect_no_error(capture)
        counts = {key: found[name] for key, name in names.items()}
        missing = self.rows(capture, ["wireproof.link.missing", "wireproof.am.missing"])
        counts["missing"], counts["am_missing"] = (sum(int(value) for row in missing for value in row[place])
                                                   for place in (0, 1))
        return counts

    def expect_frames(self, counts, expected):
        """The last acknowledgements may leave after a side has counted."""
        self.assertGreaterEqual(counts["frames"], expected)
        self.assertLessEqual(counts["frames"], expected + 3)

    def expect_nothing_wrong(self, counts):
        wrong = [key for key in counts if key.endswith(COMPLAINTS)]
        self.assertEqual({key: counts[key] for key in wrong}, dict.fromkeys(wrong, 0))

    def expect_nothing_missing(self, counts):
        """Nothing was lost before the capture."""
        swapped = counts["late"]
        self.assertLessEqual(swapped, SWAPPED_MAX)
        self.assertLessEqual(counts["gap"], swapped)
        self.assertEqual([counts[key] for key in ("am_gap", "duplicate")], [0, 0])

    def test_retransmissions_are_as_many_as_the_command_counts(self):
        for protocol in PREFIX:
            with self.subTest(protocol):
                run, capture = self.carry(protocol, size=500_000, firewall=LOSES % (7, 3))
                counts = self.seen(protocol, capture)
                self.expect_frames(counts, run["frames"]["sent"])
                self.assertGreater(run["frames"]["resent"], 0)
                self.assertEqual(counts["again"], run["frames"]["resent"])
                self.expect_nothing_wrong(counts)
                self.expect_nothing_missing(counts)

    def test_frames_without_faults_have_no_gap(self):
        for protocol in PREFIX:
            with self.subTest(protocol):
                run, capture = self.carry(protocol, size=50_000)
                counts = self.seen(protocol, capture)
                self.expect_frames(counts, run["frames"]["sent"])
                self.assertEqual(counts["again"], run["frames"]["resent"])
                self.expect_nothing_wrong(counts)
                self.expect_nothing_missing(counts)

    def test_datagrams_that_were_lost_are_missing(self):
        """Of each direction, the last ones may be lost unseen. Flits count frames, and not datagrams."""
        for protocol in PREFIX:
            with self.subTest(protocol):
                run, capture = self.carry(protocol, "--loss", "0.04", "--seed", "7")
                frames, counts = run["frames"], self.seen(protocol, capture)
                self.assertGreater(frames["lost"], 0)
                self.expect_frames(counts, frames["sent"] - frames["lost"])
                self.expect_nothing_wrong(counts)
                self.assertLessEqual(counts["again"], frames["resent"])
                if protocol == "sp-am":  # packets without a number have no gap
                    self.assertGreater(counts["am_missing"], 0)
                    self.assertLessEqual(counts["am_missing"], frames["lost"])
                elif protocol in ("pcie", "hippi6400", "ue-llr"):
                    self.assertLessEqual(counts["missing"], frames["lost"])
                    self.assertGreaterEqual(counts["missing"], frames["lost"] - 3)
                else:
                    self.assertGreater(counts["gap"], 0)
                    self.assertLessEqual(counts["gap"], frames["lost"])
                if protocol in ("flit", "cxl-llr"):  # no numbers: some are unknown after a gap
                    self.assertGreater(counts["again"], (frames["resent"] - frames["lost"]) / 2)
                else:
                    self.assertGreaterEqual(counts["again"], frames["resent"] - frames["lost"])

    def test_duplicates_are_late(self):
        for protocol in PREFIX:
            with self.subTest(protocol):
                run, capture = self.carry(protocol, "--duplicate", "0.05", "--seed", "7")
                frames, counts = run["frames"], self.seen(protocol, capture)
                self.assertGreater(frames["duplicates"], 0)
                self.expect_frames(counts, frames["sent"] + frames["duplicates"])
                self.assertEqual(counts["again"], frames["resent"])
                if protocol in LINKS:
                    # Flits count frames: a datagram without a frame has no place in the sequence.
                    self.assertLessEqual(counts["late"], frames["duplicates"] + SWAPPED_MAX)
                    self.assertGreaterEqual(counts["late"], frames["duplicates"] - 2)
                else:
                    self.assertGreater(counts["duplicate"], 0)
                    self.assertLessEqual(counts["duplicate"], frames["duplicates"])

    def test_damaged_packets_are_damaged(self):
        run, capture = self.carry("sp-am", "--ber", "4e-6", "--seed", "7")
        counts = self.seen("sp-am", capture)
        self.assertGreater(run["frames"]["damaged"], 0)
        self.assertEqual(counts["damaged"] + counts["malformed"], run["frames"]["damaged"])
        for protocol in LINKS:
            with self.subTest(protocol):
                run, capture = self.carry(protocol, "--ber", "4e-6", "--seed", "7")
                counts = self.seen(protocol, capture)
                self.assertGreater(run["frames"]["damaged"], 0)
                wrong = sum(counts[key] for key in counts if key.endswith(COMPLAINTS))
                self.assertGreaterEqual(wrong, run["frames"]["damaged"] // 2)

    def test_answers_name_their_questions(self):
        _, capture = self.carry("sp-am", size=50_000)
        rows = self.rows(capture, ["frame.number", "wireproof.am.kind", "wireproof.am.response_to",
                                   "wireproof.am.acks_frame", "wireproof.am.ack_rtt"])
        kinds = {row[0][0]: row[1] for row in rows}
        hello = "9"
        answers = [row for row in rows if row[2] and hello in row[1]]
        self.assertTrue(answers)
        for row in answers:
            self.assertIn(hello, kinds[row[2][0]])
            self.assertLess(int(row[2][0]), int(row[0][0]))
        acknowledging = [row for row in rows if row[3]]
        self.assertTrue(acknowledging)
        for row in acknowledging:
            self.assertLess(int(row[3][0]), int(row[0][0]) + 1)
            self.assertTrue(all(float(value) >= 0 for value in row[4]))


if __name__ == "__main__":
    unittest.main()
