"""carry: a file over a bad wire, between two processes and in virtual time."""
import math
import os
import signal
import time
import unittest

from command import Case, child_of, one_object

HEADERS = 28 + 48  # bytes: IP and UDP, then the protocol
FAULTS = ("--loss", "0.1", "--ber", "1e-6", "--duplicate", "0.1", "--reorder", "0.1")


class Carries(Case):
    def carries(self, path, *arguments):
        """Expects that the file is carried and verified, and that the figures are plausible."""
        ended, report = self.run_json("carry", path, *arguments)
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertEqual(report["schema"], "wireproof.carry/1")
        self.assertEqual(report["bytes"], os.path.getsize(path))
        self.assertEqual(len(report["runs"]), 1)
        run = report["runs"][0]
        self.assertTrue(run["verified"] and run["complete"])
        self.assertEqual((run["protocol"], run["bytes"]), ("sp-am", report["bytes"]))
        self.assertGreater(run["seconds"], 0)
        frames = run["frames"]
        needed = math.ceil(run["bytes"] / (report["mtu"] - HEADERS))
        self.assertGreaterEqual(frames["sent"] - frames["resent"], needed)
        self.assertLess(run["etr"], 1)
        self.assertEqual(run["etr"] > 0, run["bytes"] > 0)
        self.assertAlmostEqual(run["goodput_bytes_per_s"] * run["seconds"], run["bytes"], delta=1)
        return report


class AFileArrivesWholeOverUdp(Carries):
    def test_whatever_part_of_the_frames_is_lost(self):
        path = self.file(700_001)
        for loss in (0, 0.01, 0.05, 0.2):
            with self.subTest(loss=loss):
                report = self.carries(path, "--loss", str(loss))
                self.assertEqual(report["faults"]["loss"], loss)
                self.assertEqual(report["runs"][0]["wire"], "udp")

    def test_if_it_is_empty_or_one_byte(self):
        for size in (0, 1):
            with self.subTest(size=size):
                self.carries(self.file(size))
                self.carries(self.file(size), "--loss", "0.2")

    def test_if_all_faults_come_together(self):
        run = self.carries(self.file(700_001), *FAULTS, "--seed", "5")["runs"][0]
        self.assertGreater(run["frames"]["lost"], 0)
        self.assertGreater(run["frames"]["damaged"], 0)
        self.assertGreater(run["frames"]["duplicates"], 0)
        self.assertGreater(run["frames"]["resent"], 0)

    def test_in_the_smallest_and_in_the_largest_packets(self):
        for mtu in (128, 65535):
            with self.subTest(mtu=mtu):
                self.carries(self.file(200_000), "--mtu", str(mtu))

    def test_and_is_kept_if_asked_for(self):
        path = self.file(300_000)
        self.carries(path, "--out", "copy.bin", *FAULTS)
        self.same_bytes(path, self.path("copy.bin"))
        self.expect_no_part_left("file.bin", "copy.bin")

    def test_whatever_its_name_is(self):
        for name in (b"two words.bin", "ü€.bin".encode(), b"\xff\xfe.bin", b"-dash", b"carry",
                     b"two\nlines\x1b[2J"):
            with self.subTest(name):
                with open(os.path.join(os.fsencode(self.folder), name), "wb") as file:
                    file.write(b"content")
                ended, report = self.run_json("carry", "--", name)
                self.assertEqual(ended.code, 0, ended.err)
                self.assertEqual(report["file"], name.decode(errors="replace"))
                text = self.run_command("carry", "--", name)
                self.assertEqual((text.code, text.err), (0, ""))
                self.assertEqual(len(text.out.splitlines()), 7, text.out)
                self.assertNotIn("\x1b", text.out)


