#!/usr/bin/env python3
"""The tests of Debian's pyverbs over the device that is built here.

usage: verbs_pyverbs_test.py FOLDER_OF_THE_LIBRARIES [unittest options]

Every test of a module passes, or is skipped for a reason that this file names, and no test is missing.
Not run: tests of other vendors' adapters; tests of tag matching, flow steering and raw packets, which the device does
not have; test_shared_pd, which needs the descriptor of a kernel's device, and the context has none.
"""
import gzip
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

import verbs_programs as programs

SUITE = pathlib.Path("/usr/share/doc/rdma-core/tests")
PYTHON = "/usr/bin/python3"  # pyverbs is Debian's, so the interpreter must be Debian's, too

# For each module: the number of tests, and how many are skipped for which reason (a regular expression). A test may
# also be skipped because of the machine or the user, before it asks the device.
MODULES = {
    "test_device": (22, {"All gid indices populated": 1, "Device memory is not supported": 9}),
    "test_addr": (3, {}),
    "test_cq": (4, {}),
    "test_cqex": (5, {"Create XRCD is not supported": 1}),
    "test_cq_events": (2, {}),
    "test_mr": (27, {"Allocating dmabuf is not supported|.*dmabuf": 10, "Device memory is not supported": 5}),
    "test_atomic": (9, {"Create XRCD is not supported": 2}),
    "test_qp": (26, {"Create Raw Packet QP with|To Create RAW QP must be done by root": 5}),
    "test_qpex": (20, {"Create XRCD is not supported": 2, "Extended QP is not supported": 1}),  # atomic write
    "test_relaxed_ordering": (3, {"Create XRCD is not supported": 1}),
    "test_fork": (1, {}),
    "test_pd": (4, {}),
    "test_odp": (17, {"ODP is not supported|There are no huge pages|Create XRCD is not supported": 17}),
    "test_parent_domain": (6, {"Parent Domain is not supported|There are no huge pages": 6}),
    "test_rdmacm": (10, {"Multicast is not supported": 3}),
}
folder = None


def setUpModule():
    global folder
    if not (SUITE / "run_tests.py").exists():
        raise unittest.SkipTest("rdma-core's documentation, which holds the tests of pyverbs, is not installed")
    programs.set_up(FOLDER, ["/usr/bin/python3"], "python3-pyverbs")
    folder = tempfile.TemporaryDirectory()
    pathlib.Path(folder.name).chmod(0o755)
    for file in SUITE.iterdir():
        if file.suffix == ".gz":
            with gzip.open(file) as packed, open(pathlib.Path(folder.name) / file.stem, "wb") as plain:
                shutil.copyfileobj(packed, plain)
        else:
            shutil.copy(file, folder.name)


def tearDownModule():
    if folder:
        folder.cleanup()
    programs.tear_down()


class Modules(unittest.TestCase):
    def of(self, module):
        count, skipped = MODULES[module]
        env = programs.hooked(PYTHONDONTWRITEBYTECODE="1")
        code, output = programs.run([PYTHON, f"{folder.name}/run_tests.py", "--dev", "wireproof0", "--port", "1",
                                     "--gid", "1", "-v", "-k", f"tests.{module}."], env)
        self.assertEqual(code, 0, output)
        self.assertRegex(output, rf"(?m)^Ran {count} tests? in", output)
        reasons = re.findall(r"\.\.\. skipped '(.*)'$", output, re.MULTILINE)
        found = {reason: sum(re.match(reason, one) is not None for one in reasons) for reason in skipped}
        self.assertEqual(found, skipped, output)
        self.assertEqual(len(reasons), sum(skipped.values()), output)


class Objects(Modules):
    def test_device(self):
        self.of("test_device")

    def test_address_handles(self):
        self.of("test_addr")

    def test_completion_queues(self):
        self.of("test_cq")

    def test_domains(self):
        self.of("test_pd")

    def test_queue_pairs(self):
        self.of("test_qp")

    def test_fork(self):
        self.of("test_fork")


class Traffic(Modules):
    def test_extended_completion_queues(self):
        self.of("test_cqex")

    def test_completion_events(self):
        self.of("test_cq_events")

    def test_regions_and_windows(self):
        self.of("test_mr")

    def test_atomics(self):
        self.of("test_atomic")

    def test_work_requests_built_call_by_call(self):
        self.of("test_qpex")

    def test_relaxed_ordering(self):
        self.of("test_relaxed_ordering")

    def test_connection_management(self):
        self.of("test_rdmacm")


class NotOffered(Modules):
    def test_on_demand_paging(self):
        self.of("test_odp")

    def test_parent_domains(self):
        self.of("test_parent_domain")


if __name__ == "__main__":
    FOLDER = sys.argv.pop(1)
    unittest.main()
