"""./run, with the command of this build in the place of what it would build; and the help of ./test."""
import os
import pathlib
import pty
import re
import shutil
import subprocess
import unittest

from command import PATIENCE, WIREPROOF, Case

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT = 25  # entries of the log of ninja
LINES_OF_A_TERMINAL = 25

SCRIPTS = ("run", "test")

CMAKE = """#!/bin/sh
set -e
case $1 in
--preset) mkdir -p build/command/wireproof/cli; touch build/command/build.ninja ;;
--build)
    [ ! -f ../fails ] || { echo "error: this does not compile"; exit 1; }
    cp ../ninja_log build/command/.ninja_log
    ln -sf "$WIREPROOF" build/command/wireproof/cli/wireproof ;;
esac
"""
PACKAGES = "need() { echo \"$@\" >needed; }\nbuild_packages=(g++)\nrun_packages=(ibverbs-utils)\n"


class WhatRunPrints(Case):
    def setUp(self):
        super().setUp()
        self.tree = pathlib.Path(self.path("tree"))
        (self.tree / "tools").mkdir(parents=True)
        for script in SCRIPTS:
            shutil.copy(ROOT / script, self.tree)
        shutil.copy(ROOT / "tools/help.sh", self.tree / "tools")
        (self.tree / "tools/packages.sh").write_text(PACKAGES, encoding="utf-8")
        programs = pathlib.Path(self.path("bin"))
        programs.mkdir()
        (programs / "cmake").write_text(CMAKE, encoding="utf-8")
        (programs / "cmake").chmod(0o755)
        entries = [f"0\t{1000 * n}\t0\tproto/CMakeFiles/proto.dir/Unity/unit_{n}.o\thash" for n in range(BUILT)]
        pathlib.Path(self.path("ninja_log")).write_text("\n".join(["# ninja log v5", *entries, ""]), encoding="utf-8")
        self.variables = {**self.environment(), "PATH": f"{programs}:{os.environ['PATH']}",
                          "WIREPROOF": os.path.abspath(WIREPROOF)}

    def run_it(self, *arguments, script="run"):
        return subprocess.run([self.tree / script, *arguments], env=self.variables, capture_output=True, text=True,
                              timeout=PATIENCE, check=False)

    def on_a_terminal(self, *arguments):
        """Returns what stays on the terminal: a line that is written again replaces the one before."""
        terminal, end = pty.openpty()
        try:
            process = subprocess.Popen([self.tree / "run", *arguments], env=self.variables, stdin=subprocess.DEVNULL,
                                       stdout=end, stderr=end)
        finally:
            os.close(end)
        shown = b""
        try:
            while piece := os.read(terminal, 4096):
                shown += piece
        except OSError:
            pass  # the other end of the terminal is closed
        os.close(terminal)
        self.assertEqual(process.wait(timeout=PATIENCE), 0, shown)
        lines = shown.decode().replace("\r\n", "\n").removesuffix("\n").split("\n")
        return [line.rpartition("\r")[2].replace("\x1b[K", "") for line in lines]

    def expect_the_end(self, lines):
        """Of what ./run prints: the three steps, the table of the protocols, and what to try next."""
        start = next(i for i, line in enumerate(lines) if line.startswith("packages "))
        self.assertEqual([line.split()[0] for line in lines[start:start + 3]], ["packages", "build", "carry"])
        protocols = [line.split()[:2] for line in lines if re.search(r" verified ", line)]
        self.assertEqual(protocols, [[name, "verified"] for name in
                                     ("sp-am", "pcie", "hippi6400", "flit", "ue-llr", "cxl-llr", "rc")])
        self.assertLessEqual(max(map(len, lines[start:])), 80)
        self.assertLessEqual(len(lines[start:]), LINES_OF_A_TERMINAL)
        return lines[-3:]

    def test_on_a_terminal_fits_25_lines_of_80_columns(self):
        lines = self.on_a_terminal(self.file(300_000))
        self.assertLessEqual(len(lines), LINES_OF_A_TERMINAL, lines)
        self.expect_the_end(lines)
        self.assertIn("; the slowest: build/command/costs.txt", "".join(lines))
        costs = (self.tree / "build/command/costs.txt").read_text(encoding="utf-8").splitlines()
        self.assertEqual(len(costs), 20)
        self.assertRegex(costs[0], r"^ +24\.0  proto/proto/unit_24\.o$")

    def test_in_a_pipe_has_the_slowest_of_what_was_built_too(self):
        ended = self.run_it(self.file(300_000))
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        lines = ended.stdout.splitlines()
        self.expect_the_end(lines)
        self.assertEqual(len(re.findall(r"^ +\d+\.0  proto/proto/unit_\d+\.o$", ended.stdout, re.M)), 20)
        again = self.run_it(self.file(300_000)).stdout  # everything is built
        self.assertNotIn("costs.txt", again)
        self.assertNotIn("unit_", again)
        costs = (self.tree / "build/command/costs.txt").read_text(encoding="utf-8")
        self.assertEqual(len(costs.splitlines()), 20)

    def test_without_a_file_carries_the_command(self):
        fake = pathlib.Path(self.path("fake"))
        fake.write_text("#!/bin/sh\necho \"$@\"\n", encoding="utf-8")
        fake.chmod(0o755)
        self.variables["WIREPROOF"] = str(fake)
        ended = self.run_it()
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        self.assertIn("\ncarry build/command/wireproof/cli/wireproof --protocol all --wire udp --loss", ended.stdout)

    def test_its_last_three_lines_are_commands_that_work(self):
        lines = self.expect_the_end(self.run_it(self.file(10_000)).stdout.splitlines())
        for line in lines:
            label, command = re.fullmatch(r"(\w+ ?\w+) +build/wireproof (.+)", line).groups()
            words = command.split()
            if words[0] == "verbs" and os.environ.get("WIREPROOF_HAS_VERBS") != "1":
                continue
            place = words.index("--") if "--" in words else len(words)
            with self.subTest(label):
                ended = self.run_command(*words[:place], "--print-config", *words[place:])
                self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertEqual((self.tree / "needed").read_text(encoding="utf-8"), "g++ ibverbs-utils\n")

    def test_a_failure_is_the_end(self):
        pathlib.Path(self.path("fails")).touch()
        ended = self.run_it(self.file(10_000))
        self.assertEqual(ended.returncode, 1)
        self.assertIn("error: this does not compile", ended.stdout)

    def test_help_is_the_comment_at_its_head_and_the_one_of_test(self):
        for script in SCRIPTS:
            comment = re.match(r"#!.*\n((?:#.*\n)+)", (ROOT / script).read_text(encoding="utf-8"))[1]
            for option in ("--help", "-h"):
                ended = self.run_it(option, script=script)
                self.assertEqual((ended.returncode, ended.stderr), (0, ""))
                self.assertEqual(ended.stdout, re.sub(r"^# ", "", comment, flags=re.M))
                self.assertTrue(ended.stdout.startswith(f"./{script}"))
                self.assertLessEqual(max(map(len, ended.stdout.splitlines())), 80)
        self.assertFalse((self.tree / "build").exists())

    def test_a_wrong_argument_gets_one_line_before_anything_is_built(self):
        for script, words, named in (("run", ["--no-such-option"], "--no-such-option"), ("run", ["no-such-file"], "no-such-file"),
                                     ("run", [self.file(1), "second"], "second"), ("run", ["."], "."),
                                     ("test", ["--no-such-option"], "--no-such-option"),
                                     ("test", ["--all", "--units"], "--all --units")):
            with self.subTest(script=script, words=words):
                ended = self.run_it(*words, script=script)
                self.assertEqual((ended.returncode, ended.stdout), (2, ""))
                self.assertRegex(ended.stderr, rf"^\./{script}: [^\n]*{re.escape(named)}[^\n]*\n$")
        self.assertFalse((self.tree / "build").exists())


if __name__ == "__main__":
    unittest.main()