class AFileArrivesWholeInVirtualTime(Carries):
    def carries_on_sim(self, path, *arguments):
        report = self.carries(path, "--wire", "sim", *arguments)
        self.assertEqual(report["runs"][0]["wire"], "sim")
        return report["runs"][0]

    def test_at_no_cost_where_nothing_is_lost(self):
        run = self.carries_on_sim(self.file(1_000_000), "--seed", "1")
        self.assertEqual(run["frames"]["resent"], 0)
        self.assertEqual(run["frames"]["lost"], 0)
        self.assertEqual(run["frames"]["damaged"], 0)
        # Here NACKs only answer keep-alives. The sender asks whether the first chunk has arrived. The receiver
        # may ask about its first reply, because the packets in flight delay the acknowledgement.
        self.assertLessEqual(run["control"]["naks"], 2)
        self.assertGreater(run["etr"], 0.95)

    def test_and_what_is_lost_and_repeated_is_what_was_asked_for(self):
        path = self.file(2_000_000)
        for option, key, rate in (("--loss", "lost", 0.01), ("--loss", "lost", 0.2),
                                  ("--duplicate", "duplicates", 0.1)):
            with self.subTest(option=option, rate=rate):
                frames = self.carries_on_sim(path, option, str(rate), "--seed", "11")["frames"]
                expected = frames["sent"] * rate
                sigma = math.sqrt(frames["sent"] * rate * (1 - rate))
                self.assertLess(abs(frames[key] - expected), 6 * sigma)

    def test_and_what_is_resent_is_little_more_than_what_was_lost(self):
        for loss in ("0.01", "0.05", "0.2"):
            with self.subTest(loss=loss):
                frames = self.carries_on_sim(self.file(2_000_000), "--loss", loss,
                                             "--seed", "12")["frames"]
                self.assertLess(frames["resent"], 1.5 * frames["lost"] + 20)

    def test_and_as_many_frames_are_damaged_as_bit_errors_hit(self):
        frames = self.carries_on_sim(self.file(2_000_000), "--ber", "1e-5", "--seed", "13")["frames"]
        hit = 1 - (1 - 1e-5) ** (8 * 1472)
        # Control frames are short, so bit errors seldom hit them. Only the upper bound is tight.
        self.assertLess(frames["damaged"], frames["sent"] * hit + 6 * math.sqrt(frames["sent"] * hit))
        self.assertGreater(frames["damaged"], frames["sent"] * hit / 2)

    def test_if_it_is_empty_or_one_byte(self):
        for size in (0, 1):
            self.carries_on_sim(self.file(size), "--loss", "0.2")

    def test_in_the_smallest_and_in_the_largest_packets(self):
        for mtu in ("128", "65535"):
            self.carries_on_sim(self.file(200_000), "--mtu", mtu, "--loss", "0.05")

    def test_if_every_frame_is_late_or_comes_twice(self):
        path = self.file(300_000)
        self.carries_on_sim(path, "--reorder", "1")
        self.carries_on_sim(path, "--duplicate", "1")


class EveryProtocolCarries(Case):
    PROTOCOLS = ["sp-am", "pcie", "hippi6400", "flit", "ue-llr", "cxl-llr", "rc"]

    def carries_all(self, path, *arguments):
        ended, report = self.run_json("carry", path, "--protocol", "all", *arguments)
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertEqual([run["protocol"] for run in report["runs"]], self.PROTOCOLS)
        for run in report["runs"]:
            self.assertTrue(run["verified"] and run["complete"], run)
            self.assertEqual(run["bytes"], os.path.getsize(path))
        return report["runs"]

    def test_over_a_wire_that_loses_and_flips_bits(self):
        path = self.file(600_000)
        for wire in ("udp", "shm", "sim"):
            with self.subTest(wire):
                for run in self.carries_all(path, "--wire", wire, "--loss", "0.01", "--ber", "1e-6", "--seed", "1"):
                    self.assertGreater(run["frames"]["lost"] + run["frames"]["damaged"], 0)
                    self.assertGreater(run["frames"]["resent"], 0)
                    if wire == "sim":  # elsewhere it depends on when the processes run
                        self.assertGreater(run["etr"], 0.3)

    def test_over_a_wire_that_repeats_and_reorders_too(self):
        for wire in ("udp", "shm", "sim"):
            with self.subTest(wire):
                self.carries_all(self.file(300_000), "--wire", wire, *FAULTS)

    def test_if_the_file_is_empty_or_one_byte(self):
        for size in (0, 1):
            for wire in ("udp", "shm", "sim"):
                self.carries_all(self.file(size), "--wire", wire, "--loss", "0.1")

    def test_in_packets_of_any_size(self):
        for mtu in ("352", "9000", "65535"):
            self.carries_all(self.file(200_000), "--wire", "sim", "--mtu", mtu, "--loss", "0.02")

    def test_over_shared_memory_as_it_is(self):
        path = self.file(3_000_000)
        ended, report = self.run_json("carry", path, "--protocol", "all", "--wire", "shm")
        self.assertEqual((ended.code, ended.err), (0, ""))
        for run in report["runs"]:
            self.assertTrue(run["verified"] and run["complete"], run)
            if run["protocol"] == "sp-am":  # copied from memory to memory, without frames
                self.assertIsNone(run["etr"])
                self.assertLess(run["frames"]["sent"], 1000)
        ended = self.run_command("carry", path, "--wire", "shm")
        self.assertIn("not in frames", ended.out)
        self.assertLessEqual(max(map(len, ended.out.splitlines())), 80)

    def test_and_resends_nothing_where_nothing_is_lost(self):
        for run in self.carries_all(self.file(1_000_000), "--wire", "sim", "--seed", "1"):
            self.assertEqual(run["frames"]["resent"], 0, run)
            # At most one timeout, for the reason given in the test above.
            self.assertLessEqual(run["timeouts"], 1 if run["protocol"] == "sp-am" else 0, run)
            # A flit of CXL has 60 bytes of 68, and its segments are short.
            self.assertGreater(run["etr"], 0.6 if run["protocol"] == "cxl-llr" else 0.7)

    def test_and_the_same_seed_gives_the_same_figures(self):
        path = self.file(200_000)
        arguments = ("carry", path, "--protocol", "all", "--wire", "sim", *FAULTS, "--seed", "3")
        self.assertEqual(self.run_command(*arguments).raw, self.run_command(*arguments).raw)

    def test_and_what_arrives_is_kept_if_asked_for(self):
        path = self.file(300_000)
        for protocol in self.PROTOCOLS:
            ended = self.run_command("carry", path, "--protocol", protocol, "--out", "copy.bin",
                                     *FAULTS)
            self.assertEqual((ended.code, ended.err), (0, ""))
            self.same_bytes(path, self.path("copy.bin"))
            os.remove(self.path("copy.bin"))


