"""Completion in the shells themselves: each types a line, presses the tab key, and tells what stands
there then. The command that is completed need not be there."""
import os
import pty
import select
import shutil
import subprocess
import time
import unittest

from command import PATIENCE, Case

DESCRIPTION = os.environ.get("WIREPROOF_DESCRIPTION", "")


def script(shell):
    return os.path.join(DESCRIPTION, "wireproof." + shell)


class Terminal:
    """A shell on a terminal. It has no start-up files, and its prompt is "READY> "."""

    def __init__(self, arguments, folder, environment):
        pid, self.end = pty.fork()
        if pid == 0:
            os.chdir(folder)
            os.execvpe(arguments[0], arguments, environment)
        self.pid, self.shown = pid, b""

    def until(self, text):
        """Reads until the terminal shows the text, and returns all since the last call."""
        end = time.monotonic() + PATIENCE
        while text.encode() not in self.shown:
            if time.monotonic() > end or not self.read(1):
                raise AssertionError(f"no {text!r} in {self.shown!r}")
        end = self.shown.index(text.encode()) + len(text)
        shown, self.shown = self.shown[:end], self.shown[end:]
        return shown.decode(errors="replace")

    def read(self, seconds):
        if not select.select([self.end], [], [], seconds)[0]:
            return True
        try:
            piece = os.read(self.end, 4096)
        except OSError:
            piece = b""
        self.shown += piece
        return bool(piece)

    def type(self, text):
        os.write(self.end, text.encode())

    def close(self):
        os.close(self.end)
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)


class Shell(Case):
    """A line that ends in a tab, and the words of the line as the shell then has them. `echo` in place
    of the command would be completed otherwise, so the shell prints the line by a function of the same
    name."""
    NAME = ""

    def setUp(self):
        super().setUp()
        if not shutil.which(self.NAME):
            self.skipTest(f"{self.NAME} is not on this machine")
        self.environment = {"PATH": os.environ["PATH"], "HOME": self.folder, "TERM": "dumb",
                            "LC_ALL": "C.UTF-8", "XDG_CONFIG_HOME": self.folder,
                            "XDG_DATA_HOME": self.folder}
        with open(self.path("my capture.pcapng"), "wb"):
            pass
        os.mkdir(self.path("folder"))

    # What all shells do, as typed line and completed line.
    UNIQUE = {
        "wireproof sw": "wireproof sweep",
        "wireproof lau": "wireproof launch",
        "wireproof sweep --prot": "wireproof sweep --protocol",
        "wireproof sweep --protocol pc": "wireproof sweep --protocol pcie",
        "wireproof sweep --protocol=pc": "wireproof sweep --protocol=pcie",
        "wireproof carry --wire s": None,  # shm or sim: nothing is added
        "wireproof carry --wire sh": "wireproof carry --wire shm",
        "wireproof search --no-dam": "wireproof search --no-damage",
        "wireproof search hip": "wireproof search hippi6400",
        "wireproof help sea": "wireproof help search",
        "wireproof inspect my": "wireproof inspect my capture.pcapng",
        "wireproof inspect --ev": "wireproof inspect --events",
        "wireproof carry --out my": "wireproof carry --out my capture.pcapng",
        "wireproof stat --tree fo": "wireproof stat --tree folder",
        "wireproof sweep --preset sli": "wireproof sweep --preset slingshot-llr-200g-40m",
        "wireproof carry --seed my": None,  # a number is no file
    }


