#!/usr/bin/env python3
"""Builds each deliberate defect of wireproof/*/mutants.json and checks that the test that it names fails.

  run.py SOURCE_DIR WORK_DIR [NAME | MODULE …]
  run.py --texts SOURCE_DIR

With --texts nothing is built. The program only checks that each mutant can be made: its text is once in its file, its
test belongs to the module whose tests run for it, and no two mutants have the same name.

The mutants of a module are in a file of its folder. They name their files relative to that folder. A mutant of the
verbs device may name a file of tests/interop in `tested_in`. The programs of that file then run on the device.

The sources are copied to WORK_DIR; the tree itself is not changed. There each file of tests is a separate program, and
a defect is built with the program that has its test. A mutant that cannot be made, does not compile or survives is an
error.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK_ENGINES = re.search(r"set\(WIREPROOF_LINK_ENGINES ([^)]*)\)", (ROOT / "CMakeLists.txt").read_text())[1]
# Each has the tests that kill its mutants.
MODULES = ["base", "core", "proto/am", *(f"proto/{engine}" for engine in LINK_ENGINES.split()), "proto/ib",
           "wire/shm", "wire/udp", "wire/sequenced", "host", "front/am", "front/ib", "front/link",
           "front/verbs/hooks", "front/verbs", "report",
           "app/capture", "app/launch", "app/task_pool", "lab", "front/c"]
FOLDERS = [*MODULES[:-2], "wire/memory", "wire/faulty", "sim", "lab", "front/c"]
WITH_OTHERS = ["front/verbs/hooks"]  # the folder above adds it
INTEROP = pathlib.Path(__file__).resolve().parents[1] / "interop"
SECONDS_MAX = 600  # for a test without a defect
HANGS_AFTER = 5  # times as long, and a minute; a mutant that hangs counts as killed

CMAKE = """cmake_minimum_required(VERSION 3.25)
project(mutants LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_EXTENSIONS OFF)
set(WIREPROOF_TESTS ON)
set(WIREPROOF_INSTALL ON)
set(WIREPROOF_LAB ON)
enable_testing()
find_package(GTest REQUIRED)
include(cmake/wireproof_module.cmake)
function(wireproof_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "SOURCES;LIBS" ${ARGN})
  if(NOT TARGET gtest_header)
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/gtest_header.cpp CONTENT "")
    add_library(gtest_header OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/gtest_header.cpp)
    target_link_libraries(gtest_header PRIVATE wireproof_options GTest::gtest_main)
    target_precompile_headers(gtest_header PRIVATE <gtest/gtest.h>)
  endif()
  foreach(source ${ARG_SOURCES})
    get_filename_component(stem ${source} NAME_WE)
    add_executable(${stem}_of_${name} EXCLUDE_FROM_ALL ${source})
    target_link_libraries(${stem}_of_${name} PRIVATE ${ARG_LIBS} wireproof_options GTest::gtest_main)
    target_precompile_headers(${stem}_of_${name} REUSE_FROM gtest_header)
  endforeach()