class QueuePairsCarry(Case):
    WIRES = ("udp", "shm", "sim")

    def carried(self, path, protocol, *arguments):
        """Expects that the figures agree with each other, even if a part was lost."""
        ended, report = self.run_json("carry", path, "--protocol", protocol, *arguments)
        self.assertEqual((ended.code, ended.err), (0, ""))
        run = report["runs"][0]
        messages = run["messages"]
        self.assertTrue(run["verified"], run)
        self.assertEqual(messages["sent"], messages["delivered"] + messages["abandoned"])
        self.assertEqual(run["complete"], messages["abandoned"] == 0)
        self.assertEqual(run["bytes"] == report["bytes"], run["complete"])
        return run

    def test_every_message_unreliably_where_nothing_is_lost(self):
        path = self.file(5_000_001)
        for wire in self.WIRES:
            with self.subTest(wire):
                self.assertTrue(self.carried(path, "uc", "--wire", wire, "--out", "copy")["complete"])
                self.same_bytes(path, self.path("copy"))

    def test_and_count_the_messages_that_are_lost(self):
        path = self.file(3_000_000)
        for wire in self.WIRES:
            with self.subTest(wire):
                run = self.carried(path, "uc", "--wire", wire, "--loss", "0.02", "--out", "copy")
                messages = run["messages"]
                # Each message has 16 packets.
                self.assertEqual(messages["sent"], math.ceil(3_000_000 / (16 * 1024 - 32)))
                self.assertGreater(messages["abandoned"], 10)
                self.assertGreater(messages["delivered"], 60)
                if wire == "sim":
                    self.assertLess(run["frames"]["resent"], 60)  # of control messages only
                self.expect_no_part_left("file.bin")
        text = self.run_command("carry", path, "--protocol", "uc", "--loss", "0.02")
        self.assertEqual((text.code, text.err), (0, ""))
        self.assertIn("in part", text.out)
        self.assertIn(" abandoned", text.out)
        self.assertLessEqual(max(map(len, text.out.splitlines())), 80)

    def test_and_deliver_whole_messages_over_a_wire_that_does_all_there_is(self):
        for wire in self.WIRES:
            with self.subTest(wire):
                run = self.carried(self.file(1_000_000), "uc", "--wire", wire, "--loss", "0.005",
                                   "--ber", "1e-6", "--duplicate", "0.1", "--reorder", "0.01")
                self.assertGreater(run["messages"]["abandoned"], 0)
                self.assertGreater(run["messages"]["delivered"], 0)

    def test_at_the_rate_asked_for(self):
        run = self.carried(self.file(1_000_000), "uc", "--rate", "2e6")
        self.assertGreater(run["seconds"], 0.45)
        self.assertTrue(run["complete"])

    def test_reliably_what_was_lost_and_damaged(self):
        run = self.carried(self.file(3_000_000), "rc", "--loss", "0.01", "--ber", "1e-6", "--seed", "1")
        self.assertTrue(run["complete"])
        self.assertGreater(run["frames"]["damaged"], 0)

    # A sender of UC also waits while the receiver sleeps, and does not flood it.
    def test_and_sleep_longer_than_retries_last(self):
        for protocol in ("rc", "uc"):
            with self.subTest(protocol):
                process, child = self.stopped_on_its_way(protocol)
                time.sleep(1)
                os.kill(child, signal.SIGCONT)
                ended = self.finish(process)
                self.assertEqual((ended.code, ended.err), (0, ""))
                run = one_object(ended)["runs"][0]
                self.assertTrue(run["complete"], run)

    def stopped_on_its_way(self, protocol):
        """Stops the child while the transfer runs. If it ended before, the file is made larger."""
        for mebibytes in (64, 256, 1024, 4096):
            with open(self.path("file.bin"), "wb") as file:
                file.truncate(mebibytes << 20)
            process = self.start("carry", "--json", "file.bin", "--protocol", protocol)
            child = child_of(process)
            time.sleep(0.02)  # it need not have begun to send: then it sleeps at another place
            try:
                os.kill(child, signal.SIGSTOP)
            except ProcessLookupError:
                continue
            if process.poll() is None:
                return process, child
            os.kill(child, signal.SIGCONT)
        self.fail("a transfer of 4 GiB ended within 20 ms")

    def test_only_in_packets_that_hold_their_least_path_mtu(self):
        for wire in self.WIRES:
            ended, _ = self.run_json("carry", self.file(10), "--protocol", "rc", "--wire", wire,
                                     "--mtu", "319")
            self.expect_failure(ended, 2, "--mtu", "320 bytes")
            self.carried(self.file(10_000), "rc", "--wire", wire, "--mtu", "320")


