#!/usr/bin/env python3
"""The Wireshark plugin counts in a live capture what the command counts in the same run.

usage: wireshark_live_test.py [CLASS] [unittest options]
"""
import unittest

from wireshark_kit import COMPLAINTS, LOSES, LiveCase


class Live(LiveCase):
    """A file is carried. The capture has all that left, so what the plugin counts is what the command counts."""

    def carried(self, *options, **how):
        """Carries a file. Returns what the command counts, and what the plugin counts."""
        run, capture = self.carry(*options, **how)
        counted = ("kind", "retransmission", "duplicate", "gap", *COMPLAINTS)
        rows = self.rows(capture, ["wireproof.am." + key for key in (*counted, "missing")])
        counts = {key: sum(len(row[place]) for row in rows) for place, key in enumerate(counted)}
        counts["missing"] = sum(int(value) for row in rows for value in row[-1])
        return run["frames"], counts

    def expect_frames(self, counts, sent, resent=None):
        """Frames may leave after a side has counted: the last acknowledgements and what waits for them. Each of them may
        be one that is sent again."""
        later = counts["kind"] - sent
        self.assertGreaterEqual(later, 0)
        self.assertLessEqual(later, max(3, sent // 2), "frames are counted twice")
        if resent is not None:
            self.assertGreaterEqual(counts["retransmission"], resent)
            self.assertLessEqual(counts["retransmission"], resent + later)

    def expect_no(self, counts, *keys):
        self.assertEqual({key: counts[key] for key in keys}, dict.fromkeys(keys, 0))

    def test_retransmissions_are_as_many_as_the_command_counts(self):
        frames, counts = self.carried(firewall=LOSES % (7, 3))
        self.expect_frames(counts, frames["sent"], frames["resent"])
        self.assertGreater(frames["resent"], 0)
        self.expect_no(counts, *COMPLAINTS, "gap", "duplicate")  # nothing was lost before the capture

    def test_frames_without_faults_have_no_gap(self):
        frames, counts = self.carried(size=50_000)
        self.expect_frames(counts, frames["sent"], frames["resent"])
        self.expect_no(counts, *COMPLAINTS, "gap", "duplicate")

    def test_packets_that_were_lost_are_missing(self):
        """Of each direction, the last ones may be lost unseen. Packets without a number have no gap."""
        frames, counts = self.carried("--loss", "0.04", "--seed", "7")
        self.assertGreater(frames["lost"], 0)
        self.expect_frames(counts, frames["sent"] - frames["lost"])
        self.expect_no(counts, *COMPLAINTS)
        later = counts["kind"] - frames["sent"] + frames["lost"]
        self.assertLessEqual(counts["retransmission"], frames["resent"] + later)
        self.assertGreaterEqual(counts["retransmission"], frames["resent"] - frames["lost"])
        self.assertGreater(counts["missing"], 0)
        self.assertLessEqual(counts["missing"], frames["lost"])

    def test_duplicates_are_marked(self):
        frames, counts = self.carried("--duplicate", "0.05", "--seed", "7")
        self.assertGreater(frames["duplicates"], 0)
        self.expect_frames(counts, frames["sent"] + frames["duplicates"], frames["resent"])
        self.assertGreater(counts["duplicate"], 0)
        self.assertLessEqual(counts["duplicate"], frames["duplicates"])

    def test_damaged_packets_are_damaged(self):
        frames, counts = self.carried("--ber", "4e-6", "--seed", "7")
        self.assertGreater(frames["damaged"], 0)
        self.assertEqual(counts["damaged"] + counts["malformed"], frames["damaged"])

    def test_answers_name_their_questions(self):
        _, capture = self.carry(size=50_000)
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
