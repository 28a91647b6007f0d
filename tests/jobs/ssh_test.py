"""Ranks that the launcher starts by ssh, through an sshd of the test."""
import os
import pathlib
import re
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from launch_case import MEET, PLAIN, SLEEP, STUBBORN, LaunchCase, state_of
from sshd import HOSTS, Sshd

BOTH = ",".join(HOSTS)


def ssh_of(parent):
    """Returns the process number of the ssh that this process runs."""
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            number, name, rest = re.fullmatch(r"(\d+) \((.*)\) (.*)\n", stat.read_text(errors="replace"), re.S).groups()
        except OSError:
            continue  # it has just ended
        if name == "ssh" and int(rest.split()[1]) == parent:
            return int(number)
    raise AssertionError("no ssh runs")


class SshCase(LaunchCase):
    @classmethod
    def setUpClass(cls):
        cls.sshd = Sshd()
        cls.addClassCleanup(cls.sshd.close)

    def options(self, hosts):
        return ("launch", "--hosts", hosts, "--ssh", self.sshd.ssh)

    def remote(self, hosts, *program, options=()):
        return self.run_command(*self.options(hosts), *options, "--", *program)


class ARankOnAnotherHost(SshCase):
    def test_knows_its_place(self):
        names = " ".join(f"$WIREPROOF_{name}" for name in ("RANK", "SIZE", "HOST", "RENDEZVOUS"))
        ended = self.remote(f"{HOSTS[0]},{HOSTS[1]}:2", "sh", "-c", f"echo {names}")
        self.assertEqual((ended.code, ended.err), (0, ""))
        lines = sorted(line.split() for line in ended.out.splitlines())
        self.assertEqual([line[:3] for line in lines],
                         [["0", "3", HOSTS[0]], ["1", "3", HOSTS[1]], ["2", "3", HOSTS[1]]])
        for line in lines:
            self.assertRegex(line[3], r"^127\.0\.0\.1:\d+$")  # where the connections of ssh come from

    def test_gets_its_arguments_and_its_folder(self):
        words = ["a b", "", "'", '"', ";", "$HOME", "`x`", "two\nlines", "*", "\\", "!", "~", "--", "-n",
                 "a;touch made"]
        show = "import os, sys; print(sys.argv[1:], os.getcwd())"
        ended = self.remote(HOSTS[0], sys.executable, "-c", show, *words)
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertEqual(ended.out, f"{words} {os.path.realpath(self.folder)}\n")
        self.expect_no_part_left()

    def test_has_its_own_output_and_errors(self):
        ended = self.remote(HOSTS[0], "sh", "-c", r"printf '\0\377x\r'; printf 'no end' >&2")
        self.assertEqual((ended.code, ended.raw, ended.err), (0, b"\0\xffx\r", "no end"))
        ended = self.remote(BOTH, "sh", "-c", "echo $WIREPROOF_HOST", options=("--prefix",))
        self.assertEqual(sorted(ended.out.splitlines()), [f"[{i}] {host}" for i, host in enumerate(HOSTS)])

    def test_tells_its_exit_code(self):
        for end, code in (("exit 7", 7), ("kill -9 $$", 137), ("kill -SEGV $$", 139), ("exec no-such-program", 127)):
            ended = self.remote(HOSTS[0], "sh", "-c", end)
            self.assertEqual(ended.code, code, ended.err)
        ended = self.remote(HOSTS[0], "no-such-program")
        self.assertEqual(ended.code, 127)
        self.assertIn("no-such-program", ended.err)

    def test_meets_the_others(self):
        text = MEET + "print(meet(rank, b'x' * int(rank)))"
        ended = self.remote(f"{HOSTS[0]}:2,{HOSTS[1]}:2", sys.executable, "-c", text)
        self.assertEqual((ended.code, ended.out, ended.err), (0, "b'ok 0 1 2 3\\nxxxxxx'\n" * 4, ""))

    def test_or_the_host_lets_nobody_in(self):
        ssh = self.sshd.ssh.replace("ssh ", "ssh -p 1 ", 1)  # the first of two -p is valid
        ended = self.run_command("launch", "--hosts", BOTH, "--ssh", ssh, "--", "true")
        self.assertEqual(ended.code, 255)
        self.assertIn("ssh: ", ended.err)
        self.assertRegex(ended.err, r"(?m)^wireproof: rank \d on 127\.0\.0\.\d ended with exit code 255")


class ARankOnAnotherHostEnds(SshCase):
    def begin_both(self, text):
        return self.begin(*self.options(BOTH), ranks=2, text=text)

    def test_when_the_launcher_is_killed(self):
        for text in (SLEEP, STUBBORN):
            process, numbers = self.begin_both(text)
            process.kill()
            self.finish(process)
            self.expect_gone(numbers)

    def test_when_its_connection_is_lost(self):
        errors, shared = os.pipe()
        self.addCleanup(os.close, errors)
        self.addCleanup(os.close, shared)
        process, numbers = self.begin(*self.options(HOSTS[0]), ranks=1, stderr=shared)
        os.kill(ssh_of(process.pid), signal.SIGKILL)
        self.assertEqual(self.finish(process).code, 137)
        self.expect_gone(numbers)
        self.assertTrue(os.get_blocking(shared))  # ssh had changed it

    def test_when_another_rank_is_killed(self):
        for text in (SLEEP, STUBBORN):
            process, numbers = self.begin_both(text)
            os.kill(numbers[0], signal.SIGKILL)
            ended = self.finish(process)
            self.assertEqual(ended.code, 137)
            self.assertRegex(ended.err, r"\Awireproof: rank \d on 127\.0\.0\.\d ended with exit code 137; .*\n\Z")
            self.expect_gone(numbers)

    def test_when_a_signal_is_passed_on(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process, numbers = self.begin_both(PLAIN)
            process.send_signal(number)
            ended = self.finish(process)
            self.assertEqual((ended.code, ended.err), (128 + number, ""))
            self.expect_gone(numbers)

    def test_with_the_signal_that_was_passed_on_although_its_connection_was_given_up(self):
        """The other host does nothing any more, so its code never comes."""
        process, numbers = self.begin(*self.options(HOSTS[0]), ranks=1, text=PLAIN)
        os.kill(ssh_of(process.pid), signal.SIGSTOP)
        process.send_signal(signal.SIGTERM)
        ended = self.finish(process)
        self.assertEqual((ended.code, ended.err), (128 + signal.SIGTERM, ""))
        self.expect_gone(numbers)

    def test_not_by_a_signal_that_ends_nothing(self):
        text = ("trap 'echo USR1' USR1; trap 'echo USR2' USR2; trap 'exit 7' TERM; echo $$ $$; "
                "while :; do sleep 0.05; done")
        process, numbers = self.begin_both(text)
        for name in ("USR1", "USR2"):
            process.send_signal(getattr(signal, f"SIG{name}"))
            self.assertEqual([process.stdout.readline() for _ in range(2)], [f"{name}\n".encode()] * 2)
        process.send_signal(signal.SIGTSTP)
        self.until(lambda: {state_of(number) for number in (process.pid, *numbers)} == {"T"}, process)
        process.send_signal(signal.SIGCONT)
        self.until(lambda: {state_of(number) for number in numbers} <= {"S", "R"}, process)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process).code, 7)
        self.expect_gone(numbers)


if __name__ == "__main__":
    unittest.main()
