"""Searches as a person, a script or another subcommand uses them."""
import os
import signal
import unittest

from command import Case, one_object

PROTOCOLS = ("pcie", "hippi6400", "flit", "ue-llr", "cxl-llr", "sp-am")
LIVELOCK = ("hippi6400", "--rule", "literal", "--no-damage", "--no-early-timers")


class ASearchSaysWhatItFound(Case):
    def test_every_engine_holds_as_shipped(self):
        for protocol in PROTOCOLS:
            with self.subTest(protocol):
                ended = self.run_command("search", protocol)
                self.assertEqual((ended.code, ended.err), (0, ""))
                self.assertRegex(ended.out, r"\n\d+ states \(\d+ of an end\), \d+ edges in \d")
                self.assertIn("\nholds: ", ended.out)
                self.assertLessEqual(max(map(len, ended.out.splitlines())), 80)

    def test_each_rule_that_cxl_lacks_is_refuted_and_its_file_replays(self):
        for rule, ladder_says in (("fill-buffer", ""), ("any-answer", "is not what was sent"), ("no-ack-timer", "")):
            with self.subTest(rule):
                ended = self.run_command("search", "cxl-llr", "--window", "3", "--messages", "9", "--rule", rule,
                                         "--out", "found.toml")
                self.assertEqual((ended.code, ended.err), (1, ""))
                self.assertIn("\nrefuted: ", ended.out)
                ended = self.run_command("ladder", "found.toml")
                if ladder_says:
                    self.expect_failure(ended, 1, ladder_says)
                else:
                    self.assertEqual((ended.code, ended.err), (0, ""))

    def test_the_json_says_the_same(self):
        ended, found = self.run_json("search", "pcie", "--window", "1", "--faults", "2")
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertEqual((found["violation"], found["path"], found["circle"]), (None, [], None))
        self.assertEqual((found["schema"], found["protocol"], found["verdict"]),
                         ("wireproof.search/1", "pcie", "holds"))
        self.assertEqual((found["window"], found["modulus"], found["faults"]), (1, 4, 2))

    def test_what_is_asked_counts(self):
        def states(*arguments):
            ended, found = self.run_json("search", *arguments)
            self.assertEqual((ended.code, found["verdict"]), (0, "holds"))
            return found["states"]
        few = states("pcie", "--faults", "1")
        self.assertLess(few, states("pcie", "--faults", "2"))
        self.assertLess(few, states("pcie", "--faults", "1", "--both-ways"))
        self.assertLess(few, states("pcie", "--faults", "1", "--messages", "7"))
        self.assertLess(few, states("pcie", "--faults", "1", "--in-flight", "3"))
        self.assertLess(few, states("pcie", "--faults", "1", "--duplicates"))
        self.assertGreater(few, states("pcie", "--faults", "1", "--no-damage"))
        self.assertGreater(few, states("pcie", "--faults", "1", "--no-early-timers"))
        cxl = ("cxl-llr", "--messages", "1", "--in-flight", "1", "--no-early-timers")
        self.assertEqual(states(*cxl), states(*cxl, "--faults", "3"))
        self.assertLess(states(*cxl), states(*cxl, "--any-faults"))
        _, found = self.run_json("search", *cxl, "--any-faults")
        self.assertIsNone(found["faults"])
        plain = states("sp-am")
        self.assertGreater(plain, states("sp-am", "--no-duplicates"))
        self.assertGreater(plain, states("sp-am", "--no-reorder"))
        self.assertNotEqual(plain, states("sp-am", "--recovery", "selective"))

    def test_a_livelock_is_drawn_and_its_file_replays(self):
        ended = self.run_command("search", *LIVELOCK, "--out", "found.toml")
        self.assertEqual((ended.code, ended.err), (1, ""))
        self.assertIn("\nrefuted: ", ended.out)
        self.assertIn("  from here on, again and again:\n", ended.out)
        self.assertLessEqual(max(map(len, ended.out.splitlines())), 80)
        self.expect_no_part_left("found.toml")
        ended, ladder = self.run_json("ladder", "found.toml")
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertEqual(ladder["end"], "frame_limit")
        last_of_b = max(i for i, e in enumerate(ladder["events"]) if e["from"] == "B")
        self.assertEqual(ladder["events"][last_of_b]["fate"], "lost")
        after = ladder["events"][last_of_b + 1:]
        self.assertGreater(len(after), 15)
        self.assertTrue(all(e["resent"] for e in after))
        self.assertEqual({e["verdict"] for e in after if "verdict" in e}, {"duplicate"})

    def test_the_path_is_in_the_json_with_where_it_begins_to_repeat_itself(self):
        ended, found = self.run_json("search", *LIVELOCK)
        self.assertEqual((ended.code, found["verdict"]), (1, "stuck"))
        self.assertEqual([m["frame"] for m in found["path"] if m["move"] == "lose"],
                         ["null", "null"])
        again = found["path"][found["circle"]:]
        self.assertTrue(again and all(m["end"] == "A" and not m["fault"] for m in again))

    def test_each_defect_of_link_layer_retry_is_refuted_and_drawn(self):
        for defect in ("half-is-gap", "mute-duplicates", "no-timer", "init-once"):
            with self.subTest(defect):
                ended = self.run_command("search", "ue-llr", "--rule", defect, "--out", "found.toml")
                self.assertEqual((ended.code, ended.err), (1, ""))
                self.assertIn(f"\ndefect: {defect}\n", ended.out)
                self.assertIn("\nrefuted: ", ended.out)
                self.assertLessEqual(max(map(len, ended.out.splitlines())), 80)
                with open(os.path.join(self.folder, "found.toml"), encoding="utf-8") as file:
                    self.assertIn(f'defect = "{defect}"\n', file.read())
                ended, ladder = self.run_json("ladder", "found.toml")
                self.assertEqual((ended.code, ended.err), (0, ""))
                # With init-once the ladder loses nothing: the flush alone takes the link down.
                self.assertTrue({"lost", "refused"} & {event["fate"] for event in ladder["events"]})
                if defect == "init-once":
                    self.assertEqual(ladder["end"], "idle")
        ended = self.run_command("search", "ue-llr", "--rule", "none", "--no-timing")
        self.assertEqual(ended.raw, self.run_command("search", "ue-llr", "--no-timing").raw)

    def test_a_wrong_delivery_replays_too(self):
        ended = self.run_command("search", "pcie", "--window", "4", "--modulus", "4",
                                 "--in-flight", "4", "--out", "wrong.toml")
        self.assertEqual((ended.code, ended.err), (1, ""))
        ended = self.run_command("ladder", "wrong.toml")
        self.expect_failure(ended, 1, "is not what was sent")

    def test_what_holds_writes_no_file(self):
        ended = self.run_command("search", "pcie", "--faults", "1", "--out", "found.toml")
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.expect_no_part_left()


