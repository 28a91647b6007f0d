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

    def carried(self, *options, **how):
        """Carries a file by each protocol. Yields the protocol, what the command counts, and what the plugin counts."""
        runs = [(protocol, *self.carry(protocol, *options, **how)) for protocol in PREFIX]
        counted = {"late": "wireproof.link.late", "duplicate": "wireproof.am.duplicate", "gap": "wireproof.link.gap",
                   "am_gap": "wireproof.am.gap", **{"link_" + what: "wireproof.link." + what for what in COMPLAINTS},
                   "link_frames": "wireproof.link.counter", "link_again": "wireproof.link.resent",
                   "am_frames": "wireproof.am.kind", "am_again": "wireproof.am.retransmission",
                   **{prefix + "_" + what: f"wireproof.{prefix}.{what}" for prefix in PREFIX.values() for what in COMPLAINTS}}
        names = [*counted.values(), "wireproof.link.missing", "wireproof.am.missing"]
        for (protocol, run, _), rows in zip(runs, self.rows_of([capture for *_, capture in runs], names)):
            counts = {key: sum(len(row[place]) for row in rows) for place, key in enumerate(counted)}
            kind, prefix = "am" if protocol == "sp-am" else "link", PREFIX[protocol]
            for what in ("frames", "again"):
                counts[what] = counts[f"{kind}_{what}"]
            for what in COMPLAINTS:
                counts[what] = counts[f"{prefix}_{what}"]
            counts["missing"], counts["am_missing"] = (sum(int(value) for row in rows for value in row[place])
                                                       for place in (-2, -1))
            yield protocol, run["frames"], counts

    def expect_frames(self, counts, sent, resent=None):
        """Frames may leave after a side has counted: the last acknowledgements and what waits for them. Each of them may
        be one that is sent again."""
        later = counts["frames"] - sent
        self.assertGreaterEqual(later, 0)
        self.assertLessEqual(later, max(3, sent // 2), "frames are counted twice")
        if resent is not None:
            self.assertGreaterEqual(counts["again"], resent)
            self.assertLessEqual(counts["again"], resent + later)

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
        for protocol, frames, counts in self.carried(firewall=LOSES % (7, 3)):
            with self.subTest(protocol):
                self.expect_frames(counts, frames["sent"], frames["resent"])
                self.assertGreater(frames["resent"], 0)
                self.expect_nothing_wrong(counts)
                self.expect_nothing_missing(counts)

    def test_frames_without_faults_have_no_gap(self):
        for protocol, frames, counts in self.carried(size=50_000):
            with self.subTest(protocol):
                self.expect_frames(counts, frames["sent"], frames["resent"])
                self.expect_nothing_wrong(counts)
                self.expect_nothing_missing(counts)

    def test_datagrams_that_were_lost_are_missing(self):
        """Of each direction, the last ones may be lost unseen. Flits count frames, and not datagrams."""
        for protocol, frames, counts in self.carried("--loss", "0.04", "--seed", "7"):
            with self.subTest(protocol):
                self.assertGreater(frames["lost"], 0)
                self.expect_frames(counts, frames["sent"] - frames["lost"])
                self.expect_nothing_wrong(counts)
                later = counts["frames"] - frames["sent"] + frames["lost"]
                self.assertLessEqual(counts["again"], frames["resent"] + later)
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
                    self.assertGreater(counts["again"], 0)
                else:
                    self.assertGreaterEqual(counts["again"], frames["resent"] - frames["lost"])

    def test_duplicates_are_late(self):
        for protocol, frames, counts in self.carried("--duplicate", "0.05", "--seed", "7"):
            with self.subTest(protocol):
                self.assertGreater(frames["duplicates"], 0)
                self.expect_frames(counts, frames["sent"] + frames["duplicates"], frames["resent"])
                if protocol in LINKS:
                    # Flits count frames: a datagram without a frame has no place in the sequence.
                    self.assertLessEqual(counts["late"], frames["duplicates"] + SWAPPED_MAX)
                    self.assertGreaterEqual(counts["late"], frames["duplicates"] - 2)
                else:
                    self.assertGreater(counts["duplicate"], 0)
                    self.assertLessEqual(counts["duplicate"], frames["duplicates"])

    def test_damaged_packets_are_damaged(self):
        for protocol, frames, counts in self.carried("--ber", "4e-6", "--seed", "7"):
            with self.subTest(protocol):
                self.assertGreater(frames["damaged"], 0)
                if protocol == "sp-am":
                    self.assertEqual(counts["damaged"] + counts["malformed"], frames["damaged"])
                else:
                    wrong = sum(counts[what] + counts["link_" + what] for what in COMPLAINTS)
                    self.assertGreaterEqual(wrong, frames["damaged"] // 2)

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
