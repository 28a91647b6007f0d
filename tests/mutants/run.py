#!/usr/bin/env python3
"""Puts deliberate defects into a copy of the sources, one at a time, and checks that a unit test fails.

  run.py [NAME | MODULE …]          the defects of listed.json: the test that each names must fail
  run.py --changed [BASE [PATH …]]  defects of the lines that changed since BASE, a revision of git
  run.py --all-lines [PATH …]       defects of all lines of the engines, or of the files and folders
  run.py --texts                    builds nothing: checks that what listed.json and equivalents.json name is there

Without BASE, the lines are those since the branch left main, or on main those of the last commit and after it. The
operators (operators.py) delete a statement, negate a condition, add or subtract one, take another relation, return
early, swap neighbouring arguments, and drop a `!`. For each defect the unit tests of its module run, and
tests/fingerprints_test.py, which reads the sources. A defect that hangs is killed. One that does not compile is counted
apart. If one survives, the program names it and fails: write a test, or list the defect in equivalents.json with the
reason why no test can notice it.

  --draw K    only K lines, drawn by chance, and one defect of each
  --seed N    draws the same ones again
  --show      prints the defects and builds nothing
  --jobs N    so many defects at once, each in a copy of its own
  --work DIR  the folder of the copies; else build/mutants
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import queue
import random
import re
import subprocess
import sys
import typing

import operators
import tree
from tree import HANGS, KILLED, NOT_BUILT, SURVIVES

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = "tests/mutants"
ENGINES = ["wireproof/core", "wireproof/proto"]
SOURCE_TEST = "tests/fingerprints_test.py"
TEST = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", re.M)
HUNK = re.compile(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@")


class Mutant(typing.NamedTuple):
    name: str
    defect: tree.Defect
    test: str = ""  # none: all unit tests of the module
    lines: range = range(0)
    was: str = ""
    becomes: str = ""

    def __str__(self):
        return "\n".join([self.name, *(f"  - {line}" for line in self.was.splitlines()),
                          *(f"  + {line}" for line in self.becomes.splitlines())])


# The defects of listed.json.

def read_list(root, name):
    file = root / HERE / name
    try:
        return json.loads(file.read_text())
    except ValueError as error:
        sys.exit(f"{file}: {error}")


def listed(root, chosen):
    found, tests = [], tests_of(root)
    for one in read_list(root, "listed.json"):
        if not one["file"].startswith("wireproof/"):
            continue  # tests/python and tests/interop run those of Python and of the Wireshark plugin
        module = str(pathlib.PurePath(one["file"]).parent).removeprefix("wireproof/")
        if chosen and not any(name in (one["name"], module) or module.startswith(name + "/") for name in chosen):
            continue
        text = (root / one["file"]).read_text()
        begin = text.find(one["find"])
        if begin < 0:
            sys.exit(f"{one['name']}: its text is not in {one['file']}")
        if plain(one["killed_by"]) not in tests:
            sys.exit(f"{one['name']}: there is no test {one['killed_by']}")
        line = text.count("\n", 0, begin) + 1
        found.append(Mutant(one["name"], tree.Defect(one["file"], begin, begin + len(one["find"]), one["replace"]),
                            one["killed_by"], range(line, line + 1)))
    if not found:
        sys.exit(f"no defect or module is named {' or '.join(chosen)}")
    return found


def tests_of(root):
    """Returns the file of each test of GoogleTest."""
    return {f"{suite}.{name}": file.relative_to(root).as_posix()
            for file in sorted((root / "wireproof").rglob("*_test.cpp"))
            for suite, name in TEST.findall(file.read_text())}


def plain(test):
    """The name as the source has it: without prefix, type and parameter."""
    suite, name = test.split(".")
    return f"{[part for part in suite.split('/') if not part.isdigit()][-1]}.{name.split('/')[0]}"


def has_test(root, tests, one):
    named = one["killed_by"]
    if one["file"].startswith("wireproof/"):
        return plain(named) in tests
    if one["file"].startswith("python/"):
        file, name = named.split("::")
        return re.search(rf"(?m)^(async )?def {name}\(", (root / "tests/python" / file).read_text()) is not None
    file, suite, name = named.split(".")
    return re.search(rf"(?ms)^class {suite}\(((?!^class ).)*def {name}\(self\)",
                     (root / f"tests/interop/{file}.py").read_text()) is not None


def one_line(text):
    return " ".join(text.split())


def check_texts(root):
    mutants, equivalents = read_list(root, "listed.json"), read_list(root, "equivalents.json")
    tests = tests_of(root)
    problems = [f"{m['name']}: its text stands {count} times in {m['file']}" for m in mutants
                if (count := (root / m["file"]).read_text().count(m["find"])) != 1]
    problems += [f"{m['name']}: there is no test {m['killed_by']}" for m in mutants if not has_test(root, tests, m)]
    names = [m["name"] for m in mutants]
    problems += [f"{name}: the name of more than one" for name in sorted(set(names)) if names.count(name) > 1]
    problems += [f"{e['file']} has no line {e['line']}" for e in equivalents
                 if e["line"] not in one_line((root / e["file"]).read_text()) or not e["why"]]
    for name, entries in (("listed.json", mutants), ("equivalents.json", equivalents)):
        text = "[\n" + ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries) + "\n]\n"
        if (root / HERE / name).read_text() != text:
            problems.append(f"{name} does not have one object in each line")
    print("\n".join([*problems, f"{len(mutants)} defects, {len(problems)} problems"]))
    return 1 if problems or not mutants else 0


# The defects of lines.

def git(root, *words):
    done = subprocess.run(["git", "-C", root, *words], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def base_of(root, named):
    if named:
        if git(root, "rev-parse", "--verify", "--quiet", f"{named}^{{commit}}") is None:
            sys.exit(f"{named} is no revision of git")
        return named
    for main in ("main", "origin/main"):
        base = git(root, "merge-base", main, "HEAD")
        if base is not None:
            return "HEAD~1" if base == git(root, "rev-parse", "HEAD") else base.strip()
    sys.exit("there is no branch main: name the revision since which lines changed")


def is_mutated(file):
    path = pathlib.PurePath(file)
    return path.parts[0] == "wireproof" and path.suffix in (".cpp", ".hpp") and \
        not path.stem.endswith(("_test", "_test_kit"))


def changed_lines(root, base, paths):
    """Returns the numbers of the changed lines of each file."""
    found = collections.defaultdict(set)
    file = None
    changes = git(root, "diff", "-U0", "--no-ext-diff", "--no-renames", "--no-color", base, "--", *paths)
    for line in changes.splitlines():
        if line.startswith("+++ "):
            file = line.removeprefix("+++ b/")
        elif hunk := HUNK.match(line):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            found[file].update(range(first, first + count))
    for file in git(root, "ls-files", "--others", "--exclude-standard", "--", *paths).splitlines():
        found[file].update(range(1, (root / file).read_text().count("\n") + 1))
    return {file: lines for file, lines in found.items() if is_mutated(file) and lines}


def all_lines(root, paths):
    for path in paths:
        if not (root / path).exists():
            sys.exit(f"{path}: there is no such file or folder")
    return {file: range(1, (root / file).read_text().count("\n") + 1)
            for file in sorted(git(root, "ls-files", "--", *paths).splitlines()) if is_mutated(file)}


def mutants_of(root, lines_of_files):
    for file, lines in sorted(lines_of_files.items()):
        text = (root / file).read_text()
        for found in operators.defects_of(text):
            first, last = (text.count("\n", 0, at) + 1 for at in (found.begin, max(found.begin, found.end - 1)))
            if not any(line in lines for line in range(first, last + 1)):
                continue
            begin = text.rfind("\n", 0, found.begin) + 1
            end = text.find("\n", max(found.begin, found.end - 1))
            defect = tree.Defect(file, found.begin, found.end, found.replacement)
            becomes = text[begin:found.begin] + found.replacement + text[found.end:end]
            name = f"{file}:{first}: {found.operator}"
            yield Mutant(name, defect, "", range(first, last + 1), text[begin:end], becomes)


def draw(mutants, count, seed):
    """Draws lines, and one defect of each: else a line with many numbers would be drawn more often than others."""
    of_line = collections.defaultdict(list)
    for mutant in mutants:
        of_line[mutant.defect.file, mutant.lines.start].append(mutant)
    dice = random.Random(seed)
    chosen = dice.sample(sorted(of_line), min(count, len(of_line)))
    return [dice.choice(of_line[line]) for line in sorted(chosen)]


def without_equivalents(root, mutants):
    listed_ones = {(e["file"], e["line"], e["becomes"]) for e in read_list(root, "equivalents.json")}
    return [m for m in mutants if (m.defect.file, one_line(m.was), one_line(m.becomes)) not in listed_ones]


# Both kinds.

class Trial:
    """The programs that run for each mutant, and their limits."""

    def __init__(self, root, work, jobs):
        self.root, self.work, self.jobs = root, work, jobs
        self.first = tree.Tree(root, work / "0")
        self.limits = {}
        self.files = tests_of(root)

    def program_of(self, mutant):
        return self.first.program_for(self.files.get(plain(mutant.test), "") if mutant.test else mutant.defect.file)

    def options(self, mutant):
        return [f"--gtest_filter={mutant.test}"] if mutant.test else ["--gtest_fail_fast"]

    def check(self, mutants):
        """Builds and runs the tests without a defect. Returns how many do not pass."""
        built = self.first.build(sorted({pathlib.PurePath(self.program_of(m)).name for m in mutants}), self.jobs)
        if built.returncode != 0:
            sys.exit(f"the tests do not build without a defect\n{built.stdout}")
        problems = 0
        for program, test in sorted({(self.program_of(m), m.test) for m in mutants}):
            options = [f"--gtest_filter={test}"] if test else []
            (outcome, output), limit = tree.limit_of(lambda: self.first.run(program, tree.Limit(), *options))
            self.limits[program, test] = limit
            if outcome != SURVIVES or (test and "[  PASSED  ] 1 test" not in output):
                print(f"{test or program}: {'not one test that passes' if test else 'fails'} without a defect")
                print(output)
                problems += 1
        return problems

    def judge(self, copy, mutant):
        program = self.program_of(mutant)

        def tests(copy):
            outcome, _ = copy.run(program, self.limits[program, mutant.test], *self.options(mutant))
            if outcome != SURVIVES or mutant.test or not (copy.source / SOURCE_TEST).exists():
                return outcome
            return tree.run([sys.executable, SOURCE_TEST, "."], copy.source, tree.Limit())[0]

        return copy.judge(mutant.defect, [pathlib.PurePath(program).name], tests)

    def run(self, mutants):
        """Returns the outcome of each mutant, in their order. Those of a file follow each other, so that most units are
        built once for each."""
        waiting, outcomes = queue.SimpleQueue(), {}
        for at in sorted(range(len(mutants)), key=lambda at: mutants[at].defect):
            waiting.put(at)

        def work_off(number):
            copy = self.first if number == 0 else tree.Tree(self.root, self.work / str(number))
            while not waiting.empty():
                try:
                    at = waiting.get_nowait()
                except queue.Empty:
                    return
                outcomes[at] = self.judge(copy, mutants[at])
                if sys.stderr.isatty():
                    print(f"\r{len(outcomes)} of {len(mutants)}", end="", file=sys.stderr, flush=True)

        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for done in [pool.submit(work_off, number) for number in range(min(self.jobs, len(mutants)))]:
                done.result()
        if sys.stderr.isatty():
            print("\r", end="", file=sys.stderr)
        return [outcomes[at] for at in range(len(mutants))]


def try_all(root, work, jobs, mutants):
    trial = Trial(root, work, jobs)
    untested = sorted({m.defect.file for m in mutants if trial.program_of(m) is None})
    for file in untested:
        count = sum(m.defect.file == file for m in mutants)
        print(f"not tried: {count} defect{'s' * (count != 1)} of {file}, whose folder has no unit tests")
    mutants = [m for m in mutants if trial.program_of(m) is not None]
    if not mutants:
        return 0
    if trial.check(mutants):
        return 1
    outcomes = trial.run(mutants)
    counts = collections.Counter(outcomes)
    bad = {SURVIVES} | {NOT_BUILT for m in mutants if m.test}
    for mutant, outcome in zip(mutants, outcomes):
        if outcome in bad:
            print(f"{outcome}: {mutant}" + (f": {mutant.test} passes" if outcome == SURVIVES and mutant.test else ""))
    print(f"{len(mutants)} defects: {counts[KILLED]} killed, {counts[HANGS]} hang, {counts[NOT_BUILT]} do not compile, "
          f"{counts[SURVIVES]} survive")
    return 1 if any(outcome in bad for outcome in outcomes) else 0


def main(arguments, root=ROOT):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--changed", nargs="?", const="", metavar="BASE", help=argparse.SUPPRESS)
    for option in ("--all-lines", "--texts"):
        which.add_argument(option, action="store_true", help=argparse.SUPPRESS)
    for option, default in (("--draw", None), ("--seed", None), ("--jobs", os.cpu_count() or 1)):
        parser.add_argument(option, type=int, default=default, help=argparse.SUPPRESS)
    parser.add_argument("--show", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--work", type=pathlib.Path, default=root / "build/mutants", help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.jobs < 1 or (chosen.draw is not None and chosen.draw < 1):
        parser.error("--jobs and --draw take a number from 1")
    if chosen.texts:
        return check_texts(root)
    if chosen.changed is None and not chosen.all_lines:
        mutants = listed(root, chosen.names)
    else:
        lines = all_lines(root, chosen.names or ENGINES) if chosen.all_lines else \
            changed_lines(root, base_of(root, chosen.changed), chosen.names or ["wireproof"])
        mutants = list(mutants_of(root, lines))
        print(f"{len(mutants)} defects of {sum(map(len, lines.values()))} lines")
    if chosen.draw is not None:
        seed = random.SystemRandom().randrange(1 << 32) if chosen.seed is None else chosen.seed
        mutants = draw(mutants, chosen.draw, seed)
        print(f"{len(mutants)} drawn with --seed {seed}")
    mutants, drawn = without_equivalents(root, mutants), len(mutants)
    if drawn > len(mutants):
        print(f"not tried: {drawn - len(mutants)} listed as equivalent")
    if chosen.show:
        print("\n".join(map(str, mutants)))
        return 0
    return try_all(root, chosen.work.resolve(), min(chosen.jobs, 4), mutants) if mutants else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
