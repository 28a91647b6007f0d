"""The output of the command on a terminal and in a pipe."""
import os
import pathlib
import pty
import re
import signal
import subprocess
import time
import unittest

from command import PATIENCE, WIREPROOF, Case


class WhatIsPrintedFitsItsReader(Case):
    def carry(self, *arguments, name="file.bin", **streams):
        return self.run_command("carry", self.file(600_000, name), *arguments, **streams)

    def test_a_table_has_80_columns_at_most(self):
        every_fault = ("--loss", "0.123456789", "--ber", "1.23456789e-7", "--duplicate",
                       "0.123456789", "--reorder", "0.123456789", "--mtu", "10000",
                       "--seed", "18446744073709551615")
        for arguments in ((), every_fault):
            for name in ("file.bin", "long-" * 40 + ".bin", "ü" * 100):
                ended = self.carry(*arguments, "--wire", "sim", name=name)
                self.assertEqual(ended.code, 0, ended.err)
                for line in ended.out.splitlines():
                    self.assertLessEqual(len(line), 80, line)

    def test_it_says_what_was_asked_for_and_what_came_of_it(self):
        ended = self.carry("--loss", "0.05", "--seed", "4711", "--wire", "sim")
        for words in ("600 000 bytes", "mtu 1500", "seed 4711", "loss 5 %", "verified", "sp-am",
                      "etr", "resent", "keep-alives", " lost, "):
            self.assertIn(words, ended.out)
        # The output has a head, the faults, an empty line, the names of the columns, and three lines
        # of figures. The first of these lines is aligned with the names.
        names, figures = ended.out.splitlines()[3:5]
        self.assertEqual(len(names), len(figures))

    def test_several_protocols_have_a_line_each(self):
        ended = self.carry("--protocol", "all", "--wire", "sim", "--loss", "0.05", "--duplicate", "0.01", "--seed", "4711")
        self.assertEqual((ended.code, ended.err), (0, ""))
        head, faults, empty, names, *runs = ended.out.splitlines()
        self.assertIn("600 000 bytes, mtu 1500, seed 4711", head)
        self.assertEqual((faults, empty), ("sim: loss 5 %, duplicates 1 %", ""))
        self.assertEqual({len(line) for line in (names, *runs)}, {80})
        self.assertEqual([run.split()[0] for run in runs],
                         ["sp-am", "pcie", "hippi6400", "flit", "ue-llr", "cxl-llr", "rc"])
        _, report = self.run_json("carry", self.path("file.bin"), "--protocol", "all", "--wire", "sim", "--loss", "0.05",
                                  "--duplicate", "0.01", "--seed", "4711")
        for line, run in zip(runs, report["runs"]):
            frames = run["frames"]
            faults = f"{frames['lost'] + frames['damaged'] + frames['duplicates']:,}".replace(",", " ")
            self.assertRegex(line, rf" verified .* {faults} +[\d ]+ {run['etr']:.3f} +{run['timeouts']}$")

    def test_nothing_but_the_table_goes_into_a_pipe(self):
        ended = self.carry("--loss", "0.2")
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertNotRegex(ended.out, "[\r\x1b]")

    def on_a_terminal(self, *arguments, wanted, ends=False):
        """Returns the standard output, and what the terminal showed. Until it shows what is wanted, the command is stopped
        for a while after each drawing, so it draws again however fast it is. Then it is interrupted, unless it ends."""
        terminal, end = pty.openpty()
        try:
            process = self.start(*arguments, stderr=end)
        finally:
            os.close(end)
        # The test reads while the command runs, because a terminal holds only a few kilobytes.
        shown, found = b"", None
        try:
            while piece := os.read(terminal, 4096):
                shown += piece
                if found:
                    continue
                found = re.search(wanted, shown.decode(errors="replace"))
                if not found:
                    process.send_signal(signal.SIGSTOP)
                    time.sleep(0.12)  # it draws again after 0.1 s
                    process.send_signal(signal.SIGCONT)
                elif not ends:
                    process.send_signal(signal.SIGINT)
        except OSError:
            pass  # the other end of the terminal is closed
        os.close(terminal)
        out, _ = process.communicate(timeout=PATIENCE)
        self.assertTrue(found, shown)
        self.assertEqual(process.returncode, 0 if ends else -signal.SIGINT)
        return out, shown.decode()

    def test_a_terminal_is_told_the_rate_and_the_time_left(self):
        self.on_a_terminal("soak", "--seconds", "1000", "--seed", "1", wanted=r"worlds \[=* *\] +\d+ %  [\d:]+( s)? left")
        _, shown = self.on_a_terminal("search", "pcie", "--both-ways", "--in-flight", "3",
                                      wanted=r"states: \d+  [\d.]+ [kM]? ?states/s")
        for drawn in re.split("[\r\n]", shown):
            self.assertLess(len(drawn.replace("\x1b[K", "")), 80)
        self.on_a_terminal("soak", "--worlds", "1000000", "--seed", "1",
                           wanted=r"worlds \[=* *\] +\d+ %  [\d.]+ [kM]? ?worlds/s")

    def test_a_terminal_gets_a_bar_that_goes_away(self):
        out, shown = self.on_a_terminal("carry", self.file(40_000_000), "--loss", "0.2", ends=True,
                                        wanted=r"carrying \[=* *\] +\d+ %  [\d.]+ [kMG]?B/s")
        for drawn in re.split("[\r\n]", shown):
            self.assertLess(len(drawn.replace("\x1b[K", "")), 80)
        self.assertTrue(shown.endswith("\r\x1b[K"))
        self.assertNotIn(b"\x1b", out)

    def test_a_result_that_cannot_be_written_is_a_failure(self):
        for form in ((), ("--json",)):
            with open("/dev/full", "wb") as full:
                self.expect_failure(self.carry(*form, stdout=full), 1, "cannot write the result",
                                    "No space left")

    def into_a_closed_pipe(self, *arguments, **streams):
        reader, writer = os.pipe()
        os.close(reader)
        try:
            return self.run_command(*arguments, stdout=writer, **streams)
        finally:
            os.close(writer)

    def test_a_reader_that_leaves_early_is_no_failure(self):
        """As of other programs: `wireproof … | head` prints no line of its own."""
        capture = str(pathlib.Path(__file__).resolve().parents[1] / "data" / "inspect" / "one_qp.pcap")
        for arguments in (("carry", self.file(1000)), ("carry", self.file(1000), "--json"), ("--help",),
                          ("soak", "--worlds", "2"), ("inspect", capture), ("inspect", capture, "--json")):
            with self.subTest(arguments):
                ended = self.into_a_closed_pipe(*arguments)
                self.assertEqual((ended.code, ended.err), (-signal.SIGPIPE, ""))

    def test_a_failure_is_told_although_the_reader_has_left(self):
        for form in ((), ("--json",)):
            ended = self.into_a_closed_pipe("carry", "no-such-file", *form)
            self.expect_failure(ended, 1, "no-such-file")

    def test_closed_standard_streams_are_never_taken_for_files(self):
        path = self.file(600_000)
        for closed, code in ((">&-", 1), ("2>&-", 0), (">&- 2>&-", 1), ("<&-", 0)):
            with self.subTest(closed):
                done = subprocess.run(
                    ["sh", "-c", f'"$@" {closed}', "sh", WIREPROOF, "carry", path, "--out",
                     "copy.bin", "--loss", "0.1"],
                    cwd=self.folder, capture_output=True, timeout=PATIENCE, check=False)
                self.assertEqual(done.returncode, code, done.stderr)
                self.same_bytes(path, self.path("copy.bin"))


