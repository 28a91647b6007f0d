"""How the command starts the ranks of a job, what it passes on to them, and how it ends them."""
import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest

from command import PATIENCE, WIREPROOF, is_running, kill_if_there
from launch_case import MEET, PLAIN, SLEEP, STUBBORN, LaunchCase, state_of

SHOW = "import json, os; print(json.dumps(dict(os.environ)), flush=True)"
# A rank that says so when it is interrupted, and goes on.
HEARS = "trap 'echo heard' INT; trap '' TERM HUP; echo $$ $$; while :; do sleep 0.02; done"
# Joins its arguments with spaces and gives them to a shell, as ssh does. Its first argument is the host.
SSH = """#!/bin/sh
host=$1; shift
[ "$1" = -- ] && shift
[ -z "$SSH_SEEN" ] || printf '%s\\n' "$host" "$*" >> "$SSH_SEEN"
SSH_HOST=$host exec sh -c "$*"
"""


class LocalCase(LaunchCase):
    """Its remote ranks are on this host, started by a script in place of ssh."""

    def setUp(self):
        super().setUp()
        self.ssh = self.path("ssh.sh")
        with open(self.ssh, "w", encoding="utf-8") as file:
            file.write(SSH)

    def remote(self, hosts, *arguments):
        """The arguments of a job on other hosts, by the script in place of ssh."""
        return ("launch", "--hosts", hosts, "--ssh", f"sh {self.ssh}", *arguments)


