#!/usr/bin/env python3
"""Runs the tests of one suite of a GoogleTest program in one process. Where the start of a process is slow, as it is with
sanitizers, ctest has an entry for each suite instead of one for each test.

  suite.py run SECONDS PROGRAM SUITE                   SECONDS is the limit of one test
  suite.py list PROGRAM FILE SECONDS FULL [LABEL …]    writes the entries of ctest into FILE; those of the suites in
                                                       FULL, with commas between them, have the label full, too
  suite.py names FOLDER                                fails if two entries of ctest in one folder of this build tree
                                                       have one name: ctest then gives both the labels of one
  suite.py --self-test

A test that ends the process, or takes too long, does not hide the tests after it: they run in a new process. At the end
the output of each failed test is repeated, and then its name, because often only the end of a log is kept.
"""
import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading

import skips

BEGINS = re.compile(r"\[ RUN      \] (\S+)")
ENDS = re.compile(r"\[(?:       OK|  FAILED|  SKIPPED) +\] (\S+?),? .*\(\d+ ms\)$")
LINES_REPEATED = 30  # of each failed test
ENTRY_SECONDS_MAX = 1500


class Run:
    """One process, from its first test to its end."""

    def __init__(self, program, names, seconds):
        self.begun, self.failed, self.output, self.running = [], {}, [], None
        with subprocess.Popen([program, f"--gtest_filter={names}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", start_new_session=True) as process:
            self.group, self.late, self.watch = process.pid, False, None
            for line in process.stdout:
                print(line, end="", flush=True)
                self.take(line.rstrip("\n"), seconds)
        self.stop_watch()
        self.code = process.returncode
        if self.running:
            self.failed[self.running] = [*self.output, f"{self.running}: {self.how_it_ended(seconds)}"]

    def take(self, line, seconds):
        self.output.append(line)
        begins, ends = BEGINS.search(line), ENDS.search(line)
        if begins:
            self.running, self.output = begins[1], [line]
            self.begun.append(begins[1])
            self.stop_watch()
            self.watch = threading.Timer(seconds, self.end_it)
            self.watch.start()
        elif ends and ends[1] == self.running:
            self.stop_watch()
            if "FAILED" in ends[0]:
                self.failed[self.running] = self.output
            self.running, self.output = None, []

    def end_it(self):
        self.late = True
        os.killpg(self.group, signal.SIGKILL)  # with the processes that the test has started

    def stop_watch(self):
        if self.watch:
            self.watch.cancel()

    def how_it_ended(self, seconds):
        if self.late:
            return f"not done after {seconds} s"
        if self.code < 0:
            return f"ended by {signal.Signals(-self.code).name}"
        return f"the process ended with {self.code}"


def run(program, suite, seconds):
    failed, done = {}, []
    while True:
        one = Run(program, f"{suite}.*" + ("-" + ":".join(done) if done else ""), seconds)
        failed.update(one.failed)
        done += one.begun
        if not one.running or not one.begun:
            break
        print(f"\n{one.running} ended its process. The other tests run in a new one.", flush=True)
    # Leaks, for example, are found after the last test.
    if one.code and not one.failed:
        failed[f"{suite}, outside its tests"] = [*one.output, f"the process ended with {one.code}"]
    if not done:
        failed[f"{suite}, which has no tests"] = []
    for name, output in failed.items():
        print("\n".join(["", f"==== {name}", *output[-LINES_REPEATED:]]))
    print("".join(f"\nfailed: {name}" for name in failed))
    return 1 if failed else 0


def suites_of(program):
    listed = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout
    return [line.split(".", 1)[0] if "/" not in line else line.split(" ")[0][:-1]
            for line in listed.splitlines() if line[:1].isalnum() and line.split(" ")[0].endswith(".")]


def entries(program, seconds, full, labels):
    suites = suites_of(program)
    missing = full - set(suites)
    if missing:
        raise SystemExit(f"suite.py: {program} has no suite {', '.join(sorted(missing))}")
    for suite in suites:
        of_suite = [*labels, "full"] if suite in full else labels
        yield (f'add_test([[{suite}]] [[{sys.executable}]] [[{os.path.abspath(__file__)}]] run {seconds} [[{program}]] '
               f'[[{suite}]])\n'
               f'set_tests_properties([[{suite}]] PROPERTIES LABELS "{";".join(of_suite)}" TIMEOUT {ENTRY_SECONDS_MAX})\n')


def shared_names(folder):
    listed = subprocess.run(["ctest", "--show-only=json-v1"], cwd=folder, capture_output=True, text=True, check=True)
    names = collections.Counter()
    for entry in json.loads(listed.stdout)["tests"]:
        properties = {one["name"]: one["value"] for one in entry["properties"]}
        names[entry["name"], properties["WORKING_DIRECTORY"]] += 1
    return sorted(name for (name, _), count in names.items() if count > 1)


PROGRAM = r"""
#include <gtest/gtest.h>
#include <cstdlib>
#include <unistd.h>
TEST(A, Passes) {}
TEST(A, Dies) { std::abort(); }
TEST(A, Fails) { EXPECT_EQ(1, 2) << "a reason"; }
TEST(A, Skips) { GTEST_SKIP() << "no wire"; }
TEST(A, Hangs) { pause(); }
TEST(A, IsStillRun) { std::puts("here"); }
TEST(B, Passes) {}
TEST(AB, Exits) { std::exit(0); }
TEST(AB, Passes) {}
struct Leaves { ~Leaves() { if (std::getenv("LEAVES")) _exit(23); } } leaves;
class P : public testing::TestWithParam<int> {};
TEST_P(P, IsOdd) { EXPECT_EQ(GetParam() % 2, 1); }
INSTANTIATE_TEST_SUITE_P(Numbers, P, testing::Values(1, 2, 3));
template <class T> class Typed : public testing::Test {};
TYPED_TEST_SUITE(Typed, testing::Types<int>);
TYPED_TEST(Typed, Is) {}
"""


def self_test():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "a_test.cpp").write_text(PROGRAM)
        program = str(folder / "a_test")
        subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", str(folder / "a_test.cpp"), "-o", program,
                        "-lgtest", "-lgtest_main"], check=True)
        assert suites_of(program) == ["A", "B", "AB", "Typed/0", "Numbers/P"], suites_of(program)

        def told(suite, seconds=300, **more):
            ran = subprocess.run([sys.executable, __file__, "run", str(seconds), program, suite], capture_output=True,
                                 text=True, env={**os.environ, **more})
            assert ran.returncode == (1 if "\nfailed: " in ran.stdout else 0), ran.stdout + ran.stderr
            return ran.stdout, re.findall(r"\nfailed: (.*)", ran.stdout)

        # A.Hangs waits for this limit. The other tests need less on any machine.
        out, failed = told("A", seconds=15)
        assert failed == ["A.Dies", "A.Fails", "A.Hangs"], out
        end = out[out.index("\n==== "):]
        for text in ("A.Dies: ended by SIGABRT", "a reason", "A.Hangs: not done after 15 s"):
            assert text in end, f"{text}: {out}"
        assert "\nhere\n" in out and out.count("[ RUN      ] A.Passes") == 1 and "B." not in out, out
        assert skips.OF_GOOGLE_TEST.findall(out) == [("no wire", "A.Skips")], out
        assert told("AB")[1] == ["AB.Exits"] and told("B")[1] == []
        assert told("B", LEAVES="1")[1] == ["B, outside its tests"]
        assert told("Numbers/P")[1] == ["Numbers/P.IsOdd/1"] and told("Typed/0")[1] == []
        assert told("C")[1] == ["C, which has no tests"]

        (folder / "CTestTestfile.cmake").write_text("".join(entries(program, 2, {"AB"}, ["unit", "slow"])))
        assert shared_names(folder) == []
        listed = subprocess.run(["ctest", "-N", "-L", "full"], cwd=folder, capture_output=True, text=True).stdout
        assert re.findall(r"#\d+: (\S+)", listed) == ["AB"], listed
        try:
            list(entries(program, 2, {"Gone"}, []))
            raise AssertionError("a suite that does not exist was taken")
        except SystemExit as error:
            assert str(error).endswith("has no suite Gone"), error
        ran = subprocess.run(["ctest", "-L", "slow", "-E", "^A$"], cwd=folder, capture_output=True, text=True).stdout
        assert re.findall(r" (\S+) \.+ +Passed", ran) == ["B", "Typed/0"] and "\n50% tests passed" in ran, ran
        (folder / "CTestTestfile.cmake").write_text("add_test(A true)\nadd_test(B true)\nadd_test(A true)\n")
        assert shared_names(folder) == ["A"]
    return 0


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    if sys.argv[1] == "names":
        shared = shared_names(sys.argv[2])
        for name in shared:
            print(f"two entries of ctest have the name {name}")
        return 1 if shared else 0
    if sys.argv[1] == "list":
        program, file, seconds, full, *labels = sys.argv[2:]
        pathlib.Path(file).write_text("".join(entries(program, seconds, {*full.split(",")} - {""}, labels)))
        return 0
    seconds, program, suite = sys.argv[2:]
    return run(program, suite, int(seconds))


if __name__ == "__main__":
    sys.exit(main())