class ASimulationSaysWhatCameOut(Case):
    def test_some_worlds_as_one_object(self):
        ended, out = self.run_json("soak", "--worlds", "5", "--seed", "7")
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertEqual((out["schema"], out["seed"], out["worlds"], out["failed"]),
                         ("wireproof.soak/1", 7, 5, 0))
        self.assertGreater(out["frames"], out["operations"])

    def test_worlds_of_queue_pairs_are_of_those_asked_for(self):
        outs = {}
        for protocol in ("rc", "uc", "ib"):
            ended, out = self.run_json("soak", "--protocol", protocol, "--worlds", "40",
                                       "--seed", "7")
            self.assertEqual((ended.code, ended.err), (0, ""))
            self.assertEqual(
                (out["schema"], out["protocol"], out["seed"], out["worlds"], out["failed"]),
                ("wireproof.soak/1", protocol, 7, 40, 0))
            self.assertGreater(out["faults"], 0)
            outs[protocol] = out
        # Only UC loses messages, and only RC recovers.
        self.assertEqual((outs["rc"]["messages_lost"], outs["uc"]["recoveries"]), (0, 0))
        self.assertGreater(min(outs["uc"]["messages_lost"], outs["ib"]["messages_lost"]), 0)
        self.assertGreater(min(outs["rc"]["recoveries"], outs["ib"]["recoveries"]), 0)

    def test_worlds_of_each_link_engine(self):
        for protocol in ("pcie", "hippi6400", "flit", "ue-llr", "cxl-llr"):
            with self.subTest(protocol):
                ended, out = self.run_json("soak", "--protocol", protocol, "--worlds", "20", "--seed", "7")
                self.assertEqual((ended.code, ended.err), (0, ""))
                self.assertEqual(
                    (out["schema"], out["protocol"], out["seed"], out["worlds"], out["failed"]),
                    ("wireproof.soak/1", protocol, 7, 20, 0))
                self.assertGreater(min(out["faults"], out["replays"], out["messages_delivered"]), 0)
                self.assertNotIn("congestion_controlled", out)

    def test_worlds_have_the_congestion_control_that_is_asked_for(self):
        for protocol in ("sp-am", "rc"):
            with self.subTest(protocol):
                count = {}
                for kind in ("off", "loss", "path"):
                    ended, out = self.run_json("soak", "--protocol", protocol, "--worlds", "40", "--seed", "7",
                                               "--congestion", kind)
                    self.assertEqual((ended.code, out["failed"]), (0, 0))
                    count[kind] = out["congestion_controlled"]
                self.assertEqual(count["off"], 0)
                # All worlds of rc, and those of sp-am with selective recovery.
                self.assertEqual(count["loss"], count["path"])
                self.assertTrue(count["path"] == 40 if protocol == "rc" else 10 <= count["path"] < 40, count)

    def test_the_machine_of_the_paper_as_one_object(self):
        ended, out = self.run_json("sp2")
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertEqual((out["schema"], out["nodes"]), ("wireproof.sp2/1", 2))
        self.assertLessEqual(out["round_trip_us"], 1.086 * out["raw_round_trip_us"])
        self.assertGreaterEqual(out["bandwidth_mb_s"], 0.979 * out["payload_share_mb_s"])

    def test_all_fit_80_columns(self):
        for arguments in (("sp2",), ("soak", "--worlds", "2"),
                          ("soak", "--protocol", "ib", "--worlds", "400")):
            ended = self.run_command(*arguments)
            self.assertEqual((ended.code, ended.err), (0, ""))
            self.assertLessEqual(max(map(len, ended.out.splitlines())), 80)


if __name__ == "__main__":
    unittest.main()
