"""What the command says of itself and of command lines that it cannot understand."""
import unittest

from command import Case

CARRYING = ("carry", "send", "recv")
VERBS = (*CARRYING, "sp2", "soak", "ladder", "search", "inspect", "sweep")


class EveryVerbExplainsItself(Case):
    def test_the_version_is_one_line(self):
        ended = self.run_command("--version")
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertRegex(ended.out, r"^wireproof \d+\.\d+\.\d+\n$")

    def test_help_names_every_verb(self):
        ended = self.run_command("--help")
        self.assertEqual((ended.code, ended.err), (0, ""))
        for verb in VERBS:
            self.assertIn(verb, ended.out)

    def test_help_of_a_verb_has_examples_and_fits_80_columns(self):
        for verb in VERBS:
            with self.subTest(verb):
                ended = self.run_command(verb, "--help")
                self.assertEqual((ended.code, ended.err), (0, ""))
                self.assertIn("Example", ended.out)
                self.assertIn(f"  wireproof {verb} ", ended.out)
                carrying = ("--loss", "--ber", "--duplicate", "--reorder", "--mtu",
                            "--peer-timeout", "--seed") if verb in CARRYING else ()
                for option in (*carrying, "--json"):
                    self.assertIn(option, ended.out)
                self.assertIn("wireproof." + verb + "/1", ended.out)
                self.assertLessEqual(max(map(len, ended.out.splitlines())), 80)


class ACommandLineThatMakesNoSenseEndsWithTwo(Case):
    def refuses(self, *arguments, words=()):
        with self.subTest(arguments):
            ended = self.run_command(*arguments)
            self.expect_failure(ended, 2, *words)
            self.assertEqual(ended.out, "")

    def test_a_verb_is_unknown_or_missing(self):
        self.refuses("fetch", words=["unknown verb: fetch"])
        self.refuses(words=["a verb is missing"])
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
                "--worlds": ("0", "-1", "1e3", "many"), "--seed": ("-1", "x"),
                "--seconds": ("nan", "0", "-5", "inf", "long")}.items():
            for value in values:
                self.refuses("soak", option, value, words=[option])
        for options in (("--hostile", "0"), ("--hostile", "many"), ("--hostile", "5"),
                        ("--hostile", "5", "--protocol", "rc", "--worlds", "5"),
                        ("--hostile", "5", "--protocol", "rc", "--seconds", "5")):
            self.refuses("soak", *options, words=["--hostile"])
        for value in ("1", "-2", "two", "1000"):
            self.refuses("sp2", "--nodes", value, words=["--nodes"])

    def test_a_name_is_not_one_of_those_that_there_are(self):
        self.refuses("carry", self.file(1), "--wire", "tin", words=["--wire", "udp", "sim"])
        self.refuses("carry", self.file(1), "--protocol", "tcp", words=["--protocol", "sp-am"])
        self.refuses("soak", "--protocol", "pcie", words=["--protocol", "sp-am", "ib"])

    def test_an_address_lacks_its_port_or_is_none(self):
        for address in ("127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "1.2.3:7000", "::1", ""):
            self.refuses("send", self.file(1), "--to", address, words=["--to"])
            self.refuses("recv", "--out", "x", "--listen", address, words=["--listen"])
        self.refuses("send", self.file(1), "--to", "127.0.0.1:0", words=["--to"])

    def test_a_complaint_stays_one_line_whatever_was_typed(self):
        self.refuses("carry", self.file(1), "two\nlines\x1b[2J")


if __name__ == "__main__":
    unittest.main()
