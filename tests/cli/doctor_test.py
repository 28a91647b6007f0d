"""What the doctor says of hosts and programs that have what they need, and of those that do not."""
import os
import shutil
import socket
import stat
import struct
import subprocess
import sys
import unittest

from command import WIREPROOF, Case, one_object


class Doctor(Case):
    def ask(self, *arguments, command=WIREPROOF, **variables):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("WIREPROOF_VERBS", "LD_"))}
        done = subprocess.run([command, "doctor", "--json", *arguments], capture_output=True, text=True, check=False,
                              env={**clean, **variables}, cwd=self.folder)
        found = one_object(type("Ended", (), {"out": done.stdout}))
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.returncode, 0 if found["sees_device"] else 1)
        self.assertEqual(found["sees_device"], all(one["health"] != "failure" for one in found["checks"]))
        for one in found["checks"]:
            self.assertEqual(one["remedy"] == "", one["health"] == "ok", one)
        return {one["about"]: (one["health"], one["found"]) for one in found["checks"]}

    def says(self, about, health, words, *arguments, **variables):
        found = self.ask(*arguments, **variables)
        self.assertEqual(found[about][0], health, found)
        self.assertIn(words, found[about][1])


class TheDoctorSaysWhatStandsInTheWay(Doctor):
    def test_this_host_has_the_device(self):
        found = self.ask()
        self.assertEqual({about: health for about, (health, _) in found.items() if health == "failure"}, {})
        self.assertEqual(found["device"], ("ok", "wireproof0 opens"))

    def test_lines_fit_80_columns_and_say_the_end(self):
        ended = self.run_command("doctor")
        self.assertEqual((ended.code, ended.err), (0, ""))
        lines = ended.out.splitlines()
        for line in lines[:-1]:
            self.assertRegex(line, r"^(ok      |warning |failure |        ) ")
        self.assertEqual(lines[-1], "A program sees the device: wireproof verbs -- PROGRAM")
        self.assertLessEqual(max(len(line) for line in lines if "/" not in line), 80)

    def test_a_setting_is_wrong(self):
        self.says("settings", "failure", "WIREPROOF_VERBS_ADDRESS: ", WIREPROOF_VERBS_ADDRESS="localhost")

    def test_an_address_is_taken_or_nobodys(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
            taken.bind(("127.88.7.6", 4791))
            self.says("address", "failure", "127.88.7.6", WIREPROOF_VERBS_ADDRESS="127.88.7.6")
        self.says("address", "ok", "127.88.7.6", WIREPROOF_VERBS_ADDRESS="127.88.7.6")
        self.says("address", "failure", "192.0.2.1", WIREPROOF_VERBS_ADDRESS="192.0.2.1")

    def test_a_receive_buffer_is_small(self):
        self.says("buffer", "warning", "only 65536 bytes", WIREPROOF_VERBS_RECEIVE_BUFFER="65536")

    def test_another_library_is_first(self):
        with open(self.path("libibverbs.so.1"), "wb"):
            pass
        self.says("path", "warning", self.folder, LD_LIBRARY_PATH=self.folder)

    def test_the_library_is_missing_or_broken(self):
        os.makedirs(self.path("bin"))
        os.makedirs(self.path("lib/wireproof"))
        alone = shutil.copy(WIREPROOF, self.path("bin/wireproof"))
        self.assertEqual(self.ask(command=alone)["library"][0], "failure")
        with open(self.path("lib/wireproof/libibverbs.so.1"), "wb") as library:
            library.write(b"no library")
        health, found = self.ask(command=alone)["library"]
        self.assertEqual(health, "failure")
        self.assertIn("libibverbs.so.1", found)

    def test_a_program_is_there_or_not(self):
        self.says("program", "ok", "dynamically linked", sys.executable)
        self.says("program", "failure", "no-such-program", "no-such-program")
        self.says("program", "failure", "is no program", self.file(100))

    def test_a_script_is_its_interpreter(self):
        with open(self.path("script"), "w", encoding="utf-8") as script:
            script.write("#!/usr/bin/env sh\ntrue\n")
        self.assertIn("links", self.ask(self.path("script")))

    def test_a_program_that_no_library_reaches(self):
        """A copy without its loader is as one that was linked statically."""
        with open(os.path.realpath(sys.executable), "rb") as file:
            program = bytearray(file.read())
        entries, = struct.unpack_from("<Q", program, 32)
        size, count = struct.unpack_from("<HH", program, 54)
        for i in range(count):
            if struct.unpack_from("<I", program, entries + i * size)[0] == 3:  # PT_INTERP
                struct.pack_into("<I", program, entries + i * size, 0)
        with open(self.path("static"), "wb") as file:
            file.write(program)
        self.says("program", "failure", "statically linked", self.path("static"))
        struct.pack_into("<H", program, 18, 2)  # SPARC
        with open(self.path("foreign"), "wb") as file:
            file.write(program)
        self.says("program", "failure", "another machine", self.path("foreign"))

    def test_a_damaged_program_is_no_reason_to_fall(self):
        with open(os.path.realpath(sys.executable), "rb") as file:
            program = file.read()
        for size in (4, 16, 40, 63, 64, 100, 500, 5000):
            with open(self.path("cut"), "wb") as file:
                file.write(program[:size])
            self.ask(self.path("cut"))


class AProgramHasTheRightsOfAnother(Doctor):
    def test_and_the_doctor_says_so(self):
        if os.geteuid() != 0:
            self.skipTest("only root can give a program to another user")
        copy = shutil.copy("/bin/true", self.path("true"))
        os.chown(copy, 65534, 65534)
        os.chmod(copy, stat.S_ISUID | 0o755)
        self.says("rights", "failure", "setuid", copy)


if __name__ == "__main__":
    unittest.main()
