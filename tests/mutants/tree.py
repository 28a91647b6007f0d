"""Copies the sources, builds a defect in the copy, and runs the tests that should notice it. The tree itself is not
changed.

The programs are those that the build of the project makes for a module: its library and its unit tests. They are built
without optimisation, because they run once and are built again for each defect.
"""
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import typing

KILLED, HANGS, SURVIVES, NOT_BUILT = "killed", "hangs", "survives", "does not compile"

# A limit only ends a defect that hangs. It is many times what the tests take without a defect.
PROCESSOR_TIMES, PROCESSOR_SECONDS = 5, 10
TIMES, SECONDS = 10, 300
SECONDS_MAX = 3600  # without a defect
MEMORY_MAX = 8 << 30  # bytes; a loop without end may allocate

OPTIONS = ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0", "-DWIREPROOF_WERROR=OFF",
           "-DWIREPROOF_EXAMPLES=OFF", "-DWIREPROOF_PYTHON=OFF", "-DWIREPROOF_TEST_LABELS=unit;statistics",
           "-DCMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE=PRE_TEST"]  # a build runs no program
# A defect in a source compiles one unit of its library, and one in a header compiles all: small ones suit both.
AFTER_PROJECT = """
function(wireproof_small_units)
  get_property(folders DIRECTORY ${PROJECT_SOURCE_DIR} PROPERTY SUBDIRECTORIES)
  while(folders)
    list(POP_FRONT folders folder)
    get_property(inside DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
    list(APPEND folders ${inside})
    get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
    foreach(target ${targets})
      get_target_property(type ${target} TYPE)
      if(type STREQUAL "STATIC_LIBRARY")
        set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE BATCH UNITY_BUILD_BATCH_SIZE 8)
      endif()
    endforeach()
  endwhile()
endfunction()
cmake_language(DEFER CALL wireproof_small_units)
"""
PROGRAM = re.compile(r"^build (wireproof/\S+)/(wireproof_\w+_test)(?: [^:]*)?: CXX_EXECUTABLE_LINKER", re.M)


class Defect(typing.NamedTuple):
    """A text in a file, and what takes its place."""
    file: str  # from the root
    begin: int
    end: int
    replacement: str

    def put_into(self, text):
        return text[:self.begin] + self.replacement + text[self.end:]


class Limit(typing.NamedTuple):
    seconds: float = SECONDS_MAX
    processor_seconds: float = SECONDS_MAX


def files_of(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, text=True)
    if listed.returncode != 0:
        sys.exit(f"{root}: {listed.stderr.strip()}")
    return [name for name in listed.stdout.split("\0") if name and (root / name).is_file()]


def copy_if_changed(source, target):
    if not target.exists() or source.read_bytes() != target.read_bytes():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


class Tree:
    def __init__(self, root, work):
        self.source, self.out = work / "source", work / "build"
        wanted = set(files_of(root))
        for name in wanted:
            copy_if_changed(root / name, self.source / name)
        for path in [path for path in self.source.rglob("*") if path.is_file()]:
            if path.relative_to(self.source).as_posix() not in wanted:
                path.unlink()
        rest = work / "after_project.cmake"
        if not rest.exists() or rest.read_text() != AFTER_PROJECT:
            rest.write_text(AFTER_PROJECT)
        made = subprocess.run(["cmake", "-S", self.source, "-B", self.out, "-G", "Ninja", *OPTIONS,
                               f"-DCMAKE_PROJECT_wireproof_INCLUDE={rest}"], capture_output=True, text=True)
        if made.returncode != 0:
            sys.exit(f"cmake fails in {self.out}\n{made.stdout}{made.stderr}")
        self.programs = {}  # folder -> its test programs
        for folder, program in PROGRAM.findall((self.out / "build.ninja").read_text()):
            self.programs.setdefault(folder, []).append(program)

    def program_for(self, file):
        """Returns the path of the test program to which the file belongs; None: its folders have none."""
        folder = next((str(folder) for folder in pathlib.PurePath(file).parents if str(folder) in self.programs), None)
        if folder is None:
            return None
        statistics = file.endswith("_statistics_test.cpp")
        return next((f"{folder}/{program}" for program in self.programs[folder]
                     if program.endswith("_statistics_test") == statistics), None)

    def build(self, targets, jobs=1):
        return subprocess.run(["ninja", f"-j{jobs}", "-C", self.out, *targets], capture_output=True, text=True,
                              env={**os.environ, "NINJA_STATUS": ""})

    def run(self, program, limit, *options):
        """Returns how the program ends, and its output."""
        return run(["./" + pathlib.PurePath(program).name, "--gtest_brief=1", *options],
                   self.out / pathlib.PurePath(program).parent, limit)

    def judge(self, defect, targets, tests):
        """Builds the targets with the defect. `tests` then runs them, and returns how they end."""
        file = self.source / defect.file
        text = file.read_text()
        file.write_text(defect.put_into(text))
        try:
            return NOT_BUILT if self.build(targets).returncode != 0 else tests(self)
        finally:
            file.write_text(text)


def run(command, folder, limit):
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", process_group=0) as process:
        seconds = int(limit.processor_seconds) + 1
        for kind, most in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_DATA, MEMORY_MAX),
                           (resource.RLIMIT_CORE, 0)):
            resource.prlimit(process.pid, kind, (most, resource.prlimit(process.pid, kind)[1]))
        try:
            output, _ = process.communicate(timeout=limit.seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            return HANGS, output
    return {0: SURVIVES, -signal.SIGXCPU: HANGS}.get(process.returncode, KILLED), output


def limit_of(work):
    """Does the work, and returns what it returns and the limit for the same work with a defect."""
    def spent():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.monotonic(), used.ru_utime + used.ru_stime

    before = spent()
    result = work()
    wall, processor = (after - begun for begun, after in zip(before, spent()))
    return result, Limit(SECONDS + TIMES * wall, PROCESSOR_SECONDS + PROCESSOR_TIMES * processor)
