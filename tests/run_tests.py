#!/usr/bin/env python3
"""Builds and runs the tests, in steps. ./test calls it.

  run_tests.py quick    one preset, each kind of test at least once
  run_tests.py all      all tests, with static analysis, sanitizers and the installed package
  run_tests.py units    only the unit tests
  run_tests.py alone    compiles each file alone and in its unit, and compares what they call

Prints a line when a step begins, and at the end what failed, the slowest entries, and the time of each step. The output
of a step is in build/logs.
"""
import concurrent.futures
import os
import pathlib
import re
import resource
import shlex
import subprocess
import sys
import time

import skips

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/budget"))
import budget  # noqa: E402

LOGS = ROOT / "build/logs"
SLOWEST = 20
LINES_REPEATED = 60  # of each failed test
TEST_LINE = re.compile(r"^ *\d+/\d+ +Test +#\d+: (\S+) \.* *(Passed|\*\*\*\S+.*?) +([\d.]+) sec")
NEVER = "mutants|install|long"  # labels with a call of their own; install runs with the preset package


class Failed(Exception):
    """A step failed; the text says how."""


class Run:
    def __init__(self):
        self.steps, self.slowest, self.failures, self.summaries = [], [], [], []
        self.terminal = sys.stdout.isatty()

    def step(self, name, work):
        print(f"== {name}", flush=True)
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        try:
            work()
        except Failed as failure:
            self.failures.append(f"{name}: {failure}")
            print(f"   failed: {failure}", flush=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.steps.append((name, time.monotonic() - begun, spent))

    def command(self, log, *words):
        """Its output goes to a terminal as it is, else into a log whose end is shown if it fails."""
        if self.terminal:
            if subprocess.run(words, cwd=ROOT).returncode != 0:
                raise Failed(shlex.join(words[:4]))
            return
        file = LOGS / f"{log}.log"
        with open(file, "w") as out:
            ended = subprocess.run(words, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT)
        if ended.returncode != 0:
            print("\n".join(file.read_text(errors="replace").splitlines()[-LINES_REPEATED:]))
            raise Failed(shlex.join(words[:4]))

    def build(self, preset):
        tree = ROOT / "build" / preset
        if not (tree / "build.ninja").exists():
            self.command(f"{preset}-configure", "cmake", "--preset", preset)
        done = lines_of(tree / ".ninja_log")
        self.command(f"{preset}-build", "cmake", "--build", "--preset", preset)
        for line in lines_of(tree / ".ninja_log")[len(done):]:
            if not line.startswith("#"):
                begin, end, _, output, _ = line.split("\t")
                output = re.sub(r"CMakeFiles/(.*)\.dir/(Unity/)?", r"\1/", output)
                self.slowest.append(((int(end) - int(begin)) / 1000, f"{preset} builds {output}"))

    def test(self, preset, *selection):
        log = LOGS / f"{preset}-tests.log"
        with open(log, "w") as out:
            process = subprocess.Popen(["ctest", "--preset", preset, *selection], cwd=ROOT, text=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
            count = 0
            for line in process.stdout:
                out.write(line)
                found = TEST_LINE.match(line)
                if found:
                    count += 1
                    self.slowest.append((float(found[3]), f"{preset} runs {found[1]}"))
                    if found[2] not in ("Passed", "***Skipped"):
                        print(f"   {found[1]}: {found[2]}", flush=True)
                    elif self.terminal:
                        print(f"\r   {count} {found[1][:68]:68}", end="", flush=True)
            if self.terminal:
                print("\r" + " " * 79 + "\r", end="")
            code = process.wait()
        text = log.read_text(errors="replace")
        summary = re.findall(r"^\d+% tests passed.*$", text, re.M)
        self.summaries.append(f"{preset}: {summary[-1] if summary else 'ctest did not finish'}")
        results = ROOT / "build" / preset / "Testing/Temporary"
        if code != 0:
            raise Failed(f"{self.summaries[-1]}\n{failures_in(results)}")
        said = unlisted_skips(results / "LastTest.log")
        if said:
            self.summaries.append("\n".join(said))
            if os.environ.get("CI"):
                raise Failed("skipped, and not in tests/permitted_skips.txt")

    def report(self):
        if self.slowest:
            print(f"\nThe {SLOWEST} slowest entries, in seconds:")
            for seconds, what in sorted(self.slowest, reverse=True)[:SLOWEST]:
                print(f"{seconds:8.1f}  {what}")
        print(f"\n{'step':44}{'seconds':>9}{'of processors':>15}")
        for name, wall, spent in self.steps:
            print(f"{name:44}{wall:9.0f}{spent:15.0f}")
        print(f"{'all':44}{sum(s[1] for s in self.steps):9.0f}{sum(s[2] for s in self.steps):15.0f}\n")
        print("\n".join(self.summaries))
        for failure in self.failures:
            print(f"failed: {failure}")
        return 1 if self.failures else 0


def lines_of(file):
    return file.read_text().splitlines() if file.exists() else []


def failures_in(results):
    """The names of the failed tests, each with the end of its output."""
    if not (results / "LastTestsFailed.log").exists():
        return ""
    text, out = (results / "LastTest.log").read_text(errors="replace"), []
    for line in (results / "LastTestsFailed.log").read_text().splitlines():
        number, name = line.split(":", 1)
        found = re.search(rf"(?ms)^{number}/\d+ Testing: .*?^<end of output>$", text)
        out += [f"  failed: {name}", *(found[0] if found else "").splitlines()[-LINES_REPEATED:]]
    return "\n".join(out)


def unlisted_skips(log):
    return [f"  skipped, and not in tests/{skips.LIST.name}: {line}"
            for line in skips.unlisted(log.read_text(errors="replace"), skips.LIST.read_text().splitlines())]


def tracked(*patterns):
    return subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True,
                          check=True).stdout.split()


def in_parallel(commands):
    """Runs each command with as many at once as there are processors. Returns the output of those that failed."""
    def one(command):
        ended = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return ended.stdout if ended.returncode != 0 else None

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return [text for text in pool.map(one, commands) if text is not None]


def check_format():
    files = tracked("*.c", "*.h", "*.cpp", "*.hpp", "*.inc")
    wrong = in_parallel([["clang-format-14", "--dry-run", "--Werror", *files[i::4]] for i in range(4)])
    if wrong:
        raise Failed("\n".join(wrong))


def check_engines():
    """clang-tidy, over the files of each library at once: most of its time goes into the headers that they share."""
    libraries = {}
    for file in tracked("wireproof/base", "wireproof/core", "wireproof/proto"):
        if file.endswith(".cpp") and not file.endswith("_test.cpp"):
            libraries.setdefault("_".join(file.split("/")[1:3 if "/proto/" in file else 2]), []).append(file)
    folder = ROOT / "build/tidy"
    folder.mkdir(parents=True, exist_ok=True)
    for name, files in libraries.items():
        (folder / f"{name}.cpp").write_text("".join(f'#include "{file}"\n' for file in files))
    wrong = in_parallel([["clang-tidy-14", "--quiet", r"--header-filter=(wireproof|include)/.*\.(hpp|cpp)$",
                          "--checks=-bugprone-suspicious-include", str(folder / f"{name}.cpp"),
                          "--", "-std=c++20", "-I.", "-Iinclude"] for name in sorted(libraries)])
    if wrong:
        raise Failed("\n".join(wrong))


def check_calls(trees):
    wrong = in_parallel([[sys.executable, "tests/same_calls.py", *trees]])
    if wrong:
        raise Failed("".join(wrong))


def check_budget(presets):
    builds = [str(ROOT / "build" / preset) for preset in presets]
    ended = subprocess.run([sys.executable, str(ROOT / "tests/budget/budget.py"), "check", *builds], text=True,
                           stdout=subprocess.PIPE)
    print(ended.stdout, end="")
    if ended.returncode != 0:
        raise Failed("a figure of tests/budget/budget.json is exceeded; the table above says which")


def check_time(run, mode, unit):
    """In multiples of the time that the file tests/budget/reference.cpp takes on this machine."""
    agreed = budget.figures().get("processor time", {}).get(mode)
    used = sum(spent for _, _, spent in run.steps) / unit
    print(f"processor time: {used:,.0f} times that of tests/budget/reference.cpp ({unit:.2f} s); "
          f"figure: {agreed if agreed else 'none'}")
    if agreed and used > budget.TIME_ROOM * agreed:
        raise Failed(f"processor time is above {budget.TIME_ROOM} times the figure of tests/budget/budget.json")


def main():
    mode = sys.argv[1]
    LOGS.mkdir(parents=True, exist_ok=True)
    run = Run()
    unit = budget.reference_seconds() if mode == "all" else None
    if mode == "all":
        run.step("format", check_format)
        run.step("static analysis of the engines", check_engines)
    if mode == "alone":
        for preset in ("alone", "units"):
            run.step(f"build the preset {preset}", lambda: run.build(preset))
        run.step("calls in units", lambda: check_calls(["build/alone", "build/units"]))
        return run.report()
    run.step("build the preset dev", lambda: run.build("dev"))
    if mode == "units":
        run.step("unit tests", lambda: run.test("dev", "-L", "unit", "-LE", NEVER))
    elif mode == "quick":
        run.step("tests", lambda: run.test("dev", "-LE", f"{NEVER}|full"))
    else:
        run.step("tests", lambda: run.test("dev", "-LE", NEVER))
        for preset, what, selection in (("asan", "tests with sanitizers", ("-L", "unit|sim|interop|fuzz")),
                                        ("tsan", "tests with threads", ("-L", "threads")),
                                        ("package", "tests of the installed package", ("-L", "install"))):
            run.step(f"build the preset {preset}", lambda: run.build(preset))
            run.step(what, lambda: run.test(preset, *selection))
        run.step("budget", lambda: check_budget(("dev", "asan", "tsan", "package")))
        run.step("budget of time", lambda: check_time(run, mode, unit))
    return run.report()


if __name__ == "__main__":
    sys.exit(main())
