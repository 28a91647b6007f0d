#!/usr/bin/env python3
"""Unmodified programs of Debian's ibverbs-utils on the libibverbs that is built here.

usage: verbs_programs_test.py FOLDER_OF_THE_LIBRARY [unittest options]
"""
import ctypes.util
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import verbs_programs
from verbs_programs import converse, environment, free_port, run

PROGRAMS = "ibv_devices ibv_devinfo ibv_rc_pingpong ibv_uc_pingpong ibv_srq_pingpong ibv_ud_pingpong".split()
EXCHANGES = re.compile(r"(\d+) iters in [0-9.]+ seconds")
BYTES = re.compile(r"(\d+) bytes in [0-9.]+ seconds")


def setUpModule():
    verbs_programs.set_up(FOLDER, PROGRAMS, "ibverbs-utils")


def tearDownModule():
    verbs_programs.tear_down()


class Devices(unittest.TestCase):
    def test_lists_the_device(self):
        code, output = run(["ibv_devices"])
        self.assertEqual(code, 0, output)
        self.assertRegex(output, r"wireproof0\s+[0-9a-f]{16}\n")

    def test_is_unchanged_for_who_does_not_ask(self):
        plain = environment()
        del plain["LD_LIBRARY_PATH"]
        _, output = run(["ibv_devices"], plain)
        self.assertNotIn("wireproof", output)

    def test_tells_what_the_device_is(self):
        code, output = run(["ibv_devinfo", "-v"])
        self.assertEqual(code, 0, output)
        for wanted in (r"hca_id:\s+wireproof0", r"state:\s+PORT_ACTIVE", r"link_layer:\s+Ethernet",
                       r"max_mtu:\s+4096", r"atomic_cap:\s+ATOMIC_HCA",
                       r"GID\[\s*1\]:\s+::ffff:127\.0\.0\.\d+, RoCE v2"):
            self.assertRegex(output, wanted)

    def test_takes_the_address_that_it_is_told(self):
        code, output = run(["ibv_devinfo", "-v"], environment(WIREPROOF_VERBS_ADDRESS="127.77.0.9"))
        self.assertEqual(code, 0, output)
        self.assertIn("::ffff:127.77.0.9", output)

    def test_says_what_is_wrong_with_a_setting(self):
        code, output = run(["ibv_devinfo"], environment(WIREPROOF_VERBS_ADDRESS="localhost"))
        self.assertNotEqual(code, 0)
        self.assertIn("WIREPROOF_VERBS_ADDRESS: ", output)

    def test_needs_no_address_to_be_listed(self):
        code, output = run(["ibv_devices"], environment(WIREPROOF_VERBS_ADDRESS="localhost"))
        self.assertEqual(code, 0, output)
        self.assertIn("wireproof0", output)

    def test_a_seed_repeats_queue_pair_numbers(self):
        def numbers(**settings):
            # There is no server. The client shows its number and then ends.
            _, output = run(["ibv_rc_pingpong", "-g", "1", "-p", str(free_port()), "127.0.0.1"],
                            environment(**settings))
            return re.search(r"QPN 0x([0-9a-f]+)", output)[1]

        self.assertEqual(numbers(WIREPROOF_VERBS_SEED="5"), numbers(WIREPROOF_VERBS_SEED="5"))
        self.assertNotEqual(numbers(), numbers())