class BashCompletes(Shell):
    NAME = "bash"

    def candidates(self, *words):
        """What the function offers for these words, the last of which is not finished."""
        done = subprocess.run(
            ["bash", "--norc", "--noprofile", "-c",
             'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _wireproof; '
             'printf "%s\\n" "${COMPREPLY[@]}"', "bash", script("bash"), *words],
            capture_output=True, text=True, timeout=PATIENCE, check=True, cwd=self.folder,
            env=self.environment)
        self.assertEqual(done.stderr, "")
        return [line for line in done.stdout.split("\n") if line]

    def test_what_is_asked_for(self):
        self.assertEqual(self.candidates("wireproof", "s"),
                         ["send", "sp2", "soak", "search", "stat", "sweep"])
        self.assertEqual(self.candidates("wireproof", "sweep", "--pro"), ["--protocol"])
        self.assertEqual(self.candidates("wireproof", "sweep", "--protocol", "pc"), ["pcie"])
        self.assertEqual(self.candidates("wireproof", "sweep", "--protocol", "=", "pc"), ["pcie"])
        self.assertEqual(self.candidates("wireproof", "carry", "--wire", "="), ["udp", "shm", "sim"])
        self.assertEqual(self.candidates("wireproof", "carry", "--seed", ""), [])
        self.assertEqual(self.candidates("wireproof", "carry", "m"), ["my capture.pcapng"])
        self.assertEqual(self.candidates("wireproof", "stat", "--tree", ""), ["folder"])
        self.assertEqual(self.candidates("wireproof", "--v"), ["--version"])
        self.assertIn("pcie-lost-tlp", self.candidates("wireproof", "ladder", "pcie-l"))
        self.assertIn("my capture.pcapng", self.candidates("wireproof", "ladder", ""))
        self.assertIn("bash", self.candidates("wireproof", "launch", "-n", "2", "--", "bas"))
        self.assertEqual(self.candidates("wireproof", "launch", "--", "cat", "--wire", "m"),
                         ["my capture.pcapng"])

    def test_on_a_terminal(self):
        terminal = Terminal(["bash", "--norc", "--noprofile", "-i"], self.folder,
                            {**self.environment, "PS1": "READY> "})
        self.addCleanup(terminal.close)
        terminal.until("READY> ")
        terminal.type(f"bind 'set bell-style none'; source {script('bash')}; "
                      "wireproof() { printf '<%s' wireproof \"$@\"; echo '>'; }\n")
        terminal.until("READY> ")
        expect_lines(self, terminal)


def expect_lines(case, terminal):
    """Types each line and a tab, and expects the words with which the shell then calls the command."""
    for typed, completed in case.UNIQUE.items():
        with case.subTest(typed):
            terminal.type(typed + "\t\n")
            shown = terminal.until(">\r\n")
            words = (completed or typed).replace("my capture", "my\0capture").split(" ")
            wanted = "<" + "<".join(words).replace("\0", " ").replace("folder", "folder/") + ">"
            case.assertIn(wanted, shown)
            terminal.until("READY> ")


class ZshCompletes(Shell):
    NAME = "zsh"

    def test_on_a_terminal(self):
        os.mkdir(self.path("functions"))
        shutil.copy(script("zsh"), self.path("functions/_wireproof"))
        terminal = Terminal(["zsh", "-f", "-i"], self.folder, {**self.environment, "PS1": "READY> "})
        self.addCleanup(terminal.close)
        terminal.until("READY> ")
        # The list of candidates is not shown, as it would stand between what the test looks for.
        terminal.type("PS1='READY> '; unsetopt auto_list zle_bracketed_paste 2>/dev/null; "
                      "setopt no_beep no_auto_menu no_auto_remove_slash no_prompt_sp; "
                      "fpath=($PWD/functions $fpath); autoload -U compinit; compinit -u -d dump; "
                      "wireproof() { printf '<%s' wireproof \"$@\"; echo '>'; }; echo d''one\n")
        terminal.until("done")
        terminal.until("READY> ")
        expect_lines(self, terminal)


class FishCompletes(Shell):
    NAME = "fish"

    def candidates(self, line):
        done = subprocess.run(
            ["fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", script("fish"),
             line],
            capture_output=True, text=True, timeout=PATIENCE, check=True, cwd=self.folder,
            env=self.environment)
        self.assertEqual(done.stderr, "")
        return [one.split("\t")[0] for one in done.stdout.splitlines()]

    def test_what_is_asked_for(self):
        for typed, completed in self.UNIQUE.items():
            with self.subTest(typed):
                found = self.candidates(typed)
                if completed is None:
                    self.assertNotEqual(len(found), 1)
                    continue
                last = completed.replace("my capture", "my\0capture").split(" ")[-1]
                self.assertEqual([one.rstrip("/") for one in found], [last.replace("\0", " ")])

    def test_the_words_of_a_program(self):
        self.assertIn("bash", self.candidates("wireproof launch -n 2 -- bas"))
        self.assertEqual(self.candidates("wireproof launch -n 2 -- cat my"), ["my capture.pcapng"])
        self.assertNotIn("--hosts", self.candidates("wireproof launch -- cat --ho"))

    def test_a_choice_comes_from_the_table(self):
        self.assertEqual(self.candidates("wireproof carry --wire s"), ["shm", "sim"])
        self.assertIn("pcie-lost-tlp", self.candidates("wireproof ladder pcie-l"))
        self.assertEqual(self.candidates("wireproof carry --seed "), [])


class AScriptIsWellFormed(Case):
    def test_for_each_shell(self):
        for shell in ("bash", "zsh", "fish"):
            with self.subTest(shell):
                if not shutil.which(shell):
                    self.skipTest(f"{shell} is not on this machine")
                done = subprocess.run([shell, "-n", script(shell)], capture_output=True, text=True,
                                      timeout=PATIENCE, check=False)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))


if __name__ == "__main__":
    unittest.main()
