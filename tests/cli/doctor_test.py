"""The doctor's report on hosts and programs that have all they need, and on others."""
import ctypes
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
    def ask(self, *arguments, command=WIREPROOF, preexec_fn=None, **variables):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("WIREPROOF_VERBS", "LD_"))}
        done = subprocess.run([command, "doctor", "--json", *arguments], capture_output=True, text=True, check=False,
                              env={**clean, **variables}, cwd=self.folder, preexec_fn=preexec_fn)
        found = one_object(type("Ended", (), {"out": done.stdout}))
        if preexec_fn is None:  # otherwise the device prints why it does not open
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
        """A copy without its loader looks like a statically linked program."""
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


class LibrariesLeadPastTheDevice(Doctor):
    INSIDE = ('const char text[] = "libibverbs: Warning: no userspace device-specific driver found for %s";'
              " int uses(void) { return text[0]; }")
    USES = "int uses(void); int main(void) { return uses(); }"

    def build(self, name, source, *flags):
        """Builds a library if the name is that of a library, otherwise a program."""
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        shared = ["-shared", "-fPIC", f"-Wl,-soname,{os.path.basename(name)}"] if ".so" in name else []
        subprocess.run(["cc", "-x", "c", "-", "-x", "none", "-o", self.path(name), *shared, "-Wl,--no-as-needed", *flags],
                       input=source, text=True, check=True, cwd=self.folder)
        return self.path(name)

    def verbs(self):
        self.build("own/libibverbs.so.1", "int uses(void) { return 0; }")

    def test_an_rpath_goes_before_the_device_and_a_runpath_does_not(self):
        self.verbs()
        for tags, health in (("--disable-new-dtags", "failure"), ("--enable-new-dtags", "ok")):
            program = self.build("program", self.USES, "own/libibverbs.so.1", f"-Wl,{tags},-rpath,$ORIGIN/own")
            self.assertEqual(self.ask(program)["links"][0], health)
        program = self.build("program", self.USES, "own/libibverbs.so.1",
                             "-Wl,--disable-new-dtags,-rpath,${ORIGIN}/none:${ORIGIN}/own")
        self.says("links", "failure", f"an RPATH makes {program} load {self.folder}/own/libibverbs.so.1 first", program)

    def test_that_of_a_library_does_too(self):
        self.verbs()
        self.build("libmiddle.so", "int uses(void); int more(void) { return uses(); }", "own/libibverbs.so.1",
                   "-Wl,--disable-new-dtags,-rpath,$ORIGIN/own")
        program = self.build("program", "int more(void); int main(void) { return more(); }", "libmiddle.so",
                             "-Wl,--enable-new-dtags,-rpath,$ORIGIN", "-Wl,--unresolved-symbols=ignore-all")
        self.says("links", "failure", f"an RPATH makes {self.folder}/libmiddle.so load", program)

    def test_that_of_the_program_holds_for_its_libraries(self):
        self.verbs()
        self.build("libmiddle.so", "int uses(void); int more(void) { return uses(); }", "own/libibverbs.so.1")
        program = self.build("program", "int more(void); int main(void) { return more(); }", "libmiddle.so",
                             "-Wl,--disable-new-dtags,-rpath,$ORIGIN:$ORIGIN/own", "-Wl,--unresolved-symbols=ignore-all")
        self.says("links", "failure", "libmiddle.so load", program)

    def test_a_libibverbs_inside_the_program(self):
        program = self.build("program", "void* ibv_get_device_list(int*); int main(void) { return !ibv_get_device_list(0); }",
                             "-l:libibverbs.a", "-Wl,--unresolved-symbols=ignore-all")
        self.says("links", "failure", "it contains its own copy of libibverbs", program)

    def test_a_libibverbs_inside_a_plug_in(self):
        """UCX loads plug-ins from a folder beside its libraries."""
        self.build("ucx/libuct_ib.so.0", self.INSIDE)
        self.build("libuct.so.0", "int uses(void) { return 0; }")
        program = self.build("program", self.USES, "libuct.so.0", "-Wl,-rpath,$ORIGIN")
        self.says("links", "warning", "ucx/libuct_ib.so.0 contains its own copy of libibverbs", program)

    def test_programs_as_they_are_installed(self):
        for program in ("ibv_devices", "ib_send_bw", "fi_info", "rping"):
            if shutil.which(program):
                self.assertIn(self.ask(program)["links"], self.well_linked(), program)
        if shutil.which("ucx_info"):  # plug-ins of UCX load libibverbs
            self.says("links", "ok", "it loads libibverbs.so.1 through ", "ucx_info")

    def test_a_library_that_loads_libibverbs_is_named(self):
        self.build("libibverbs.so.1", "int uses(void) { return 0; }")
        self.build("libmiddle.so", "int uses(void); int other(void) { return uses(); }", "libibverbs.so.1")
        self.build("libouter.so", "int other(void); int uses(void) { return other(); }", "libmiddle.so",
                   "-Wl,-rpath,$ORIGIN")
        program = self.build("program", self.USES, "libouter.so", "-Wl,-rpath,$ORIGIN")
        self.says("links", "ok", f"it loads libibverbs.so.1 through {self.path('libmiddle.so')}", program)
        self.build("libalone.so", "int uses(void) { return 0; }")
        self.says("links", "warning", "not itself linked", self.build("alone", self.USES, "libalone.so"))

    def well_linked(self):
        return [("ok", "it is linked with " + name) for name in ("libibverbs.so.1", "librdmacm.so.1", "libfabric.so.1")]


class SystemCallsAreFiltered(Doctor):
    EVENTFD2 = {"x86_64": 290, "aarch64": 19}

    def filtered(self, action):
        """Returns the doctor's report under a filter with that action for eventfd2."""
        libc = ctypes.CDLL(None, use_errno=True)
        number = self.EVENTFD2[os.uname().machine]
        steps = struct.pack("HBBI" * 4, 0x20, 0, 0, 0, 0x15, 0, 1, number, 6, 0, 0, action, 6, 0, 0, 0x7FFF0000)
        program = struct.pack("HxxxxxxP", 4, ctypes.addressof(held := ctypes.create_string_buffer(steps)))

        def filter_calls():
            assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0 and held

        return self.ask(preexec_fn=filter_calls)

    def test_nothing_is_filtered(self):
        with open("/proc/self/status", encoding="ascii") as status:
            mode = next(line.split()[1] for line in status if line.startswith("Seccomp:"))
        self.assertIn("no system call" if mode == "0" else "are filtered", self.ask()["filters"][1])

    def test_a_filter_that_refuses(self):
        found = self.filtered(0x00050001)  # EPERM
        self.assertEqual(found["filters"][0], "ok")
        self.assertIn("are filtered", found["filters"][1])
        self.assertEqual(found["device"], ("failure", "wireproof0 does not open"))

    def test_a_filter_that_kills(self):
        self.assertEqual(self.filtered(0x80000000)["device"],
                         ("failure", "a filter of system calls (seccomp) kills what opens it"))


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
