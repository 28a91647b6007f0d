#!/usr/bin/env python3
"""Libraries for LD_PRELOAD: the device library in front of the genuine libibverbs, and the hooks in ordinary programs.

usage: verbs_hooks_test.py FOLDER_OF_THE_LIBRARIES [unittest options]
"""
import pathlib
import re
import shutil
import sys
import time
import unittest

import verbs_programs as programs


def setUpModule():
    programs.set_up(FOLDER, ["ibv_devices", "ibv_devinfo", "ibv_rc_pingpong", "ibv_ud_pingpong"], "ibverbs-utils")


def tearDownModule():
    programs.tear_down()


def preloaded(**more):
    """The environment for the device library in front of the genuine one, together with the hooks."""
    environment = programs.hooked(**more)
    del environment["LD_LIBRARY_PATH"]
    libraries = [f"{programs.library}/libwireproof-verbs-preload.so", environment["LD_PRELOAD"]]
    return {**environment, "LD_PRELOAD": ":".join(libraries)}


class Preload(unittest.TestCase):
    def test_lists_the_device(self):
        code, output = programs.run(["ibv_devices"], preloaded())
        self.assertEqual(code, 0, output)
        self.assertRegex(output, r"wireproof0\s+[0-9a-f]{16}\n")

    def test_the_genuine_library_stays_loaded(self):
        for environment, genuine in ((preloaded(), True), (programs.environment(), False)):
            _, output = programs.run(["env", "LD_TRACE_LOADED_OBJECTS=1", "ibv_devices"], environment)
            where = re.search(r"libibverbs\.so\.1 => (\S+)", output)[1]
            self.assertEqual(not where.startswith(programs.library), genuine, output)

    def test_tells_what_the_device_is(self):
        code, output = programs.run(["ibv_devinfo", "-v"], preloaded(WIREPROOF_VERBS_ADDRESS="127.77.0.8"))
        self.assertEqual(code, 0, output)
        for wanted in (r"hca_id:\s+wireproof0", r"state:\s+PORT_ACTIVE", r"GID\[\s*1\]:\s+::ffff:127\.77\.0\.8, RoCE v2"):
            self.assertRegex(output, wanted)

    def test_tools_of_other_versions_find_the_private_name_that_they_use(self):
        _, shown = programs.run(["nm", "-D", "--defined-only", f"{programs.library}/libwireproof-verbs-preload.so"])
        versions = re.findall(r" T ibv_query_gid_type@@?IBVERBS_PRIVATE_(\d+)\n", shown)
        self.assertEqual(sorted(versions), ["22", "25", "33", "34", "57", "59", "64"])
        self.assertEqual([line for line in shown.splitlines() if "VERBS_" not in line and "WIREPROOF_" not in line], [])

    def test_programs_run(self):
        for program, size in (("ibv_rc_pingpong", 65536), ("ibv_ud_pingpong", 2048)):
            sides = programs.converse([program, "-g", "1", "-n", "100", "-s", str(size)], preloaded())
            for code, output in sides:
                self.assertEqual(code, 0, f"{program}: {output}")
                self.assertIn("100 iters in", output)

    def test_connections_by_rdma_cm(self):
        if shutil.which("rping") is None:
            self.skipTest("rdmacm-utils is not installed")
        port = str(programs.free_port())
        server = programs.start(["rping", "-s", "-C", "20", "-V", "-p", port], preloaded())
        try:
            services = pathlib.Path(programs.library) / "runtime/wireproof"
            limit = time.monotonic() + programs.LIMIT
            while not any(services.glob(f"*-{port}")):
                self.assertTrue(server.poll() is None and time.monotonic() < limit, "no server")
                time.sleep(0.01)
            code, output = programs.run(["rping", "-c", "-a", "127.0.0.1", "-C", "20", "-V", "-v", "-p", port], preloaded())
            self.assertEqual(code, 0, output)
            self.assertEqual(output.count("ping data: rdma-ping-"), 20, output)
            said, _ = server.communicate(timeout=programs.LIMIT)
            self.assertEqual(server.returncode, 0, said)
        finally:
            programs.end(server)


class Hooks(unittest.TestCase):
    """The hooks in programs that do not use verbs."""

    def test_folders_are_listed(self):
        for folder, names in (("/sys/class/infiniband/wireproof0/device/net", ["lo"]),
                              ("/sys/class/infiniband/wireproof0/ports/1/gids", ["0", "1"])):
            code, output = programs.run(["ls", "-l", folder], programs.hooked())
            self.assertEqual(code, 0, output)
            self.assertEqual([line.split()[-1] for line in output.splitlines()[1:]], names)

    def test_texts_are_read(self):
        code, output = programs.run(["cat", "/sys/class/infiniband/wireproof0/node_type",
                                     "/sys/class/misc/rdma_cm/abi_version"], programs.hooked())
        self.assertEqual((code, output), (0, "1: CA\n4\n"))

    def test_no_text_can_be_changed(self):
        code, output = programs.run(["sh", "-c", "echo 2 > /sys/class/infiniband/wireproof0/node_type"],
                                    programs.hooked())
        self.assertNotEqual(code, 0, output)

    def test_shells_find_the_character_file(self):
        script = "test -c /dev/infiniband/uverbs0 && test -w /dev/infiniband/uverbs0"
        self.assertEqual(programs.run(["sh", "-c", script], programs.hooked()), (0, ""))
        self.assertEqual(programs.run(["sh", "-c", script])[0], 1)

    def test_programs_run_as_before(self):
        for command in (["ls", "/"], ["cat", "/proc/self/cmdline"], ["sh", "-c", "ls /dev | wc -l; echo a > /dev/null"],
                        [sys.executable, "-c", "import os, subprocess\n"
                         "print(subprocess.run(['echo', 'a'], capture_output=True, close_fds=True).stdout)\n"
                         "print(sorted(os.listdir('/sys/class/net')), os.stat('/').st_ino, os.path.exists('/no'))"]):
            self.assertEqual(programs.run(command, programs.hooked()), programs.run(command))


if __name__ == "__main__":
    FOLDER = sys.argv.pop(1)
    unittest.main()