class ASearchThatIsNotFinishedSaysSo(Case):
    LONG = ("pcie", "--both-ways", "--in-flight", "3")

    def test_there_are_more_states_than_allowed(self):
        ended = self.run_command("search", *self.LONG, "--states", "2000", "--out", "x.toml")
        self.expect_failure(ended, 1, "not finished", "2000 states")
        self.assertIn("not finished: nothing was found so far\n", ended.out)
        ended, found = self.run_json("search", *self.LONG, "--states", "2000")
        self.assertEqual((ended.code, found["verdict"]), (1, "too_many_states"))
        self.expect_no_part_left()

    def test_it_is_interrupted(self):
        process = self.start("search", *self.LONG, "--json", "--out", "x.toml")
        self.until_it_catches(process, signal.SIGINT)
        process.send_signal(signal.SIGINT)
        ended = self.finish(process)
        self.assertEqual(ended.code, -signal.SIGINT)
        self.assertIn("interrupted", ended.err)
        self.assertEqual(one_object(ended)["verdict"], "interrupted")
        self.expect_no_part_left()

    def test_the_file_cannot_be_written(self):
        ended = self.run_command("search", *LIVELOCK, "--out", "no/where")
        self.expect_failure(ended, 1, "cannot write no/where")


class ASearchThatMakesNoSenseEndsWithTwo(Case):
    def refuses(self, *arguments, words=()):
        with self.subTest(arguments):
            ended = self.run_command("search", *arguments)
            self.expect_failure(ended, 2, *words)
            self.assertEqual(ended.out, "")

    def test_options_that_do_not_go_together(self):
        self.refuses(words=["PROTOCOL"])
        self.refuses("am", words=["am"])
        self.refuses("pcie", "--rule", "literal", words=["--rule", "hippi6400"])
        self.refuses("hippi6400", "--recovery", "selective", words=["--recovery", "sp-am"])
        self.refuses("hippi6400", "--rule", "loud", words=["--rule"])
        self.refuses("pcie", "--modulus", "5", words=["--modulus", "even"])
        self.refuses("pcie", "--window", "5", "--modulus", "4", words=["--window"])
        self.refuses("hippi6400", "--modulus", "256", words=["modulus"])
        self.refuses("pcie", "hippi6400")
        self.refuses("cxl-llr", "--faults", "1", "--any-faults", words=["--any-faults"])

    def test_numbers_that_are_none_or_out_of_range(self):
        for option, values in (("--window", ("0", "17", "two", "-1")),
                               ("--modulus", ("1", "65537")), ("--messages", ("0", "101")),
                               ("--in-flight", ("0", "7")), ("--faults", ("-1", "101", "x")),
                               ("--states", ("0", "1.5"))):
            for value in values:
                self.refuses("pcie", option, value, words=[option])


if __name__ == "__main__":
    unittest.main()
