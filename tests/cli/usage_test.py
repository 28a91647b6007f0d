"""The help of the command, and its messages on command lines that it does not understand."""
import os
import re
import unittest

from command import CARRYING, Case, free_port, one_object

VERBS = (*CARRYING, "sp2", "soak", "ladder", "search", "inspect", "stat", "sweep", "perf",
         "doctor")
RUNNING = ("verbs", "launch", "help")  # these print the output of a program, or help
if os.environ.get("WIREPROOF_HAS_VERBS", "1") != "1":  # a build without the device
    VERBS = tuple(subcommand for subcommand in VERBS if subcommand != "doctor")
    RUNNING = ("launch", "help")


def schema_of(subcommand):
    """Returns the schema of the object that the subcommand prints."""
    return f"wireproof.{subcommand}/{2 if subcommand == 'stat' else 1}"


class EverySubcommandExplainsItself(Case):
    def test_the_version_is_one_line(self):
        ended = self.run_command("--version")
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertRegex(ended.out, r"^wireproof \d+\.\d+\.\d+\n$")

    def test_help_names_every_subcommand(self):
        ended = self.run_command("--help")
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertLessEqual(max(map(len, ended.out.splitlines())), 80)
        named = re.findall(r"^  (\w+) {2,}", ended.out.split("Subcommands:")[1], re.M)
        self.assertEqual(set(named) - set(RUNNING), set(VERBS))

    def test_help_of_a_verb_has_examples_and_fits_80_columns(self):
        for subcommand in (*VERBS, *RUNNING):
            with self.subTest(subcommand):
                ended = self.run_command(subcommand, "--help")
                self.assertEqual((ended.code, ended.err), (0, ""))
                self.assertIn("Example", ended.out)
                self.assertIn(f"  wireproof {subcommand} ", ended.out)
                carrying = ("--loss", "--ber", "--duplicate", "--reorder", "--mtu",
                            "--peer-timeout", "--seed") if subcommand in CARRYING else ()
                for option in (*carrying, *(["--json"] if subcommand in VERBS else [])):
                    self.assertIn(option, ended.out)
                self.assertEqual(schema_of(subcommand) in ended.out, subcommand in VERBS)
                self.assertLessEqual(max(map(len, ended.out.splitlines())), 80)


    def test_a_page_that_help_names_is_in_the_source(self):
        """An installation has docs/FOLDER/PAGE.md as share/doc/wireproof/FOLDER/PAGE.md."""
        docs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")
        named = set()
        for subcommand in (*VERBS, *RUNNING):
            said = self.run_command(subcommand, "--help").out
            named |= set(re.findall(r"share/doc/wireproof/((?:start|guide|reference|rules)/[\w/-]+\.md)", said))
            self.assertNotRegex(said, r"\bdocs/")
        self.assertGreater(len(named), 5)
        self.assertEqual([page for page in sorted(named) if not os.path.exists(os.path.join(docs, page))], [])


