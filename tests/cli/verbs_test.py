"""How the command runs a program on the device, and what it keeps for it: environment, exit code, signals."""
import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

from command import WIREPROOF, Case, free_port, one_object

SHOW = "import json, os; print(json.dumps(dict(os.environ)))"
OPTIONS = {"--address": "127.0.0.9", "--seed": "7", "--receive-buffer": "65536"}


class AProgramIsRunOnTheDevice(Case):
    def environment_of(self, *options, **variables):
        before = dict(os.environ)
        os.environ.update(variables)
        try:
            ended = self.run_command("verbs", *options, "--", sys.executable, "-c", SHOW)
        finally:
            os.environ.clear()
            os.environ.update(before)
        self.assertEqual((ended.code, ended.err), (0, ""))
        return json.loads(ended.out)

    def test_it_finds_the_libraries_first(self):
        for before in ("", "/nowhere:/elsewhere"):
            shown = self.environment_of(LD_LIBRARY_PATH=before)
            first, *rest = shown["LD_LIBRARY_PATH"].split(":")
            self.assertTrue(os.path.isfile(os.path.join(first, "libibverbs.so.1")))
            self.assertEqual(":".join(rest), before)
            hooks = os.path.join(first, "libwireproof-hooks.so")
            if os.path.exists(hooks):
                self.assertEqual(shown["LD_PRELOAD"].split(":")[0], hooks)

    def test_a_program_with_the_address_sanitizer_of_gcc_starts(self):
        """The sanitizer ends a program that loads a library before it, unless the program's user permits it."""
        source = ["gcc", "-x", "c", "-", "-o", self.path("checked"), "-fsanitize=address"]
        built = subprocess.run(source, input="int main(void) { return 7; }", text=True, capture_output=True, check=False)
        if built.returncode != 0:
            self.skipTest("this gcc has no address sanitizer")
        ended = self.run_command("verbs", "--", self.path("checked"))
        self.assertEqual((ended.code, ended.err), (7, ""))
        for before in ("", "detect_leaks=0"):
            options = self.environment_of(ASAN_OPTIONS=before).get("ASAN_OPTIONS", "")
            self.assertTrue(options.endswith(before), options)

    def test_options_are_its_variables(self):
        for option, value in OPTIONS.items():
            variable = "WIREPROOF_VERBS_" + option.strip("-").replace("-", "_").upper()
            self.assertEqual(self.environment_of(option, value, **{variable: "1"})[variable], value)
            self.assertEqual(self.environment_of(**{variable: "1"})[variable], "1")

    def test_a_file_is_named_from_anywhere(self):
        with open(self.path("settings.toml"), "w", encoding="utf-8") as file:
            file.write("seed = 5\n")
        shown = self.environment_of("--config", "settings.toml")
        self.assertEqual(shown["WIREPROOF_VERBS_CONFIG"], self.path("settings.toml"))

    def test_its_arguments_are_its_own(self):
        ended = self.run_command("verbs", "--seed", "7", "--", sys.executable, "-c",
                                 "import sys; print(sys.argv[1:])", "--seed", "x", "--", "perf", "-h")
        self.assertEqual((ended.code, ended.out), (0, "['--seed', 'x', '--', 'perf', '-h']\n"))

    def test_it_is_the_same_process(self):
        process = self.start("verbs", "--", sys.executable, "-c", "import os; print(os.getpid())")
        self.assertEqual(self.finish(process).out, f"{process.pid}\n")

    def test_its_end_is_the_end(self):
        for code in (0, 1, 77, 255):
            self.assertEqual(self.run_command("verbs", "--", "sh", "-c", f"exit {code}").code, code)
        ended = self.run_command("verbs", "--", "sh", "-c", "kill -TERM $$")
        self.assertEqual(ended.code, -signal.SIGTERM)

    def test_its_signals_are_as_they_were(self):
        """The command ignores SIGPIPE and SIGXFSZ. A program that it runs ignores them only if they were so before."""
        shown = ("grep", "SigIgn", "/proc/self/status")
        for restore in (True, False):
            before = subprocess.run(shown, capture_output=True, text=True, check=True, restore_signals=restore)
            ended = subprocess.run([WIREPROOF, "verbs", "--", *shown], capture_output=True, text=True, check=True,
                                   restore_signals=restore)
            self.assertEqual(ended.stdout, before.stdout)