class ARankKnowsItsPlace(LocalCase):
    def places(self, ended):
        self.assertEqual((ended.code, ended.err), (0, ""))
        ranks = sorted((json.loads(line) for line in ended.out.splitlines()),
                       key=lambda rank: int(rank["WIREPROOF_RANK"]))
        self.assertEqual([rank["WIREPROOF_RANK"] for rank in ranks], [str(i) for i in range(len(ranks))])
        for rank in ranks:
            self.assertEqual(rank["WIREPROOF_SIZE"], str(len(ranks)))
            self.assertRegex(rank["WIREPROOF_JOB"], "^[0-9a-f]{16}$")
            self.assertRegex(rank["WIREPROOF_TOKEN"], "^[0-9a-f]{32}$")
            self.assertRegex(rank["WIREPROOF_RENDEZVOUS"], r"^127\.0\.0\.1:\d+$")
        for name in ("JOB", "TOKEN", "RENDEZVOUS"):
            self.assertEqual(len({rank["WIREPROOF_" + name] for rank in ranks}), 1)
        return ranks

    def test_by_its_environment(self):
        one = self.places(self.launch("-n", "4", "--", sys.executable, "-c", SHOW))
        other = self.places(self.launch("-n", "1", "--", sys.executable, "-c", SHOW))
        self.assertEqual((len(one), len(other)), (4, 1))
        self.assertEqual({rank["WIREPROOF_HOST"] for rank in one}, {"localhost"})
        for name in ("WIREPROOF_JOB", "WIREPROOF_TOKEN"):
            self.assertNotEqual(one[0][name], other[0][name])

    def test_on_its_host(self):
        os.environ["WIREPROOF_INTERFACE"] = "two words"
        self.addCleanup(os.environ.pop, "WIREPROOF_INTERFACE")
        ranks = self.places(self.run_command(*self.remote("a,b:2,c:3", "-n", "5"), "--", sys.executable, "-c", SHOW))
        for name in ("WIREPROOF_HOST", "SSH_HOST"):
            self.assertEqual([rank[name] for rank in ranks], ["a", "b", "b", "c", "c"])
        self.assertEqual({rank["WIREPROOF_INTERFACE"] for rank in ranks}, {"two words"})

    def test_all_places_are_taken_without_a_number(self):
        self.assertEqual(len(self.places(self.run_command(*self.remote("a,b:2"), "--", sys.executable, "-c", SHOW))), 3)

    def test_the_launcher_is_found_where_ssh_came_from(self):
        for connection, options, wanted in (("10.0.0.7 5 10.0.0.8 22", (), "10.0.0.7:"),
                                            ("fe80::1%eth0 5 ::1 22", (), "[fe80::1%eth0]:"),
                                            ("10.0.0.7 5 10.0.0.8 22", ("--address", "10.9.9.9"), "10.9.9.9:")):
            os.environ["SSH_CONNECTION"] = connection
            self.addCleanup(os.environ.pop, "SSH_CONNECTION", None)
            ended = self.run_command(*self.remote("a", *options), "--", "sh", "-c", "echo $WIREPROOF_RENDEZVOUS")
            self.assertRegex(ended.out, "^" + re.escape(wanted) + r"\d+\n$")

    def test_arguments_and_folder_are_kept(self):
        words = ["a b", "", "'", '"', ";", "$HOME", "`x`", "two\nlines", "*", "\\", "--prefix", "-n", "a;touch made"]
        show = "import os, sys; print(sys.argv[1:], os.getcwd())"
        wanted = f"{words} {os.path.realpath(self.folder)}\n"
        for start in (("launch", "-n", "1"), self.remote("a")):
            ended = self.run_command(*start, "--", sys.executable, "-c", show, *words)
            self.assertEqual((ended.code, ended.out, ended.err), (0, wanted, ""))
        self.expect_no_part_left("ssh.sh")

    def test_no_command_line_shows_the_token(self):
        seen = self.path("seen")
        os.environ["SSH_SEEN"] = seen
        self.addCleanup(os.environ.pop, "SSH_SEEN")
        ended = self.run_command(*self.remote("a"), "--", "sh", "-c", "echo $WIREPROOF_TOKEN")
        with open(seen, encoding="utf-8") as file:
            host, command = file.read().split("\n", 1)
        self.assertEqual(host, "a")
        self.assertNotIn(ended.out.strip(), command)

    def test_its_signals_are_as_they_were(self):
        shown = ("grep", "-E", "SigIgn|SigBlk", "/proc/self/status")
        before = subprocess.run(shown, capture_output=True, text=True, check=True,
                                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        self.assertEqual(self.launch("-n", "1", "--", *shown).out, before.stdout)

    def test_its_limit_of_open_files_is_as_it_was(self):
        for hard, code, out in ((200, 0, "50\n" * 100), (100, 1, "")):
            limited = f'ulimit -Sn 50; ulimit -Hn {hard}; exec "$0" launch -n 100 -- sh -c "ulimit -Sn"'
            ended = subprocess.run(("sh", "-c", limited, WIREPROOF), capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual((ended.returncode, ended.stdout), (code, out), ended.stderr)
            self.assertRegex(ended.stderr, r"\A(wireproof: 132 open files are needed, but the limit is 100 .*\n)?\Z")

    def test_its_input_is_empty(self):
        for start in (("launch", "-n", "1"), self.remote("a")):
            self.assertEqual(self.run_command(*start, "--", "cat").code, 0)


class OutputIsPassedOn(LocalCase):
    def test_as_it_is(self):
        for start in (("launch", "-n", "1"), self.remote("a")):
            ended = self.run_command(*start, "--", "sh", "-c", r"printf '\0\377x\r'; printf 'no end' >&2")
            self.assertEqual((ended.code, ended.raw, ended.err), (0, b"\0\xffx\r", "no end"))

    def test_line_by_line_with_the_rank(self):
        text = "echo out $WIREPROOF_RANK; printf 'half '; sleep 0.1; echo line; printf end; echo err >&2"
        for start in (("launch", "-n", "3"), self.remote("a:3")):
            ended = self.run_command(*start, "--prefix", "--", "sh", "-c", text)
            self.assertEqual(ended.code, 0)
            self.assertEqual(sorted(ended.out.splitlines()), sorted(
                f"[{i}] {line}" for i in range(3) for line in (f"out {i}", "half line", "end")))
            self.assertEqual(sorted(ended.err.splitlines()), [f"[{i}] err" for i in range(3)])

    def test_whole_to_a_slow_reader(self):
        text = "import os; os.write(1, b'x' * 99 + b'\\n'); print('\\n'.join(['y' * 99] * 10000))"
        process = self.start("launch", "-n", "2", "--prefix", "--", sys.executable, "-c", text)
        time.sleep(0.3)
        ended = self.finish(process)
        self.assertEqual(ended.code, 0)
        self.assertEqual(len(ended.out.splitlines()), 20002)
        self.assertEqual({len(line) for line in ended.out.splitlines()}, {103})

    def test_a_reader_that_leaves_ends_the_ranks(self):
        process = self.start("launch", "-n", "2", "--prefix", "--", "yes")
        process.stdout.readline()
        process.stdout.close()
        self.assertEqual(process.wait(PATIENCE), 128 + signal.SIGPIPE)
        process.stdout = None

    def test_a_rank_may_close_its_output(self):
        for option in ((), ("--prefix",)):
            begun = time.monotonic()
            ended = self.launch("-n", "2", *option, "--", "sh", "-c", "exec >&- 2>&-; sleep 0.3; exit 5")
            self.assertEqual(ended.code, 5)
            self.assertGreater(time.monotonic() - begun, 0.3)

    def test_a_process_that_left_its_rank_does_not_hold_the_output(self):
        ended = self.launch("-n", "1", "--prefix", "--", "sh", "-c", 
                            "setsid sh -c 'touch left; exec sleep 1000' & echo $!; until [ -e left ]; do sleep 0.02; done")
        self.addCleanup(kill_if_there, int(ended.out.split()[1]))
        self.assertTrue(is_running(int(ended.out.split()[1])))


class ARankThatFailsEndsTheJob(LocalCase):
    def test_with_its_exit_code(self):
        for start in (("launch", "-n", "3"), self.remote("a,b:2")):
            for end, code in (("exit 7", 7), ("kill -9 $$", 137), ("kill -SEGV $$", 139)):
                text = f'[ "$WIREPROOF_RANK" != 1 ] || {{ sleep 0.2; {end}; }}; {SLEEP}'
                ended = self.run_command(*start, "--", "sh", "-c", text)
                self.assertEqual(ended.code, code, ended.err)
                self.assertRegex(ended.err, r"\Awireproof: rank 1 .*; ending the others\n\Z")
                self.expect_gone(map(int, ended.out.split()))

    def test_after_most_of_a_second_although_others_ignore_it(self):
        for start in (("launch", "-n", "2"), self.remote("a,b")):
            process, numbers = self.begin(*start, ranks=2, text=STUBBORN)
            begun = time.monotonic()
            os.kill(numbers[0], signal.SIGKILL)
            self.assertEqual(self.finish(process).code, 137)
            self.expect_gone(numbers)
            self.assertGreater(time.monotonic() - begun, 0.7)

    def test_and_what_it_left_behind(self):
        ended = self.launch("-n", "1", "--", "sh", "-c", "sleep 1000 >&- 2>&- & echo $!")
        self.assertEqual(ended.code, 0)
        self.expect_gone([int(ended.out)])

    def test_a_stopped_rank_is_ended_as_well(self):
        process, numbers = self.begin("launch", "-n", "2", ranks=2)
        os.killpg(numbers[2], signal.SIGSTOP)
        os.kill(numbers[0], signal.SIGKILL)
        self.assertEqual(self.finish(process).code, 137)
        self.expect_gone(numbers)

    def test_unless_it_is_to_keep_going(self):
        # Rank 2 ends when rank 1 is no longer there, not even as an entry that its parent has not read.
        text = ('case $WIREPROOF_RANK in 0) sleep 1; echo done;; 1) echo $$ >new; mv new one; exit 3;; '
                '2) until [ -e one ] && ! kill -0 $(cat one) 2>&-; do sleep 0.02; done; sleep 0.3; kill -9 $$;; esac')
        for start in (("launch", "-n", "4"), self.remote("a,b:3")):
            ended = self.run_command(*start, "--keep-going", "--", "sh", "-c", text)
            os.remove(self.path("one"))
            # From two hosts, the ends may come in either order. The exit code is that of the first.
            self.assertIn((ended.code, ended.out), ((3, "done\n"), (137, "done\n")))
            self.assertRegex("".join(sorted(ended.err.splitlines(keepends=True))),
                             r"\Awireproof: rank 1 .*exit code 3\nwireproof: rank 2 [^;]*\n\Z")

    def test_a_rank_that_ends_well_does_not(self):
        text = '[ "$WIREPROOF_RANK" = 0 ] || { sleep 0.3; echo later; }'
        ended = self.launch("-n", "2", "--", "sh", "-c", text)
        self.assertEqual((ended.code, ended.out, ended.err), (0, "later\n", ""))


class SignalsArePassedOn(LocalCase):
    def test_and_ranks_may_end_as_they_like(self):
        text = "trap 'echo got; exit 4' INT; echo $$ $$; while :; do sleep 0.02; done"
        for start in (("launch", "-n", "1"), self.remote("a")):
            process, numbers = self.begin(*start, ranks=1, text=text)
            process.send_signal(signal.SIGINT)
            ended = self.finish(process)
            self.assertEqual((ended.code, ended.out, ended.err), (4, "got\n", ""))
            self.expect_gone(numbers)

    def test_each_ends_all_processes(self):
        for start in (("launch", "-n", "2"), self.remote("a,b")):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                process, numbers = self.begin(*start, ranks=2, text=PLAIN)
                process.send_signal(number)
                ended = self.finish(process)
                self.assertEqual((ended.code, ended.err), (128 + number, ""))
                self.expect_gone(numbers)

    def test_those_that_end_nothing_only_reach_the_ranks(self):
        text = ("trap 'echo USR1' USR1; trap 'echo USR2' USR2; trap 'exit 7' TERM; echo $$ $$; "
                "while :; do sleep 0.05; done")
        process, _ = self.begin("launch", "-n", "2", ranks=2, text=text)
        for name in ("USR1", "USR2"):
            process.send_signal(getattr(signal, f"SIG{name}"))
            self.assertEqual([process.stdout.readline() for _ in range(2)], [f"{name}\n".encode()] * 2)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process).code, 7)

    def test_ctrl_z_stops_the_launcher_and_the_ranks_until_they_are_continued(self):
        process, numbers = self.begin("launch", "-n", "2", ranks=2)
        for _ in range(2):
            for number, state in ((signal.SIGTSTP, "T"), (signal.SIGCONT, "S")):
                process.send_signal(number)
                self.until(lambda state=state: {state_of(one) for one in (process.pid, *numbers)} == {state}, process)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process).code, 128 + signal.SIGTERM)
        self.expect_gone(numbers)

    def test_a_rank_that_ignores_sigterm_is_killed_after_a_second(self):
        for start in (("launch", "-n", "2"), self.remote("a,b")):
            process, numbers = self.begin(*start, ranks=2, text=STUBBORN)
            process.terminate()
            self.assertEqual(self.finish(process).code, 137)
            self.expect_gone(numbers)

    def test_a_second_one_kills(self):
        for start in (("launch", "-n", "2"), self.remote("a,b")):
            process, numbers = self.begin(*start, ranks=2, text=HEARS)
            process.send_signal(signal.SIGINT)
            for _ in range(2):
                self.assertEqual(process.stdout.readline(), b"heard\n")
            process.send_signal(signal.SIGINT)
            self.assertEqual(self.finish(process).code, 137)
            self.expect_gone(numbers)


