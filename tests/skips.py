#!/usr/bin/env python3
"""Prints each skipped test that must not be skipped. permitted_skips.txt, beside this file, lists the tests that may.

  skips.py LOG…       reads LastTest.log of ctest; exits with 1 if a skipped test is not listed
  skips.py --self-test SOURCE_DIR
"""
import ast
import pathlib
import re
import subprocess
import sys
import tempfile

LIST = pathlib.Path(__file__).with_name("permitted_skips.txt")
TEST = re.compile(r"(?ms)^\d+/\d+ Testing: ([^\n]+)$.*?^Output:\n-+\n(.*?)^<end of output>$")
OF_GOOGLE_TEST = re.compile(r"(?ms)^\S+:\d+: Skipped\n(.*?)\n?^\[  SKIPPED \] ([^\s,]+)")
OF_UNITTEST = re.compile(r"""(?m)^(.*)skipped ('.*'|".*")$""")
METHOD = re.compile(r"(\w+) \([\w.]+\)")
COUNTED = re.compile(r"(?m)^(?:OK|FAILED) \(.*skipped=(\d+)")


def skips_of(log):
    """Yields the name and the reason of each skipped test."""
    for name, output in TEST.findall(log):
        for said, test in OF_GOOGLE_TEST.findall(output):
            yield test, " ".join(said.split())
        told = 0
        for match in OF_UNITTEST.finditer(output):
            # The name of a test with a docstring is in the line before.
            before = output[:match.start()].splitlines()[-1:]
            method = METHOD.search(match[1]) or METHOD.search("".join(before))
            yield f"{name}.{method[1] if method else '?'}", " ".join(ast.literal_eval(match[2]).split())
            told += 1
        counted = COUNTED.search(output)
        if counted and told < int(counted[1]):
            yield name, "skipped without a reason that is seen: its tests are to run with -v"


def permitted(lines):
    entries = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return [re.compile(".*".join(map(re.escape, entry.split("*")))) for entry in entries]


def unlisted(log, lines):
    allowed = permitted(lines)
    told = [f"{name}: {said}" for name, said in skips_of(log)]
    return [line for line in told if not any(entry.fullmatch(line) for entry in allowed)]


SCRIPT = '''
import unittest
class A(unittest.TestCase):
    def test_passes(self): pass
    def test_skips(self): self.skipTest("no raw\\nsockets")
    @unittest.skip("it is Monday")
    def test_with_a_docstring(self):
        """Says what it is."""
class B(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise unittest.SkipTest("no program")
    def test_passes(self): pass
unittest.main()
'''
GOOGLE = r"""
[ RUN      ] Wire.Is/0
/a/wire_test.cpp:20: Skipped
no IPv6:
here

[  SKIPPED ] Wire.Is/0 (0 ms)
[ RUN      ] Wire.Goes
[       OK ] Wire.Goes (0 ms)
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] Wire.Is/0
"""
ALL = ["Py.A.test_skips: no raw sockets", "Py.A.test_with_a_docstring: it is Monday", "Py.B.setUpClass: no program",
       "Wire.Is/0: no IPv6: here", "Quiet: skipped without a reason that is seen: its tests are to run with -v"]


def self_test():
    """Returns the log of a real run of ctest."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "a_test.py").write_text(SCRIPT)
        (folder / "google.txt").write_text(GOOGLE)
        (folder / "CTestTestfile.cmake").write_text(
            f'add_test(Py.A "{sys.executable}" a_test.py A -v)\nadd_test(Py.B "{sys.executable}" a_test.py B -v)\n'
            f'add_test(Wire.Is/0 cat google.txt)\nadd_test(Quiet "{sys.executable}" a_test.py A)\n'
            'set_tests_properties(Py.B PROPERTIES SKIP_REGULAR_EXPRESSION "OK \\\\(skipped=")\n')
        ran = subprocess.run(["ctest"], cwd=folder, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        log = (folder / "Testing/Temporary/LastTest.log").read_text()
    for listed, left in (
            ([], ALL),
            (["# a comment", "", "Py.*: no raw sockets", "Py.A.*: it is *", "Py.B.setUpClass: no program"], ALL[3:]),
            (["Py.A.test_skips: no packet sockets", "Py.A.*: no", "A.test_skips: no raw sockets"], ALL),
            (ALL, []), (["*"], [])):
        found = unlisted(log, listed)
        assert sorted(found) == sorted(left), f"{listed}: {found}"
    return 0


def never_said(root):
    """Returns the entries whose reason is not in any test."""
    tests = [path for folder in ("tests", "wireproof") for suffix in ("py", "cpp", "hpp")
             for path in (root / folder).rglob(f"*.{suffix}") if path.resolve() != pathlib.Path(__file__).resolve()]
    text = "\n".join(path.read_text() for path in tests)
    entries = [line for line in LIST.read_text().splitlines() if line and not line.startswith("#")]
    def reason(entry):
        return entry.split(": ", 1)[1].split("*")[0]

    return [entry for entry in entries if not reason(entry) or reason(entry) not in text]


def main():
    if sys.argv[1:2] == ["--self-test"]:
        stale = never_said(pathlib.Path(sys.argv[2]))
        print("".join(f"no test says: {entry}\n" for entry in stale), end="")
        return self_test() or bool(stale)
    lines = LIST.read_text().splitlines()
    found = [line for log in sys.argv[1:] for line in unlisted(pathlib.Path(log).read_text(errors="replace"), lines)]
    print("".join(f"  skipped, and not in tests/{LIST.name}: {line}\n" for line in found), end="")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
