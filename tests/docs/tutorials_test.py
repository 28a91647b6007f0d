#!/usr/bin/env python3
"""Does what each tutorial says, in an empty folder.

A block of a tutorial is a file if the line before it ends with its name, as "Write the file `grid.toml`:". A block `sh`
is a script. A block `text` is what the last script printed; any number stands for each number.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PAGES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "start"
LIMIT = 600  # seconds, on a busy machine
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
NUMBER = re.compile(r"\b[\da-f.,]*\d[\da-f]*")


def steps(page):
    """Yields what the page asks for, in order: ("file", name, text), ("script", text) and ("output", text)."""
    for block in BLOCK.finditer(page):
        kind, text = block.groups()
        before = page[:block.start()].rstrip("\n").rpartition("\n")[2]
        name = re.search(r"`([\w.]+)`:$", before)
        if kind == "sh":
            yield "script", text
        elif kind == "text":
            yield "output", text
        elif name:
            yield "file", name[1], text
        else:
            raise AssertionError(f"a block {kind} is neither a file nor a script: {before}")


def without_numbers(text):
    return [NUMBER.sub("N", " ".join(line.split())) for line in text.strip().splitlines()]


def follow(page, folder, environment):
    printed = ""
    for step in steps(page):
        if step[0] == "file":
            (folder / step[1]).write_text(step[2], encoding="utf-8")
        elif step[0] == "output":
            missing = [line for line in without_numbers(step[1]) if line not in without_numbers(printed)]
            assert not missing, f"not printed: {missing}\n{printed}"
        else:
            done = subprocess.run(["bash", "-euc", step[1]], cwd=folder, env=environment, capture_output=True, text=True,
                                  timeout=LIMIT, check=False)
            assert done.returncode == 0, f"{step[1]}{done.stdout[-3000:]}{done.stderr[-3000:]}"
            printed = done.stdout


class ATutorialWorksAsItIsWritten(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="wireproof-tutorials-"))
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        prefix = folder / "prefix"
        subprocess.run([os.environ["WIREPROOF_CMAKE"], "--install", os.environ["WIREPROOF_BUILD"], "--prefix", prefix],
                       stdout=subprocess.DEVNULL, check=True)
        cls.environment = {**os.environ, "PATH": f"{prefix}/bin:{os.environ['PATH']}", "CMAKE_PREFIX_PATH": str(prefix)}

    def follow(self, name):
        page = (PAGES / name).read_text(encoding="utf-8")
        kinds = [step[0] for step in steps(page)]
        self.assertGreater(kinds.count("script"), 0)
        self.assertEqual(len(kinds), page.count("\n```\n"), "a block of the page was not understood")
        with tempfile.TemporaryDirectory() as folder:
            follow(page, pathlib.Path(folder), self.environment)
            return sorted(os.listdir(folder))

    def test_of_a_service(self):
        self.assertIn("build", self.follow("service.md"))

    def test_of_tests_with_rdma(self):
        self.assertIn("client.pcapng", self.follow("rdma-tests.md"))

    def test_of_a_link(self):
        self.assertIn("curves.svg", self.follow("link-design.md"))

    def test_pages_are_installed_where_help_names_them(self):
        wireproof = shutil.which("wireproof", path=self.environment["PATH"])
        prefix = pathlib.Path(wireproof).parents[1]
        named = set()
        for subcommand in ("inspect", "ladder", "launch", "search", "stat", "sweep", "verbs"):
            said = subprocess.run([wireproof, subcommand, "--help"], capture_output=True, text=True, check=True).stdout
            pages = set(re.findall(r"share/doc/wireproof/[\w/-]+\.md", said))
            self.assertNotEqual(pages, set(), subcommand)
            named |= pages
        self.assertEqual([page for page in sorted(named) if not (prefix / page).exists()], [])

    def test_there_is_no_other(self):
        self.assertEqual(sorted(page.name for page in PAGES.glob("*")), ["link-design.md", "rdma-tests.md", "service.md"])

    def test_what_is_not_printed_is_noticed(self):
        page = "Do:\n\n```sh\necho 17 apples\n```\n\nIt prints:\n\n```text\n4 {}\n```\n"
        with tempfile.TemporaryDirectory() as folder:
            follow(page.format("apples"), pathlib.Path(folder), None)
            with self.assertRaises(AssertionError):
                follow(page.format("pears"), pathlib.Path(folder), None)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
