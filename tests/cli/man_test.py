"""The manual pages, which are generated from the options of the command."""
import os
import re
import shutil
import subprocess
import unittest

from command import PATIENCE, Case

DESCRIPTION = os.environ.get("WIREPROOF_DESCRIPTION", "")
PAGES = os.path.join(DESCRIPTION, "man1")
WITH_PROGRAM = ("verbs", "launch")  # these end with the code of their program


class ManualCase(Case):
    def verbs(self):
        """The verbs that --help names."""
        out = self.run_command("--help").out
        return re.findall(r"^  (\w+) {2,}", out.split("Subcommands:")[1], re.M)

    def help_of(self, verb):
        ended = self.run_command(verb, "--help")
        self.assertEqual((ended.code, ended.err), (0, ""))
        return ended.out

    def page(self, name, *options):
        """The page as a terminal shows it, without bold and underlined letters."""
        if not shutil.which("mandoc"):
            self.skipTest("mandoc is not on this machine")
        done = subprocess.run(["mandoc", "-T", "utf8", *options, os.path.join(PAGES, name)],
                              capture_output=True, text=True, timeout=PATIENCE, check=True)
        return re.sub(".\b", "", done.stdout)


class EachVerbHasAManualPage(ManualCase):
    def test_and_the_command_has_one(self):
        wanted = ["wireproof.1", *(f"wireproof-{verb}.1" for verb in self.verbs())]
        self.assertEqual(sorted(os.listdir(PAGES)), sorted(wanted))

    def test_mandoc_has_nothing_to_say_about_any(self):
        if not shutil.which("mandoc"):
            self.skipTest("mandoc is not on this machine")
        pages = [os.path.join(PAGES, name) for name in sorted(os.listdir(PAGES))]
        done = subprocess.run(["mandoc", "-T", "lint", *pages], capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        # mandoc looks for the pages that these name in /usr/share/man only, so the test looks itself.
        absent = re.compile(r".*: STYLE: referenced manual not found: Xr (wireproof\S*) 1( \(.*\))?")
        others = [line for line in done.stdout.splitlines() if not absent.fullmatch(line)]
        self.assertEqual((others, done.stderr), ([], ""))
        for page in pages:
            with open(page, encoding="utf-8") as file:
                for name, section in re.findall(r"\bXr (\S+) (\d)", file.read()):
                    self.assertTrue(os.path.exists(os.path.join(PAGES, f"{name}.{section}")), name)

    def test_a_page_fits_80_columns(self):
        for name in sorted(os.listdir(PAGES)):
            with self.subTest(name):
                for line in self.page(name).splitlines():
                    self.assertLessEqual(len(line), 80, line)

    def test_a_page_names_each_option_of_the_help(self):
        for verb in self.verbs():
            with self.subTest(verb):
                options = self.help_of(verb).split("Options:")[1].split("\n\n")[0]
                names = re.findall(r"(?<![\w-])--?[a-z][a-z-]*(?=[ ,\n])",
                                   "\n".join(re.findall(r"^  (-\S+)", options + "\n", re.M)) + "\n")
                self.assertIn("--help", names)
                page = self.page(f"wireproof-{verb}.1")
                for name in names:
                    self.assertRegex(page, rf"(?m)^ +(.*, )?{name}\b")

    def test_a_page_has_types_defaults_limits_and_choices(self):
        page = re.sub(r"\s+", " ", self.page("wireproof-carry.1"))
        self.assertIn("--mtu N IP packet, 128 to 65535 bytes, same at both ends. The default is 1500.",
                      page)
        self.assertIn("--ber P Flip a bit, with this probability. From 0 to 1.", page)
        self.assertIn("--wire NAME udp, shm: two processes; sim: two nodes in virtual time. "
                      "The default is udp.", page)
        page = re.sub(r"\s+", " ", self.page("wireproof-sweep.1"))
        self.assertIn("--fec on|off flits: use the error-correcting code. One of on or off.", page)

    def test_a_page_has_the_examples_of_the_help(self):
        for verb in self.verbs():
            with self.subTest(verb):
                examples = self.help_of(verb).split("Examples:\n")[1].split("\n\n")[0]
                page = self.page(f"wireproof-{verb}.1")
                for line in examples.splitlines():
                    self.assertIn(line.strip().split("   ")[0], page)


class AnExitCodeMeansTheSameForEachVerb(ManualCase):
    def codes_of(self, text):
        """The codes that a help or a page states."""
        text = re.sub(r"\s+", " ", text)
        found = re.search(r"Exit code (.*)$", text)
        self.assertIsNotNone(found, text)
        return re.findall(r"(?:^|; )(\d+|else): ", found[1])

    def test_and_each_help_states_its_codes(self):
        for verb in self.verbs():
            with self.subTest(verb):
                codes = self.codes_of(self.help_of(verb))
                if verb == "verbs":
                    self.assertEqual(codes, ["2", "125", "126", "127", "else"])
                elif verb == "launch":
                    self.assertEqual(codes, ["0", "1", "2", "126", "127", "else"])
                else:
                    self.assertEqual(codes, ["0", "1", "2"])
                self.assertRegex(re.sub(r"\s+", " ", self.help_of(verb)),
                                 r"2: the command line is wrong")

    def test_and_each_page_has_those_of_its_help(self):
        for verb in self.verbs():
            with self.subTest(verb):
                status = self.page(f"wireproof-{verb}.1").split("EXIT STATUS")[1].split("EXAMPLES")[0]
                self.assertEqual(re.findall(r"^ {5}(\d+|else)\b", status, re.M),
                                 self.codes_of(self.help_of(verb)))

    def test_a_wrong_command_line_is_2_for_each(self):
        for verb in self.verbs():
            with self.subTest(verb):
                self.expect_failure(self.run_command(verb, "--no-such-option"), 2)

    def test_the_page_of_the_command_has_all(self):
        status = self.page("wireproof.1").split("EXIT STATUS")[1]
        for code in ("0", "1", "2", "125, 126, 127", "128+S"):
            self.assertRegex(status, rf"(?m)^ {{5}}{re.escape(code)}\b|^ {{5}}{re.escape(code)}$")


class HelpIsAVerb(ManualCase):
    def test_help_of_a_verb_is_what_its_option_prints(self):
        for verb in self.verbs():
            with self.subTest(verb):
                ended = self.run_command("help", verb)
                self.assertEqual((ended.code, ended.err), (0, ""))
                self.assertEqual(ended.out, self.help_of(verb))

    def test_help_of_the_command_too(self):
        ended = self.run_command("help")
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertEqual(ended.out, self.run_command("--help").out)
        self.assertLessEqual(max(map(len, ended.out.splitlines())), 80)

    def test_an_unknown_verb_is_one_line(self):
        self.expect_failure(self.run_command("help", "fetch"), 2, "fetch")

    def test_help_that_cannot_be_written_is_a_failure(self):
        for words in (("--help",), ("sweep", "--help"), ("help",), ("help", "sweep"), ("--version",)):
            with self.subTest(words), open("/dev/full", "wb") as full:
                self.expect_failure(self.run_command(*words, stdout=full), 1, "cannot write")


class AMisspeltWordIsNamedWithTheNearest(Case):
    def test_a_choice_that_is_near(self):
        for arguments, meant in ((("help", "swep"), "sweep"), (("sweep", "--protocol", "pcei"), "pcie"),
                                 (("search", "fllit"), "flit")):
            self.expect_failure(self.run_command(*arguments), 2, f"}}; did you mean {meant}?")
        self.assertNotIn("did you mean", self.run_command("sweep", "--protocol", "zzzzzz").err)

    def test_a_verb(self):
        for word, meant in (("swep", "sweep"), ("carrry", "carry"), ("laucnh", "launch"),
                            ("saerch", "search")):
            self.expect_failure(self.run_command(word), 2,
                                f"unknown subcommand: {word}; did you mean {meant}?")

    def test_but_only_if_one_is_near(self):
        for word in ("fetch", "x", "sweeeeeep" * 20):
            ended = self.run_command(word)
            self.expect_failure(ended, 2, f"unknown subcommand: {word}", "--help names them")
            self.assertNotIn("did you mean", ended.err)

    def test_an_option(self):
        self.expect_failure(self.run_command("sweep", "--protcol", "pcie"), 2,
                            "--protcol", "did you mean --protocol?")
        self.expect_failure(self.run_command("search", "pcie", "--no-damag"), 2,
                            "did you mean --no-damage?")


if __name__ == "__main__":
    unittest.main()