class LoadedAtRunTime(unittest.TestCase):
    """Programs that find the library by dlopen and dlvsym, as NCCL does."""

    SCRIPT = """
import ctypes, _ctypes, os, sys, time
library = ctypes.CDLL(sys.argv[1])
library.dlvsym.restype = ctypes.c_void_p
for name, version in (("ibv_get_device_list", "1.1"), ("ibv_reg_mr_iova2", "1.8"), ("_ibv_query_gid_ex", "1.11"),
                      ("ibv_query_qp_data_in_order", "1.14"), ("ibv_create_comp_channel", "1.0")):
    found = library.dlvsym(ctypes.c_void_p(library._handle), name.encode(), f"IBVERBS_{version}".encode())
    assert found, name
library.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
library.ibv_open_device.restype = ctypes.c_void_p
devices = library.ibv_get_device_list(None)
context = library.ibv_open_device(ctypes.c_void_p(devices[0]))
assert context
threads = len(os.listdir("/proc/self/task"))
_ctypes.dlclose(library._handle)
time.sleep(0.1)
library.ibv_free_device_list(devices)
assert library.ibv_close_device(ctypes.c_void_p(context)) == 0
print("done", threads)
"""

    def unload(self, **settings):
        return run([shutil.which("python3", path="/usr/bin") or sys.executable, "-c", self.SCRIPT,
                    f"{verbs_programs.library}/libibverbs.so.1"], environment(**settings))

    def test_versions_are_found_and_unloading_does_no_harm(self):
        self.assertEqual(self.unload(), (0, "done 1\n"))

    def test_unloading_does_no_harm_while_its_thread_runs(self):
        """A plan of faults makes the thread run from the beginning."""
        script = pathlib.Path(verbs_programs.library) / "plan.toml"
        script.write_text("[[link_down]]\nat_ms = 50\nfor_ms = 1\n", encoding="utf-8")
        script.chmod(0o644)
        self.assertEqual(self.unload(WIREPROOF_VERBS_FAULTS=str(script)), (0, "done 2\n"))

    def test_programs_of_the_genuine_library_find_every_name(self):
        """All exported names exist, except names that were replaced in 2006 and one of old providers."""
        genuine = ctypes.util.find_library("ibverbs")
        if genuine is None:
            self.skipTest("libibverbs1 is not installed")
        def names(path):
            _, shown = run(["nm", "-D", "--defined-only", path])
            return {line.split()[-1].replace("@@", "@") for line in shown.splitlines() if "@@IBVERBS" in line}

        where = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
        path = re.search(rf"{re.escape(genuine)} .*=> (\S+)", where)[1]
        self.assertGreater(len(names(path)), 100)
        self.assertEqual(names(path) - names(f"{verbs_programs.library}/libibverbs.so.1"), set())


class Pingpong(unittest.TestCase):
    def passes(self, program, *options, exchanges=1000, size=4096, **settings):
        command = [program, "-g", "1", "-n", str(exchanges), "-s", str(size), *options]
        for side, (code, output) in zip(("server", "client"), converse(command, environment(**settings))):
            self.assertEqual(code, 0, f"{side}: {output}")
            self.assertEqual(EXCHANGES.search(output)[1], str(exchanges), output)
            self.assertEqual(BYTES.search(output)[1], str(2 * exchanges * size), output)

    def test_rc(self):
        self.passes("ibv_rc_pingpong", "-c")

    def test_rc_events(self):
        self.passes("ibv_rc_pingpong", "-e", "-c")

    def test_rc_built_call_by_call(self):
        self.passes("ibv_rc_pingpong", "-N", "-c")

    def test_rc_long(self):
        self.passes("ibv_rc_pingpong", "-c", exchanges=50, size=1 << 20)

    def test_rc_longest_packets(self):
        self.passes("ibv_rc_pingpong", "-c", "-m", "4096", exchanges=50, size=1 << 20)

    def test_uc(self):
        self.passes("ibv_uc_pingpong", exchanges=200)

    def test_uc_events(self):
        self.passes("ibv_uc_pingpong", "-e", exchanges=200)

    def test_srq(self):
        self.passes("ibv_srq_pingpong")

    def test_srq_events(self):
        self.passes("ibv_srq_pingpong", "-e")

    def test_ud(self):
        self.passes("ibv_ud_pingpong", exchanges=200)

    def test_ud_events(self):
        self.passes("ibv_ud_pingpong", "-e", exchanges=200)

    def test_without_a_gid_on_infiniband(self):
        for program in ("ibv_rc_pingpong", "ibv_uc_pingpong", "ibv_ud_pingpong"):
            for code, output in converse([program, "-n", "100", "-s", "1024"],
                                         environment(WIREPROOF_VERBS_LINK="infiniband")):
                self.assertEqual(code, 0, f"{program}: {output}")
                self.assertRegex(output, r"local address:  LID 0x00\d\d,")

    def test_over_udp(self):
        for program in ("ibv_rc_pingpong", "ibv_uc_pingpong", "ibv_srq_pingpong", "ibv_ud_pingpong"):
            for options in ([], ["-e"]):
                with self.subTest(program=program, options=options):
                    self.passes(program, *options, exchanges=200, WIREPROOF_VERBS_NO_SHM="1")

    def test_without_a_gid_is_refused_as_on_ethernet(self):
        for code, output in converse(["ibv_rc_pingpong"]):
            self.assertNotEqual(code, 0, output)

    def test_what_is_not_offered_is_said(self):
        for option in ("-t", "-o"):
            code, output = run(["ibv_rc_pingpong", "-g", "1", option, "-p", str(free_port())])
            self.assertEqual(code, 1, f"{option}: {output}")


if __name__ == "__main__":
    FOLDER = sys.argv.pop(1)
    unittest.main()