endfunction()
target_compile_options(wireproof_options INTERFACE -Wno-error)
"""


def copy_if_changed(source, target):
    if not target.exists() or source.read_bytes() != target.read_bytes():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def prepare(root, work):
    for folder in FOLDERS:
        for file in (root / "wireproof" / folder).rglob("*"):
            if file.is_file():
                copy_if_changed(file, work / file.relative_to(root))
    for file in (root / "include/wireproof").iterdir():
        copy_if_changed(file, work / "include/wireproof" / file.name)
    copy_if_changed(root / "cmake/wireproof_module.cmake", work / "cmake/wireproof_module.cmake")
    lists = work / "CMakeLists.txt"
    text = CMAKE + f"set(WIREPROOF_LINK_ENGINES {LINK_ENGINES})\n" + "".join(f"add_subdirectory(wireproof/{folder})\n" for folder in FOLDERS if folder not in WITH_OTHERS)
    if not lists.exists() or lists.read_text() != text:
        lists.write_text(text)
    subprocess.run(
        ["cmake", "-S", work, "-B", work / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug",
         "-DCMAKE_CXX_FLAGS_DEBUG=-O0"],
        check=True, stdout=subprocess.DEVNULL)


def module_of(mutant):
    """Returns the module whose tests are built and run for the mutant: its own, or the one in `tested_in`."""
    return mutant.get("tested_in") or mutant["module"]


def load(root):
    """Returns all mutants, each with its module and the path of its file from the root."""
    found = {path.parent.relative_to(root / "wireproof").as_posix(): json.loads(path.read_text())
             for path in sorted((root / "wireproof").rglob("mutants.json"))}
    unknown = sorted(set(found) - set(MODULES))
    if unknown:
        sys.exit(f"mutants of {', '.join(unknown)}: its tests are not among MODULES")
    return [{**mutant, "module": module, "file": f"wireproof/{module}/{mutant['file']}"}
            for module, mutants in found.items() for mutant in mutants]


def is_interop(module):
    return module.endswith(".py")


def file_of_test(root, mutant):
    """Returns the file of its module that has the test of the mutant; None: there is none."""
    suite, test = (name.split("/") for name in mutant["killed_by"].split("."))
    suite = [part for part in suite if not part.isdigit()][-1]  # without prefix and type
    test = test[0]  # without parameter
    pattern = re.compile(rf"TEST(_F|_P)?\(\s*{suite},\s*{test}\s*\)")
    folder = root / "wireproof" / module_of(mutant)
    for source in folder.rglob("*_test.cpp"):
        owner = next(parent for parent in source.parents if (parent / "CMakeLists.txt").exists())
        if owner == folder and pattern.search(source.read_text()):
            return source
    return None


def program_of(work, mutant):
    module = module_of(mutant)
    if is_interop(module):
        return "wireproof_libibverbs"
    file = file_of_test(work, mutant)
    folder = work / "wireproof" / module
    statistics = re.search(r"\bSTATISTICS\s([^)]*)", (folder / "CMakeLists.txt").read_text())
    named = statistics[1].split() if statistics else []
    kind = "statistics_test" if file.relative_to(folder).as_posix() in named else "test"
    return f"{file.stem}_of_wireproof_{module.replace('/', '_')}_{kind}"


def build(work, mutants):
    programs = sorted({program_of(work, mutant) for mutant in mutants})
    return subprocess.run(["ninja", "-j1", "-C", work / "build", *programs], capture_output=True, text=True)


def run_test(work, mutant, limit=SECONDS_MAX):
    module, test = module_of(mutant), mutant["killed_by"]
    if is_interop(module):
        # The test has its own time limits, and ends its programs.
        done = subprocess.run([sys.executable, INTEROP / module, work / "build/lib/wireproof", test],
                              capture_output=True, text=True)
        return ("pass" if done.returncode == 0 else "fail"), done.stderr
    program = work / "build/wireproof" / module / program_of(work, mutant)
    try:
        done = subprocess.run([program, f"--gtest_filter={test}", "--gtest_brief=1"], capture_output=True, text=True,
                              timeout=limit)
    except subprocess.TimeoutExpired:
        return "timeout", ""
    return ("pass" if done.returncode == 0 else "fail"), done.stdout


def try_mutant(work, mutant, seconds):
    file = work / mutant["file"]
    text = file.read_text()
    if text.count(mutant["find"]) != 1:
        return f"its text stands {text.count(mutant['find'])} times in {mutant['file']}"
    file.write_text(text.replace(mutant["find"], mutant["replace"]))
    try:
        built = build(work, [mutant])
        if built.returncode != 0:
            return "does not compile: " + (built.stdout.strip().splitlines() or ["?"])[-1]
        limit = 60 + HANGS_AFTER * seconds[mutant["killed_by"]]
        outcome, _ = run_test(work, mutant, limit)
        return "" if outcome in ("fail", "timeout") else f"survives {mutant['killed_by']}"
    finally:
        file.write_text(text)


def check_tests(work, mutants):
    """Checks that each name of a test is one test, and that it passes without a defect. Also returns the times."""
    problems = 0
    seconds = {}
    for (module, test), mutant in sorted({(module_of(m), m["killed_by"]): m for m in mutants}.items()):
        began = time.monotonic()
        outcome, output = run_test(work, mutant)
        seconds[test] = time.monotonic() - began
        one = r"(?m)^Ran 1 test in .*\n\nOK$" if is_interop(module) else r"\[  PASSED  \] 1 test"
        if outcome != "pass" or len(re.findall(one, output)) != 1:
            print(f"{test}: not one test that passes without a defect\n{output}")
            problems += 1
    return problems, seconds


def try_all(work, mutants, seconds):
    problems = 0
    for mutant in mutants:
        problem = try_mutant(work, mutant, seconds)
        print(f"{mutant['name']}: {problem or 'killed by ' + mutant['killed_by']}", flush=True)
        problems += bool(problem)
    return problems


def has_test(root, mutant):
    """True if the programs that run for the mutant have its test."""
    if is_interop(module_of(mutant)):
        suite, test = mutant["killed_by"].split(".")
        text = (root / "tests/interop" / module_of(mutant)).read_text()
        return re.search(rf"(?ms)^class {suite}\(((?!^class ).)*def {test}\(self\)", text) is not None
    return file_of_test(root, mutant) is not None


def check_texts(root):
    mutants = load(root)
    problems = [f"{m['name']}: its text stands {count} times in {m['file']}" for m in mutants
                if (count := (root / m["file"]).read_text().count(m["find"])) != 1]
    problems += [f"{m['name']}: {m['killed_by']} is no test of {module_of(m)}" for m in mutants
                 if not has_test(root, m)]
    names = [m["name"] for m in mutants]
    problems += [f"{name}: the name of more than one" for name in sorted(set(names)) if names.count(name) > 1]
    print("\n".join([*problems, f"{len(mutants)} mutants, {len(problems)} problems"]))
    return 1 if problems or not mutants else 0


def main():
    if sys.argv[1] == "--texts":
        return check_texts(pathlib.Path(sys.argv[2]))
    root, work = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    mutants = load(root)
    chosen = set(sys.argv[3:])
    if chosen:
        mutants = [m for m in mutants if chosen & {m["name"], m["module"]}]
        if not mutants:
            sys.exit(f"no mutant or module is named {' or '.join(sorted(chosen))}")
    workers = [work / str(i) for i in range(min(os.cpu_count() or 1, len(mutants), 4))]
    first = workers[0]
    prepare(root, first)
    built = build(first, mutants)
    if built.returncode != 0:
        print(built.stdout)
        return 1
    problems, seconds = check_tests(first, mutants)
    for other in workers[1:]:
        prepare(root, other)
    # Sorted by file, so that a worker builds most files only once.
    mutants.sort(key=lambda m: m["file"])
    with concurrent.futures.ThreadPoolExecutor() as pool:
        shares = [mutants[i :: len(workers)] for i in range(len(workers))]
        problems += sum(pool.map(try_all, workers, shares, [seconds] * len(workers)))
    print(f"{len(mutants)} mutants, {problems} problems")
    return 1 if problems or not mutants else 0


if __name__ == "__main__":
    os.environ.setdefault("NINJA_STATUS", "")
    sys.exit(main())