class ARealProgramRuns(Case):
    def test_with_one_line_in_front_of_it(self):
        if shutil.which("ibv_rc_pingpong") is None:
            self.skipTest("ibverbs-utils is not installed")
        port = free_port()
        command = ("--", "ibv_rc_pingpong", "-g", "1", "-c", "-n", "20", "-p", str(port))
        server = self.start("verbs", "--pcapng", "%p.pcapng", *command)
        self.until(lambda: self.listens(port), server)
        client = self.run_command("verbs", "--duplicate", "0.05", "--seed", "7", *command, "127.0.0.1")
        self.assertEqual(client.code, 0, client.err)
        self.assertIn("20 iters in ", client.out)
        self.assertEqual(self.finish(server).code, 0)
        _, found = self.run_json("inspect", self.path(f"{server.pid}.pcapng"))
        self.assertGreater(found["packets"], 160)
        self.assertEqual(found["malformed"], 0)

    def test_damaged_packets_are_counted_by_who_gets_them(self):
        if shutil.which("ib_write_bw") is None:
            self.skipTest("perftest is not installed")
        port = free_port()
        command = ("--", "ib_write_bw", "-d", "wireproof0", "-x", "1", "-s", "65536", "-u", "10", "-p", str(port),
                   "-D", "3600")
        server = self.start("verbs", *command)
        self.until(lambda: self.listens(port), server)
        self.start("verbs", "--damage", "0.005", *command, "127.0.0.1")

        def counted():
            ended = self.run_command("stat", str(server.pid), "--json")
            return ended.code == 0 and one_object(ended)["devices"][0]["hw_counters"]["rx_icrc_encapsulated"] > 0

        self.until(counted, server)

    @staticmethod
    def listens(port):
        with open("/proc/net/tcp", encoding="ascii") as tcp, open("/proc/net/tcp6", encoding="ascii") as tcp6:
            return any(f":{port:04X} " in line and line.split()[3] == "0A" for line in (*tcp, *tcp6))


class AProgramThatCannotBeRunIsToldInOneLine(Case):
    def test_there_is_none(self):
        self.expect_failure(self.run_command("verbs", "--", "no-such-program"), 127, "no-such-program")
        self.expect_failure(self.run_command("verbs", "--", self.path("nothing")), 127)

    def test_it_is_no_program(self):
        self.expect_failure(self.run_command("verbs", "--", self.file(10)), 126)
        self.expect_failure(self.run_command("verbs", "--", self.folder), 126)

    def test_an_option_is_wrong(self):
        for option, value, word in (("--address", "localhost", "localhost"), ("--address", "0.0.0.0", "0.0.0.0"),
                                    ("--seed", "-1", "-1"), ("--seed", "", "--seed"),
                                    ("--receive-buffer", "1k", "1k"), ("--config", "nowhere", "nowhere"),
                                    ("--config", self.folder, self.folder), ("--config", "", "--config")):
            ended = self.run_command("verbs", option, value, "--", "touch", self.path("made"))
            self.expect_failure(ended, 2, option, word)
        self.expect_no_part_left()

    def test_a_file_is_wrong(self):
        with open(self.path("settings.toml"), "w", encoding="utf-8") as file:
            file.write("seed = 5\nport = 6\n")
        ended = self.run_command("verbs", "--config", "settings.toml", "--", "true")
        self.expect_failure(ended, 2, "settings.toml:2:1: unknown key")

    def test_there_is_no_program_to_run(self):
        for arguments in ((), ("--",), ("--seed", "5"), ("--no-such-option", "--", "true"), ("true", "-x")):
            self.expect_failure(self.run_command("verbs", *arguments), 2)

    def test_the_libraries_are_missing(self):
        alone = shutil.copy(WIREPROOF, self.path("wireproof"))
        ended = subprocess.run([alone, "verbs", "--", "true"], capture_output=True, text=True, check=False)
        self.assertEqual(ended.returncode, 125)
        self.assertRegex(ended.stderr, r"\Awireproof: no libibverbs\.so\.1 in .*\n\Z")


if __name__ == "__main__":
    unittest.main()
