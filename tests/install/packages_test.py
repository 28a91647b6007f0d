#!/usr/bin/env python3
"""Builds the Debian packages and installs them in a system that has nothing else.

mmdebstrap makes the system from Debian's archive in a folder. Each test is what one kind of user does there. The
variable WIREPROOF_DEBS may name a folder in which tools/debs.sh has built the packages before.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["WIREPROOF_SOURCE"])
LIMIT = 3000  # seconds, on a busy machine
# Of a chroot: the file systems that programs expect.
ENTER = r"""
set -e
root=$1
shift
mount --bind "$root" "$root"
cd "$root"
mount -t proc proc proc
mount -t tmpfs tmpfs dev/shm
exec chroot . "$@"
"""


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=LIMIT, check=False,
                          **more)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout[-5000:]}\n{done.stderr[-5000:]}")
    return done.stdout


def missing():
    """Why no such system can be made here; nothing if it can."""
    if os.geteuid() != 0:
        return "not root, so no chroot may be made"
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True).returncode != 0:
        return "no mount namespace may be made here"
    return None


class TheSourcePackage(unittest.TestCase):
    """Without a build. PackagesInASystemOfTheirOwn shows the same of the packages that are installed."""

    def checked(self, change=lambda debian: None):
        with tempfile.TemporaryDirectory(prefix="wireproof-source-") as name:
            tree = pathlib.Path(name, "wireproof")
            tree.mkdir()
            names = run("git", "-C", SOURCE, "ls-files", "-z").split("\0")
            run("cp", "--parents", "-t", tree, *filter(None, names), cwd=SOURCE)
            change(tree / "debian")
            run("dpkg-source", "--build", "wireproof", cwd=name)
            return subprocess.run(["lintian", "--fail-on", "error,warning", *pathlib.Path(name).glob("*.dsc")],
                                  capture_output=True, text=True, timeout=LIMIT, check=False)

    def test_lintian_finds_nothing(self):
        found = self.checked()
        self.assertEqual((found.returncode, found.stdout), (0, ""), found.stderr)

    def test_lintian_looks(self):
        def forget_the_licence(debian):
            (debian / "copyright").unlink()
        found = self.checked(forget_the_licence)
        self.assertNotEqual(found.returncode, 0)
        self.assertIn("no-debian-copyright-in-source", found.stdout)


class PackagesInASystemOfTheirOwn(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        reason = missing()
        if reason:
            raise unittest.SkipTest(reason)
        folder = pathlib.Path(tempfile.mkdtemp(prefix="wireproof-packages-"))
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.root = folder / "root"
        built = os.environ.get("WIREPROOF_DEBS")
        if not built:
            built = folder / "debs"
            run(SOURCE / "tools/debs.sh", "--out", built)  # also checks the packages with lintian
        run("mmdebstrap", "--variant=apt", "--mode=root", "bookworm", cls.root)
        shutil.copytree(built, cls.root / "debs", ignore=lambda _, names: [n for n in names if "dbgsym" in n])
        cls.sh("apt-get update -qq && apt-get install -y -qq --no-install-recommends /debs/*.deb")

    @classmethod
    def sh(cls, script, user=None):
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if user else []
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp", "LC_ALL": "C.UTF-8",
                       "DEBIAN_FRONTEND": "noninteractive"}
        return run("unshare", "--mount", "--pid", "--fork", "sh", "-c", ENTER, "enter", cls.root, *command, "sh", "-euc",
                   script, env=environment)

    def put(self, name, text):
        (self.root / "tmp" / name).write_text(text, encoding="utf-8")

    def test_the_command_carries_a_file(self):
        said = self.sh("wireproof carry /usr/bin/wireproof --protocol all --loss 0.01", user="nobody")
        self.assertGreaterEqual(said.count(" verified "), 7, said)

    def test_a_program_in_cpp_finds_the_library_with_cmake(self):
        self.sh("apt-get install -y -qq --no-install-recommends g++ cmake make")
        self.put("hello.cpp", (SOURCE / "examples/hello_am.cpp").read_text())
        self.put("CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\nproject(hello CXX)\n"
                                   "find_package(wireproof REQUIRED)\nadd_executable(hello hello.cpp)\n"
                                   "target_link_libraries(hello PRIVATE wireproof::wireproof)\n")
        said = self.sh("cd /tmp && cmake -B build . >&2 && cmake --build build >&2 && build/hello")
        self.assertIn("5 squared is 25\n", said)

    def test_a_program_in_c_finds_the_library_with_pkg_config(self):
        self.sh("apt-get install -y -qq --no-install-recommends gcc libc6-dev pkg-config")
        self.put("c_api.c", (SOURCE / "examples/c_api.c").read_text())
        said = self.sh("cd /tmp && gcc -std=c99 -Wall -Werror c_api.c $(pkg-config --cflags --libs wireproof) -o c_api && "
                       "./c_api")
        self.assertRegex(said, r"ETR|etr")

    def test_manual_pages_are_shown(self):
        self.sh("apt-get install -y -qq --no-install-recommends man-db")
        said = self.sh("MANWIDTH=80 man wireproof-sweep | cat; man wireproof | cat")
        self.assertIn("wireproof-sweep", said)
        self.assertIn("--protocol NAME", said)

    def test_the_shell_completes(self):
        self.sh("apt-get install -y -qq --no-install-recommends bash-completion")
        said = self.sh("""bash -ic '. /usr/share/bash-completion/bash_completion; _completion_loader wireproof
            COMP_WORDS=(wireproof swe) COMP_CWORD=1 COMP_LINE="wireproof swe" COMP_POINT=13
            $(complete -p wireproof | sed "s/.*-F \\([^ ]*\\).*/\\1/") wireproof swe wireproof
            echo "${COMPREPLY[@]}"' 2>/dev/null""")
        self.assertIn("sweep", said)

    def test_python_sweeps(self):
        said = self.sh("apt-get install -y -qq --no-install-recommends python3-numpy >&2; python3 -c '"
                       "import wireproof\n"
                       "grid = {\"protocol\": [\"pcie\", \"ue-llr\"], \"ber\": [1e-7, 1e-6], \"packets\": 10000}\n"
                       "print(wireproof.sweep(grid).to_numpy().shape[0], \"points\")'")
        self.assertIn("4 points\n", said)

    def test_wireshark_names_the_packets(self):
        self.sh("apt-get install -y -qq --no-install-recommends tshark")
        said = self.sh("cd /tmp && wireproof ladder am-lost-request --pcapng l.pcapng >&2 && "
                       "tshark -r l.pcapng -Y wireproof.am.retransmission 2>/dev/null", user="nobody")
        self.assertEqual(len(said.splitlines()), 2, said)

    def test_the_documentation_has_a_front_page(self):
        page = self.root / "usr/share/doc/wireproof-doc/html/index.html"
        self.assertIn("Wireproof", page.read_text(encoding="utf-8"))

    def test_help_names_a_page_that_is_there(self):
        (page,) = set(re.findall(r"share/doc/wireproof/\S+\.md", self.sh("wireproof stat --help", user="nobody")))
        self.assertIn("stat", (self.root / "usr" / page).read_text(encoding="utf-8"))

    def test_an_unmodified_program_finds_the_device(self):
        self.sh("apt-get install -y -qq --no-install-recommends ibverbs-utils")
        said = self.sh("wireproof verbs -- ibv_devinfo; ! ibv_devinfo", user="nobody")
        self.assertIn("wireproof0", said)

    def test_the_packages_can_be_removed(self):
        before = self.sh("dpkg-query -W -f '${Package}\\n' '*wireproof*'").split()
        self.assertIn("libwireproof0", before)
        self.sh("apt-get purge -y -qq '?name(wireproof)' && apt-get install -y -qq --no-install-recommends /debs/*.deb")
        self.assertEqual(self.sh("dpkg --verify wireproof libwireproof0"), "")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