class TheSameSeedGivesTheSameBytesOfOutput(Case):
    def outputs(self, *arguments):
        return self.run_command("carry", self.path("file.bin"), "--wire", "sim", *FAULTS,
                                *arguments).raw

    def test_in_text_and_in_json(self):
        self.file(300_000)
        for form in ((), ("--json",)):
            for seed in ("0", "7", "18446744073709551615"):
                with self.subTest(form=form, seed=seed):
                    first = self.outputs("--seed", seed, *form)
                    self.assertEqual(first, self.outputs("--seed", seed, *form))
                    self.assertIn(seed.encode(), first)
            self.assertNotEqual(self.outputs("--seed", "7", *form),
                                self.outputs("--seed", "8", *form))

    def test_and_a_seed_that_was_chosen_can_be_used_again(self):
        self.file(300_000)
        _, report = self.run_json("carry", self.path("file.bin"), "--wire", "sim", *FAULTS)
        _, again = self.run_json("carry", self.path("file.bin"), "--wire", "sim", *FAULTS,
                                 "--seed", str(report["seed"]))
        self.assertEqual(report, again)
        _, other = self.run_json("carry", self.path("file.bin"), "--wire", "sim", *FAULTS)
        self.assertNotEqual(report["seed"], other["seed"])


class AWireThatCarriesNothingIsGivenUp(Case):
    def fails(self, *arguments):
        path = self.file(100_000)
        ended, report = self.run_json("carry", path, "--peer-timeout", "0.5", *arguments)
        self.expect_failure(ended, 1, "was not carried", "silent for 0.5 s", "seed")
        self.assertIn(report["error"], ended.err)
        run = report["runs"][0]
        self.assertFalse(run["verified"] or run["complete"])
        self.assertEqual((run["bytes"], run["etr"], run["goodput_bytes_per_s"]), (0, 0, 0))
        if run["wire"] == "sim":
            self.assertLess(run["seconds"], 9)  # less than the default of 10 s
        return run

    def test_because_every_frame_is_lost(self):
        for wire in ("udp", "sim"):
            for protocol in EveryProtocolCarries.PROTOCOLS:
                frames = self.fails("--wire", wire, "--loss", "1", "--protocol", protocol)["frames"]
                self.assertEqual(frames["lost"], frames["sent"])

    def test_because_every_bit_is_flipped(self):
        for wire in ("udp", "sim"):
            frames = self.fails("--wire", wire, "--ber", "1")["frames"]
            self.assertEqual(frames["damaged"], frames["sent"])


if __name__ == "__main__":
    unittest.main()