class ACommandLineThatMakesNoSenseEndsWithTwo(Case):
    def refuses(self, *arguments, words=()):
        with self.subTest(arguments):
            ended = self.run_command(*arguments)
            self.expect_failure(ended, 2, *words)
            self.assertEqual(ended.out, "")

    def test_a_subcommand_is_unknown_or_missing(self):
        self.refuses("fetch", words=["unknown subcommand: fetch"])
        self.refuses(words=["a subcommand is missing"])
        self.refuses("--fast")

    def test_an_operand_is_missing_or_one_too_many(self):
        self.refuses("carry", words=["FILE"])
        self.refuses("carry", self.file(1), "another")
        self.refuses("send", "--to", "127.0.0.1:7000", words=["FILE"])
        self.refuses("send", self.file(1), words=["--to"])
        self.refuses("recv", "--out", "x", words=["--listen"])
        self.refuses("recv", "--listen", "127.0.0.1:7000", words=["--out"])
        self.refuses("carry", self.file(1), "--loss")

    def test_a_probability_is_none(self):
        for option in ("--loss", "--ber", "--duplicate", "--reorder"):
            for value in ("1.01", "-0.1", "nan", "inf", "much", "", "0.1x", "10%"):
                self.refuses("carry", self.file(1), f"{option}={value}", words=[option])

    def test_a_number_is_none_or_too_large_or_too_small(self):
        for option, values in {
                "--mtu": ("127", "65536", "-1", "1500.5", "0x600", "big"),
                "--rate": ("0", "-1", "nan", "inf", "fast"),
                "--peer-timeout": ("0", "-1", "nan", "inf", "86401", "soon"),
                "--seed": ("-1", "1.5", "18446744073709551616", "seven")}.items():
            for value in values:
                self.refuses("carry", self.file(1), option, value, words=[option])

    def test_a_simulation_is_asked_for_what_cannot_be(self):
        for option, values in {
                "--worlds": ("0", "-1", "1.5", "1e-3", "1e20", "many"), "--seed": ("-1", "x"),
                "--seconds": ("nan", "0", "-5", "inf", "long")}.items():
            for value in values:
                self.refuses("soak", option, value, words=[option])
        for value in ("1", "-2", "two", "1000"):
            self.refuses("sp2", "--nodes", value, words=["--nodes"])

    def test_a_name_is_not_one_of_those_that_there_are(self):
        self.refuses("carry", self.file(1), "--wire", "tin", words=["--wire", "udp", "sim"])
        self.refuses("carry", self.file(1), "--protocol", "tcp", words=["--protocol", "sp-am"])
        self.refuses("soak", "--protocol", "tcp", words=["--protocol", "sp-am", "ib", "pcie", "cxl-llr"])
        self.refuses("soak", "--protocol", "pcie", "--congestion", "path", words=["--congestion", "sp-am"])
        self.refuses("soak", "--congestion", "cubic", words=["--congestion", "off", "loss", "path"])

    def test_an_address_lacks_its_port_or_is_none(self):
        for address in ("127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "1.2.3:7000", "::1", ""):
            self.refuses("send", self.file(1), "--to", address, words=["--to"])
            self.refuses("recv", "--out", "x", "--listen", address, words=["--listen"])
        self.refuses("send", self.file(1), "--to", "127.0.0.1:0", words=["--to"])

    def test_an_mtu_in_which_no_packet_fits(self):
        self.refuses("carry", self.file(1), "--protocol", "rc", "--mtu", "319",
                     words=["--mtu: 319 ", "320 bytes"])
        self.refuses("carry", self.file(1), "--protocol", "all", "--mtu", "200", words=["--mtu"])

    def test_settings_of_a_point_that_do_not_go_together_are_all_named(self):
        for typed, why in (("--protocol hippi6400 --overhead 24", "overhead works only with pcie"),
                           ("--protocol flit --renak-on-bad-head", "renak_on_bad_head works only with pcie"),
                           ("--protocol uc --timer 100", "uc has no timer"),
                           ("--ber 1e-18", "0, or 1e-17 to 0.1"),
                           ("--lanes 4", "pcie has no flits"),
                           ("--preset pcie-gen1-x1 --timer 1", "longer than a unit"),
                           ("--protocol hippi6400 --buffer 300", "1 to 254")):
            # As if it was typed, whatever the order of the options.
            names = re.findall(r"--\S+(?: [^-]\S*)?", typed)
            self.refuses("sweep", *typed.split(), words=[*names, why])

    def test_a_complaint_stays_one_line_whatever_was_typed(self):
        self.refuses("carry", self.file(1), "two\nlines\x1b[2J")


class AnOptionThatCanHaveNoEffectIsRefused(Case):
    def refuses(self, option, *arguments, where):
        with self.subTest(arguments):
            ended = self.run_command(*arguments)
            self.expect_failure(ended, 2, f"{option} has no effect {where}")
            self.assertEqual(ended.out, "")

    def test_by_carry(self):
        path = self.file(1)
        for protocol in ("sp-am", "rc", "all"):
            self.refuses("--rate", "carry", path, "--protocol", protocol, "--rate", "5",
                         where="without --protocol uc")
        self.refuses("--mtu", "carry", path, "--wire", "shm", "--mtu", "1500", where="with --wire shm and --protocol sp-am")

    def test_by_perf(self):
        address = f"127.0.0.1:{free_port()}"
        for option, value, others, where in (
                ("--mtu", "1500", (), "without --wire udp"),
                ("--congestion", "on", ("--wire", "memory"), "without --wire udp"),
                ("--to", address, ("--wire", "shm"), "without --wire udp"),
                ("--per-poll", "4", ("--op", "store"), "without --op stream"),
                ("--memory", "private", ("--wire", "udp", "--op", "store"), "without --wire shm and --op store"),
                ("--memory", "private", ("--wire", "shm", "--op", "stream"), "without --wire shm and --op store"),
                ("--rounds", "2", ("--listen", address), "with --listen"),
                ("--seconds", "1", ("--listen", address), "with --listen"),
                ("--size", "64", ("--listen", address), "with --listen"),
                ("--html", "page.html", ("--listen", address), "with --listen")):
            self.refuses(option, "perf", *others, option, value, where=where)
        self.refuses("--trust-payload", "perf", "--wire", "udp", "--trust-payload",
                     where="without --op store, store-async or get")

    def test_by_sweep(self):
        with open(self.path("grid.toml"), "w", encoding="utf-8") as grid:
            grid.write("[sweep]\nname = \"a\"\n")
        for of_a_point in (("--protocol", "pcie"), ("--payload", "64"), ("--ber", "1e-9"),
                           ("--loop", "5"), ("--clean-back",), ("--burst-begin", "0.1"),
                           ("--preset", "pcie-gen5-x16")):
            for several in (("grid.toml",), ("--paper",), ("--presets",)):
                self.refuses(of_a_point[0], "sweep", *several, *of_a_point, where="with FILE, ")
        for of_points in (("--packets", "5"), ("--csv", "a.csv"), ("--no-jump",),
                          ("--point-seconds", "1"), ("--svg", "a.svg")):
            self.refuses(of_points[0], "sweep", "--paper", *of_points, where="with --advise, --paper or --presets")
        self.refuses("FILE", "sweep", "grid.toml", "--paper", where="with --paper or --presets")
        self.refuses("--ladder-point", "sweep", "grid.toml", "--ladder-point", "1", where="without --html, or with --paper")

    def test_by_search_and_inspect(self):
        self.refuses("--rule", "search", "pcie", "--rule", "literal", where="for protocols other than hippi6400")
        self.refuses("--recovery", "search", "pcie", "--recovery", "selective", where="for protocols other than sp-am")
        ended = self.run_command("inspect", "any.pcap", "--events", "--json")
        self.expect_failure(ended, 2, "--events has no effect with --json")


class AFailureIsAnObjectWithItsError(Case):
    """With --json, the reason of a failure is on standard output, in place of the result."""

    def fails(self, code, subcommand, *arguments):
        with self.subTest(subcommand=subcommand, arguments=arguments):
            ended = self.run_command(subcommand, "--json", *arguments)
            out = one_object(ended)
            self.expect_failure(ended, code, out["error"])
            self.assertEqual(out["schema"], schema_of(subcommand))

    def test_where_the_command_line_is_wrong(self):
        for subcommand in VERBS:
            self.fails(2, subcommand, "--no-such-option")
            self.fails(2, subcommand, "one", "too", "many")

    def test_where_the_run_fails(self):
        self.fails(1, "carry", "nowhere")
        self.fails(1, "send", "nowhere", "--to", "127.0.0.1:7000")
        self.fails(1, "recv", "--listen", "127.0.0.1:0", "--out", "nowhere/copy.bin")
        self.fails(1, "ladder", "nowhere")
        self.fails(1, "inspect", "nowhere")
        self.fails(1, "sweep", "nowhere.toml")
        self.fails(1, "perf", "--html", "nowhere/page.html", "--seconds", "0.01", "--rounds", "1")
        self.fails(1, "search", "pcie", "--states", "5")
        self.fails(1, "search", "pcie", "--out", "nowhere/found.toml")
        # The first line says where it listens.
        ended = self.run_command("recv", "--json", "--listen", "127.0.0.1:0", "--out", "copy.bin",
                                 "--wait", "0.2")
        self.assertIn(one_object(ended)["error"], ended.err)

    def test_where_a_search_finds_a_counterexample(self):
        ended, out = self.run_json("search", "hippi6400", "--rule", "literal", "--no-damage",
                                   "--no-early-timers")
        self.assertEqual((ended.code, out["error"]), (1, "refuted: " + out["violation"]))


class AWholeNumberMayHaveAnExponent(Case):
    def test_as_long_as_it_is_whole(self):
        for text, seed in (("1e3", 1000), ("2.50e2", 250), ("1E+4", 10000), ("0e5", 0),
                           ("007", 7), ("18446744073709551615", 2 ** 64 - 1)):
            with self.subTest(text):
                ended, out = self.run_json("carry", self.file(10), "--wire", "sim", "--seed", text)
                self.assertEqual((ended.code, ended.err, out["seed"]), (0, "", seed))

    def test_and_is_refused_otherwise(self):
        for text in ("1.5", "2.55e1", "1e20", "1e-3", "1e", "e3", "1e3e3", ".5e1", "5.e1", "+5",
                     "0x10", "1e99999999999", ""):
            with self.subTest(text):
                ended = self.run_command("carry", self.file(10), "--wire", "sim", f"--seed={text}")
                self.expect_failure(ended, 2, "--seed")


if __name__ == "__main__":
    unittest.main()
