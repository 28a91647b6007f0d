#!/usr/bin/env python3
"""Libraries for LD_PRELOAD: the device library in front of the genuine libibverbs, and the hooks in ordinary programs.

usage: verbs_hooks_test.py FOLDER_OF_THE_LIBRARIES [unittest options]
"""
import json
import pathlib
import re
import shutil
import socket
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


def rdma(*arguments, **more):
    """Exit code and output of the program of iproute2, which asks by NETLINK_RDMA."""
    return programs.run(["rdma", *arguments], programs.hooked(**more))


class RdmaTool(unittest.TestCase):
    def setUp(self):
        if shutil.which("rdma") is None:
            self.skipTest("iproute2 is not installed")

    def shown(self, *arguments):
        code, output = rdma("-j", *arguments)
        self.assertEqual(code, 0, output)
        (one,) = json.loads(output)
        return one

    def texts(self, *files):
        """What the files of the device say."""
        code, output = programs.run(["cat", *(f"/sys/class/infiniband/wireproof0/{file}" for file in files)],
                                    programs.hooked())
        self.assertEqual(code, 0, output)
        return output.splitlines()

    def test_shows_the_link_that_files_show(self):
        link = self.shown("link")
        self.assertEqual(self.shown("link", "show", "wireproof0/1"), link)
        state, physical, interface = self.texts("ports/1/state", "ports/1/phys_state", "ports/1/gid_attrs/ndevs/1")
        self.assertEqual((link["ifname"], link["port"], link["netdev"]), ("wireproof0", 1, interface))
        self.assertEqual(link["state"], state.split(": ")[1])
        self.assertEqual(link["physical_state"].replace("_", "").lower(), physical.split(": ")[1].lower())
        self.assertEqual(link["netdev_index"], socket.if_nametoindex(interface))
        code, output = rdma("link", "show", "wireproof0/1")
        self.assertEqual((code, output.split()),
                         (0, ["link", "wireproof0/1", "state", "ACTIVE", "physical_state", "LINK_UP", "netdev",
                              interface]))

    def test_shows_the_device_that_files_show(self):
        device = self.shown("dev")
        self.assertEqual(self.shown("dev", "show", "wireproof0"), device)
        guid, image, kind = self.texts("node_guid", "sys_image_guid", "node_type")
        self.assertEqual((device["node_guid"], device["sys_image_guid"]), (guid, image))
        self.assertEqual(device["node_type"].upper(), kind.split(": ")[1])

    def test_resources_and_counters_are_empty(self):
        self.assertEqual(set(self.shown("resource", "show")), {"ifindex", "ifname"})
        for kind in ("qp", "cm_id", "cq", "mr", "pd"):
            code, output = rdma("resource", "show", kind)
            self.assertEqual((code, output.strip()), (0, ""), kind)
        code, output = rdma("statistic", "show")
        self.assertEqual((code, output.split()), (0, ["link", "wireproof0/1"]))
        self.assertEqual(rdma("statistic", "qp", "show")[0], 0)

    def test_nothing_can_be_changed(self):
        for change in (("dev", "set", "wireproof0", "name", "other"), ("system", "set", "netns", "exclusive"),
                       ("link", "add", "other", "type", "rxe", "netdev", "lo"), ("link", "delete", "wireproof0")):
            code, output = rdma(*change)
            self.assertNotEqual(code, 0, change)
            self.assertIn("Operation not permitted", output, change)

    def test_no_other_device_is_shown(self):
        self.assertNotEqual(rdma("link", "show", "wireproof1")[0], 0)
        self.assertNotEqual(rdma("link", "show", "wireproof0/2")[0], 0)

    def test_a_program_with_verbs_gets_the_guid_of_verbs(self):
        asks = ("import ctypes, socket, struct\n"
                "ctypes.CDLL('libibverbs.so.1')\n"
                "asked = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 20)\n"
                "asked.send(struct.pack('=IHHIIHHI', 24, 5 << 10 | 1, 1, 0, 0, 8, 1, 0))\n"  # CMD_GET of the device 0
                "answer, at = asked.recv(8192), 16\n"
                "while at < len(answer):\n"
                "    size, kind = struct.unpack_from('=HH', answer, at)\n"
                "    if kind == 6: print('%016x' % struct.unpack_from('=Q', answer, at + 4))\n"
                "    at += size + 3 & ~3\n")
        code, output = programs.run([sys.executable, "-c", asks], programs.hooked())
        self.assertEqual(code, 0, output)
        _, devices = programs.run(["ibv_devices"])
        self.assertIn(output.strip(), devices)
        self.assertRegex(output, r"^[0-9a-f]{16}\n$")


if __name__ == "__main__":
    FOLDER = sys.argv.pop(1)
    unittest.main()
