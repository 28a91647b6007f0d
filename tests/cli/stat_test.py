"""The counters of the device of a program, as text and in the format of an exporter."""
import os
import signal
import subprocess
import sys
import unittest

from command import Case, one_object

LIBRARY = os.environ.get("WIREPROOF_LIBIBVERBS", "")

# Opens the device, prints a line, and runs until its standard input ends.
PROGRAM = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
library.ibv_open_device.restype = ctypes.c_void_p
assert library.ibv_open_device(ctypes.c_void_p(library.ibv_get_device_list(None)[0]))
print("open", flush=True)
sys.stdin.read()
"""


class ADeviceIsLookedAt(Case):
    def setUp(self):
        super().setUp()
        self.program = subprocess.Popen([sys.executable, "-c", PROGRAM, LIBRARY], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.put_away, self.program)
        self.assertEqual(self.program.stdout.readline(), "open\n")
        self.pid = str(self.program.pid)

    def folder_of(self, tree):
        return os.path.join(self.path(tree), "class", "infiniband", "wireproof0_" + self.pid, "ports", "1")

    def test_as_text(self):
        ended = self.run_command("stat", self.pid)
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertRegex(ended.out, rf"^process {self.pid}  \S+  wireproof0 at 127\.0\.0\.\d+  0 queue pairs\n")
        self.assertLessEqual(max(map(len, ended.out.splitlines())), 80)
        self.assertIn(f"process {self.pid} ", self.run_command("stat").out)

    def test_as_an_object(self):
        ended = self.run_command("stat", self.pid, "--json")
        self.assertEqual((ended.code, ended.err), (0, ""))
        stat = one_object(ended)
        self.assertEqual(stat["schema"], "wireproof.stat/1")
        [device] = stat["devices"]
        self.assertEqual(device["device"]["process"], int(self.pid))
        self.assertEqual(device["counters"]["port_rcv_errors"], 0)
        self.assertEqual(device["hw_counters"]["duplicate_request"], 0)

    def test_while_the_program_is_stopped(self):
        self.program.send_signal(signal.SIGSTOP)
        self.assertEqual(self.run_command("stat", self.pid).code, 0)
        self.program.send_signal(signal.SIGCONT)

    def test_as_a_tree_of_files(self):
        ended = self.run_command("stat", "--tree", "sys")
        self.assertEqual((ended.code, ended.out, ended.err), (0, "", ""))
        port = self.folder_of("sys")
        for name, text in (("state", "4: ACTIVE"), ("hw_counters/duplicate_request", "0"),
                           ("counters/port_xmit_packets", "0")):
            with open(os.path.join(port, name), encoding="utf-8") as file:
                self.assertEqual(file.read(), text + "\n")
        self.program.communicate("")
        self.assertEqual(self.run_command("stat", "--tree", "sys").code, 0)
        self.assertFalse(os.path.exists(port), "of a program that has ended")

    def test_a_tree_is_kept_until_it_is_interrupted(self):
        keeper = self.start("stat", self.pid, "--tree", "sys", "--every", "0.1")
        file = os.path.join(self.folder_of("sys"), "state")
        self.until(lambda: os.path.exists(file), keeper)
        os.remove(file)
        self.until(lambda: os.path.exists(file), keeper)
        keeper.send_signal(signal.SIGINT)
        self.assertEqual(keeper.wait(), -signal.SIGINT)

    def test_who_shows_nothing_is_told_in_one_line(self):
        self.program.communicate("")
        ended = self.run_command("stat", self.pid)
        self.assertEqual((ended.code, ended.out), (1, ""))
        self.assertRegex(ended.err, rf"^wireproof: process {self.pid} shows no counters: [^\n]*\n$")

    def test_a_tree_that_cannot_be_written_is_told_in_one_line(self):
        with open(self.path("file"), "w", encoding="utf-8"):
            pass
        ended = self.run_command("stat", "--tree", "file")
        self.assertEqual((ended.code, len(ended.lines_of_error())), (1, 1))


if __name__ == "__main__":
    unittest.main()