class ALauncherThatDiesTakesTheRanksAlong(LocalCase):
    def test_even_if_it_is_killed(self):
        for start in (("launch", "-n", "2"), self.remote("a,b")):
            for text in (SLEEP, STUBBORN):
                process, numbers = self.begin(*start, ranks=2, text=text)
                process.kill()
                self.finish(process)
                self.expect_gone(numbers)

    def test_and_its_whole_group_is_killed(self):
        process = subprocess.Popen([WIREPROOF, "launch", "-n", "1", "--", "sh", "-c", SLEEP], process_group=0,
                                   stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.addCleanup(self.put_away, process)
        numbers = list(map(int, process.stdout.readline().split()))
        os.killpg(process.pid, signal.SIGKILL)
        self.finish(process)
        self.expect_gone(numbers)


class AJobThatCannotBeIsToldInOneLine(LocalCase):
    def test_there_is_no_program(self):
        for count in ("1", "8"):
            self.expect_failure(self.launch("-n", count, "--", "no-such-program"), 127, "no-such-program")
        self.expect_failure(self.launch("-n", "2", "--", self.path("nothing")), 127)
        self.expect_failure(self.launch("--hosts", "a", "--ssh", "no-such-ssh", "--", "true"), 127, "no-such-ssh")
        self.assertEqual(self.run_command(*self.remote("a,b"), "--", "no-such-program").code, 127)

    def test_it_is_no_program(self):
        self.expect_failure(self.launch("-n", "2", "--", self.file(10)), 126)
        self.expect_failure(self.launch("-n", "2", "--", self.folder), 126)

    def test_the_command_line_is_wrong(self):
        hosts = ("--ssh", "sh nothing", "--", "true")
        for arguments, word in (((), "PROGRAM"), (("-n", "2"), "PROGRAM"), (("--", "true"), "-n"),
                                (("-n", "0", "--", "true"), "--ranks"), (("-n", "1025", "--", "true"), "--ranks"),
                                (("-n", "x", "--", "true"), "--ranks"), (("-n", "2", "--ssh", "x", "--", "true"), "--ssh"),
                                (("-n", "2", "--address", "::1", "--", "true"), "--address"),
                                (("--hosts", "a", "--address", "b", "--", "true"), "--address"),
                                (("--hosts", "a", "--ssh", " ", "--", "true"), "--ssh"),
                                (("--hosts", "a:2", "-n", "3", *hosts), "--ranks"),
                                *((("--hosts", text, *hosts), "--hosts")
                                  for text in ("", "a,,b", "a:0", "a:x", "-oX", "a b", "a;b"))):
            with self.subTest(arguments):
                self.expect_failure(self.launch(*arguments), 2, word)


class RanksMeet(LocalCase):
    def test_and_get_what_each_has_put(self):
        text = MEET + "print(meet(rank, b'x' * int(rank)))"
        wanted = "b'ok 0 1 2 3\\nxxxxxx'\n" * 4
        for start in (("launch", "-n", "4"), self.remote("a,b:3")):
            ended = self.run_command(*start, "--", sys.executable, "-c", text)
            self.assertEqual((ended.code, ended.out, ended.err), (0, wanted, ""))

    def test_although_one_says_nonsense(self):
        text = MEET + """
if rank == "1":
    print(meet(1, b"", "f" * 32), meet(2, b""), meet("x", b""), meet(1, b"x" * 70_000))
print(meet(rank, b"y"))
"""
        ended = self.launch("-n", "2", "--", sys.executable, "-c", text)
        self.assertEqual((ended.code, ended.err), (0, ""))
        lines = sorted(ended.out.splitlines())
        self.assertEqual(lines[1:], ["b'ok 1 1\\nyy'"] * 2)
        self.assertEqual(lines[0].count("b'no "), 4)

    def test_nobody_waits_for_a_rank_that_has_ended(self):
        text = MEET + "print(meet(rank, b'')) if rank != '1' else None"
        ended = self.launch("-n", "3", "--", sys.executable, "-c", text)
        self.assertEqual(ended.code, 0)
        self.assertEqual(ended.out, "b'no rank 1 has ended before all ranks had arrived\\n'\n" * 2)


if __name__ == "__main__":
    unittest.main()
