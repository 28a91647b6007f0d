"""Installs the build tree into its own folder and uses the installed files as a user would. CMake
passes what to install, and how it was built, in the environment."""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

CMAKE, COMPILER, GENERATOR, BUILD, SOURCE = (
    os.environ["WIREPROOF_" + name]
    for name in ("CMAKE", "COMPILER", "GENERATOR", "BUILD", "SOURCE"))
C_COMPILER = shutil.which("cc") or "gcc"
C99 = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
BUILD_TYPE = os.environ.get("WIREPROOF_BUILD_TYPE", "")
# If the archive uses a sanitizer, the program must use it, too.
FLAGS = os.environ.get("WIREPROOF_FLAGS", "")
EXAMPLES = sorted(file[:-4] for file in os.listdir(os.path.join(SOURCE, "examples")) if file.endswith(".cpp"))
C_API, C_API_CTYPES = (os.path.join(SOURCE, "examples", name) for name in ("c_api.c", "c_api_ctypes.py"))
HELLO, LINK_RETRY = (os.path.join(SOURCE, "examples", name + ".cpp") for name in ("hello_am", "link_retry"))
CONSUMER = os.path.join(SOURCE, "tests", "install", "consumer")
REPEATS = os.path.join(CONSUMER, "repeats.cpp")
ENDPOINTS = os.path.join(CONSUMER, "endpoints.c")
HEADERS = os.path.join(SOURCE, "include")
with open(os.path.join(HEADERS, "wireproof", "version.h"), encoding="utf-8") as header:
    VERSION = ".".join(re.findall(r"^#define WIREPROOF_VERSION_\w+ (\d+)$", header.read(), re.M))
MINOR = VERSION.rpartition(".")[0]


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="install-test-", dir=BUILD)
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.prefix = os.path.join(cls.folder, "prefix")
        run(CMAKE, "--install", BUILD, "--prefix", cls.prefix)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def files(self, folder):
        return sorted(os.path.relpath(os.path.join(where, name), folder)
                      for where, _, names in os.walk(folder) for name in names)

    def find(self, name):
        found = [f for f in self.files(self.prefix) if os.path.basename(f) == name]
        self.assertEqual(len(found), 1, f"{name}: {found}")
        return os.path.join(self.prefix, found[0])

    def expect_hello(self, program, env=None):
        """Five answers arrive, although one frame in ten is lost."""
        squares = "".join(f"{n} squared is {n * n}\n" for n in range(1, 6))
        self.assertEqual(run(program, env=env), squares)

    def expect_c_api(self, *command, env=None, stored="stored: bytes from node 0\n"):
        squares = "".join(f"{n} squared is {n * n}\n" for n in range(1, 6))
        self.assertRegex(run(*command, env=env),
                         f"^{squares}{stored}pcie ETR 9[23]\\.\\d %, by the closed form 92\\.8 %\n$")

    def expect_link_retry(self, program, env=None):
        """The library contains the laboratory, too: the program simulates points and draws a ladder."""
        out = run(program, env=env)
        self.assertRegex(out, r"^pcie      ETR 9[23]\.\d %, by the closed form 92\.8 %\n"
                              r"hippi6400 ETR 78\.\d %, by the closed form 78\.7 %\n\n")
        self.assertIn("==== TLP 1 ====", out)


class AStrangersProjectFindsBuildsAndRunsIt(Installed):
    def build(self, prefix, name, *more, programs=(HELLO, LINK_RETRY)):
        """Builds the programs and returns their folder."""
        run(CMAKE, "-S", CONSUMER, "-B", self.path(name), "-G", GENERATOR, "-DWANTED=" + MINOR,
            f"-DCMAKE_CXX_COMPILER={COMPILER}", f"-DCMAKE_BUILD_TYPE={BUILD_TYPE}",
            f"-DCMAKE_CXX_FLAGS={FLAGS}", f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DPROGRAMS={';'.join(programs)}", *more)
        run(CMAKE, "--build", self.path(name))
        return self.path(name)

    def test_as_a_shared_library_if_it_asks_for_those(self):
        folder = self.build(self.prefix, "build-shared", "-DBUILD_SHARED_LIBS=ON")
        self.assertIn("libwireproof.so", run("readelf", "-d", os.path.join(folder, "hello_am")))
        self.expect_both(folder)

    def test_where_it_was_installed_and_where_it_was_moved_to(self):
        self.expect_both(self.build(self.prefix, "build"))
        moved = self.path("moved")
        os.rename(self.prefix, moved)
        self.addCleanup(os.rename, moved, self.prefix)
        self.expect_hello(os.path.join(self.build(moved, "build-moved", programs=[HELLO]), "hello_am"))

    def test_every_example(self):
        """Builds and runs all examples except the two that are tested above."""
        names = [name for name in EXAMPLES if name not in ("hello_am", "link_retry")]
        if not os.path.exists("/usr/include/asio.hpp"):
            names.remove("event_loop_asio")
        folder = self.build(self.prefix, "build-examples",
                            programs=[os.path.join(SOURCE, "examples", name + ".cpp") for name in names])
        # A job of one process, for hello_job.
        job = {**os.environ, "WIREPROOF_PEERS": "127.0.0.1:7484", "WIREPROOF_RANK": "0"}
        said = {name: run(os.path.join(folder, name), env=job) for name in names}
        self.assertEqual(said["key_value"], "one is 1st\ntwo is second\nthree is nothing\n")
        self.assertIn("WRITTEN FROM AFAR", said["remote_write"])
        for name in ("event_loop", "event_loop_asio"):
            if name in said:
                self.assertIn("answer 31\n", said[name])

    def test_a_project_that_is_only_in_c(self):
        for library in ("shared", "static"):
            with self.subTest(library=library):
                folder = self.path("build-c-" + library)
                run(CMAKE, "-S", os.path.join(CONSUMER, "in_c"), "-B", folder, "-G", GENERATOR, "-DWANTED=" + MINOR,
                    f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DPROGRAMS={C_API}", f"-DLIBRARY=wireproof::{library}")
                run(CMAKE, "--build", folder)
                self.expect_c_api(os.path.join(folder, "c_api"))

    def expect_both(self, folder):
        self.expect_hello(os.path.join(folder, "hello_am"))
        self.expect_link_retry(os.path.join(folder, "link_retry"))


class PkgConfigFindsIt(Installed):
    def setUp(self):
        if not shutil.which("pkg-config"):
            self.skipTest("pkg-config is not on this machine")
        self.environment = {**os.environ,
                            "PKG_CONFIG_PATH": os.path.dirname(self.find("wireproof.pc"))}

    def build(self, package):
        answer = run("pkg-config", "--cflags", "--libs", package, env=self.environment)
        for source, program in ((HELLO, "hello"), (LINK_RETRY, "link_retry")):
            run(COMPILER, "-std=c++20", *shlex.split(FLAGS), source, "-o", self.path(program),
                *shlex.split(answer))

    def test_and_its_answer_compiles_links_and_runs(self):
        version = run("pkg-config", "--modversion", "wireproof", env=self.environment)
        self.assertEqual(version, VERSION + "\n")
        self.build("wireproof")
        where = {**os.environ, "LD_LIBRARY_PATH": os.path.dirname(self.find("libwireproof.so"))}
        self.expect_hello(self.path("hello"), where)
        self.expect_link_retry(self.path("link_retry"), where)

    def test_in_c99_without_a_warning(self):
        where = {**os.environ, "LD_LIBRARY_PATH": os.path.dirname(self.find("libwireproof.so"))}
        for package in ("wireproof", "wireproof-static"):
            answer = shlex.split(run("pkg-config", "--cflags", "--libs", package, env=self.environment))
            for source, program in ((ENDPOINTS, "endpoints"), (C_API, "c_api")):
                with self.subTest(package=package, program=program):
                    run(C_COMPILER, *C99, *shlex.split(FLAGS), source, "-o", self.path(program), *answer)
                    if program == "c_api":
                        self.expect_c_api(self.path(program), env=where)
                    else:
                        self.assertEqual(run(self.path(program), env=where), "each call has its result\n")

    def test_a_program_in_c_asks_for_the_versions_of_its_functions(self):
        answer = shlex.split(run("pkg-config", "--cflags", "--libs", "wireproof", env=self.environment))
        run(C_COMPILER, *C99, *shlex.split(FLAGS), C_API, "-o", self.path("c_api"), *answer)
        asked = [line.split()[-1] for line in run("nm", "-D", self.path("c_api")).splitlines() if "wireproof_" in line]
        self.assertIn("wireproof_endpoint_open@WIREPROOF_0", asked)
        self.assertEqual([name for name in asked if not name.endswith("@WIREPROOF_0")], [])
        self.assertIn("[libwireproof.so.0]", run("readelf", "-d", self.path("c_api")))

    def test_python_needs_no_compiler(self):
        if "-fsanitize=" in FLAGS:
            self.skipTest("Python cannot load a library with sanitizers")
        self.expect_c_api(sys.executable, C_API_CTYPES, self.find("libwireproof.so"), stored="")

    def test_the_archive_too(self):
        self.build("wireproof-static")
        self.expect_hello(self.path("hello"))
        self.expect_link_retry(self.path("link_retry"))


class ItsArchiveGoesIntoAnything(Installed):
    """Links the archive into programs of different optimisation and of both compilers, and into shared objects."""
    LEVELS = ("-O0", "-O3", "-O2 -fno-strict-aliasing")
    LEVELS_WHEN_LINKED = ("-O2",)

    def expect_repeats(self, compiler, flags):
        """Repeated packets work, and more Reads than the device remembers."""
        run(compiler, "-std=c++20", *flags.split(), *shlex.split(FLAGS),
            "-I" + os.path.join(self.prefix, "include"), REPEATS, "-o", self.path("repeats"),
            self.find("libwireproof.a"))
        self.assertEqual(run(self.path("repeats")), "a repeated message and 40 reads\n")

    def test_no_object_carries_link_time_code(self):
        sections = run("readelf", "-S", "-W", self.find("libwireproof.a"))
        self.assertIn(".text", sections)
        self.assertNotIn(".gnu.lto", sections)

    def test_programs_of_this_compiler(self):
        for level in self.LEVELS:
            with self.subTest(level=level):
                self.expect_repeats(COMPILER, level)

    def test_programs_of_clang(self):
        clang = shutil.which("clang++-14") or shutil.which("clang++")
        if not clang:
            self.skipTest("clang is not on this machine")
        for level in self.LEVELS:
            with self.subTest(level=level):
                self.expect_repeats(clang, level)

    def test_programs_optimised_when_linked(self):
        for level in self.LEVELS_WHEN_LINKED:
            with self.subTest(level=level):
                self.expect_repeats(COMPILER, level + " -flto=auto")

    def test_a_shared_object(self):
        run(COMPILER, "-std=c++20", "-O2", "-fPIC", "-shared", "-Wl,-z,defs", "-Wl,-z,text",
            "-I" + os.path.join(self.prefix, "include"), os.path.join(CONSUMER, "plugin.cpp"),
            "-o", self.path("plugin.so"), self.find("libwireproof.a"))
        run(sys.executable, "-c", "import ctypes, sys\n"
            "sys.exit(ctypes.CDLL(sys.argv[1]).refuses_nowhere() != 1)", self.path("plugin.so"))

    def test_it_is_a_few_megabytes_where_it_carries_nothing_for_a_debugger(self):
        limit = 8_000_000 if BUILD_TYPE == "Release" else 100_000_000
        self.assertLess(os.path.getsize(self.find("libwireproof.a")), limit)


class ItsArchiveGoesIntoEachLevel(ItsArchiveGoesIntoAnything):
    """The levels that the class above leaves out."""
    LEVELS = ("-O1", "-Og", "-O2")
    LEVELS_WHEN_LINKED = ("-O0", "-O1")


class OnlyWhatIsPublicIsInstalled(Installed):
    SHOWN = re.compile(r"wireproof::(am|ib|lab)::|wireproof_[a-z]|WIREPROOF_(0|CXX_[\d.]+)$")

    def test_headers_are_the_public_ones(self):
        self.assertEqual(self.files(os.path.join(self.prefix, "include")), self.files(HEADERS))

    def test_there_is_one_library_of_each_kind(self):
        libraries = [os.path.basename(f) for f in self.files(self.prefix)
                     if "libwireproof" in f and "/wireproof/" not in f]
        self.assertEqual(libraries, ["libwireproof.a", "libwireproof.so", "libwireproof.so.0",
                                     f"libwireproof.so.{VERSION}"])

    def test_each_belongs_to_a_component(self):
        found = {}
        for component in ("runtime", "development", "wireshark", "python"):
            prefix = self.path(component)
            run(CMAKE, "--install", BUILD, "--prefix", prefix, "--component", component)
            found[component] = self.files(prefix)
        self.assertEqual(sorted(sum(found.values(), [])), self.files(self.prefix))
        plugin = os.path.join(SOURCE, "tools", "wireshark", "wireproof")
        self.assertEqual([os.path.basename(file) for file in found["wireshark"]], self.files(plugin))
        for file in found["wireshark"]:
            self.assertRegex(file, r"^lib.*/wireshark/plugins/wireproof/\w+\.lua$")
        for file in found["python"]:
            self.assertRegex(file, r"^lib/python3.*/dist-packages/wireproof/(\w+\.pyi?|py\.typed|_wireproof\..*\.so)$")
        for file in found["runtime"]:
            self.assertRegex(file, r"^bin/wireproof$|/libwireproof\.so\.0(\.\d+\.\d+)?$"
                                   r"|/wireproof/libibverbs\.so\.1(\.14)?$"
                                   r"|/wireproof/libwireproof-(hooks|verbs-preload)\.so$"
                                   r"|^share/man/man1/wireproof(-\w+)?\.1$"
                                   r"|^share/bash-completion/completions/wireproof$"
                                   r"|^share/zsh/site-functions/_wireproof$"
                                   r"|^share/fish/vendor_completions\.d/wireproof\.fish$"
                                   r"|^share/doc/wireproof/(start|guide|reference|rules|pictures|sweeps)/"
                                   r"|^share/wireproof/schemas/(README\.md|[a-z0-9.]+-\d\.json)$")

    def test_the_command_brings_manual_pages_completions_and_the_pages_for_users(self):
        found = [f for f in self.files(self.prefix) if f.startswith("share/")]
        if os.environ.get("WIREPROOF_CLI") == "OFF":
            self.assertEqual(found, [])
            return
        pages = [f for f in found if f.startswith("share/man/man1/")]
        self.assertIn("share/man/man1/wireproof.1", pages)
        self.assertIn("share/man/man1/wireproof-sweep.1", pages)
        schemas = [f for f in found if f.startswith("share/wireproof/schemas/")]
        self.assertIn("share/wireproof/schemas/sweep-1.json", schemas)
        documents = [f for f in found if f.startswith("share/doc/wireproof/")]
        self.assertEqual([f.removeprefix("share/doc/wireproof/") for f in documents],
                         [f for f in self.files(os.path.join(SOURCE, "docs"))
                          if not f.startswith(("developers/", "site/"))])
        self.assertEqual(sorted(set(found) - set(pages) - set(schemas) - set(documents)),
                         ["share/bash-completion/completions/wireproof",
                          "share/fish/vendor_completions.d/wireproof.fish",
                          "share/zsh/site-functions/_wireproof"])

    def test_what_programs_load_for_verbs_is_where_only_who_asks_finds_it(self):
        for file in self.files(self.prefix):
            if re.search(r"libibverbs|-verbs-preload", file):
                self.assertRegex(file, r"/wireproof/lib")
                shown = run("nm", "-D", "--defined-only", os.path.join(self.prefix, file)).split("\n")
                self.assertEqual([line for line in shown if line and "IBVERBS_" not in line
                                  and "WIREPROOF_1.0" not in line], [])

    def test_the_libraries_show_nothing_else(self):
        """Programs cannot link with functions that are not marked for users. Templates of the standard
        library may be visible."""
        for name, option in (("libwireproof.so", "-D"), ("libwireproof.a", "-g")):
            symbols = [line.split(None, 2)[1:] for line in run(
                "nm", option, "-C", "--defined-only", self.find(name)).splitlines()
                if re.match(r"[0-9a-f]+ ", line)]
            strong = [what for kind, what in symbols if kind not in "WVu"]
            with self.subTest(library=name):
                self.assertTrue(any("Endpoint::open" in what for what in strong))
                self.assertEqual([what for what in strong if not self.SHOWN.match(what)
                                  or "::Inside::" in what], [])
                self.assertEqual([what for _, what in symbols if "toml::" in what], [])

    def test_programs_ask_for_this_version_of_it(self):
        self.assertIn("[libwireproof.so.0]", run("readelf", "-d", self.find("libwireproof.so")))

    def test_each_function_of_the_header_for_c_has_its_version_and_no_other_does(self):
        declared = set()
        for header in ("wireproof.h", "lab.h"):
            with open(os.path.join(HEADERS, "wireproof", header), encoding="utf-8") as text:
                declared |= set(re.findall(r"WIREPROOF_C_EXPORT [^;(]*?(wireproof_\w+)\(", text.read()))
        self.assertGreater(len(declared), 40)
        shown = [line.split()[-1].split("@@") for line in run(
            "nm", "-D", "--defined-only", self.find("libwireproof.so")).splitlines() if " A " not in line]
        self.assertEqual({name for name, version in shown if version == "WIREPROOF_0"}, declared)
        self.assertEqual({version for _, version in shown}, {"WIREPROOF_0", "WIREPROOF_CXX_" + MINOR})
        self.assertEqual([name for name, version in shown
                          if version != "WIREPROOF_0" and not re.match(r"_ZNK?9wireproof", name)], [])

    def test_the_command_is_there_and_runs_where_it_was_built(self):
        if os.environ.get("WIREPROOF_CLI") == "OFF":
            self.assertEqual([f for f in self.files(self.prefix) if f.startswith("bin/")], [])
            return
        self.assertRegex(run(os.path.join(self.prefix, "bin", "wireproof"), "--version"), rf"^wireproof {re.escape(VERSION)}\n$")


class ItsSourceIsAPartOfAnotherProject(unittest.TestCase):
    """This test only configures the project. Other tests show that the code compiles."""
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="install-test-", dir=BUILD)
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def configure(self, source, *more):
        return subprocess.run(
            [CMAKE, "-S", source, "-B", self.folder, "-G", GENERATOR,
             f"-DCMAKE_CXX_COMPILER={COMPILER}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *more],
            capture_output=True, text=True, timeout=600, check=False)

    def commands(self):
        """Those of the compiler, with the names of the files of each unit."""
        with open(os.path.join(self.folder, "compile_commands.json"), encoding="utf-8") as file:
            commands = file.read()
        for unit in sorted({one["file"] for one in json.loads(commands) if "/Unity/" in one["file"]}):
            with open(unit, encoding="utf-8") as file:
                commands += file.read()
        return commands

    # CMake finds no package that the library itself does not need.
    WITHOUT = "-DCMAKE_IGNORE_PATH=/usr/include;/usr/share/javascript/dygraphs"

    def test_and_brings_the_library_alone_without_its_rules_of_warnings(self):
        done = self.configure(CONSUMER, f"-DADDED={SOURCE}", f"-DPROGRAMS={HELLO}", self.WITHOUT)
        self.assertEqual(done.returncode, 0, done.stderr)
        commands = self.commands()
        self.assertIn("front/am/endpoint.cpp", commands)
        for left_out in ("-Werror", "_test.cpp", "wireproof/cli/", "wireproof/app/", "wireproof/lab/", "link_retry"):
            self.assertNotIn(left_out, commands)

    def test_or_it_is_built_without_the_laboratory(self):
        done = self.configure(SOURCE, "-DWIREPROOF_TESTS=OFF", "-DWIREPROOF_LAB=OFF", self.WITHOUT)
        self.assertEqual(done.returncode, 0, done.stderr)
        commands = self.commands()
        self.assertIn("-Werror", commands)
        for left_out in ("wireproof/cli/", "wireproof/app/", "wireproof/lab/", "link_retry"):
            self.assertNotIn(left_out, commands)

    def test_the_laboratory_says_what_it_misses(self):
        for path, missing in (("/usr/include", "TOMLPLUSPLUS"), ("/usr/share/javascript/dygraphs", "libjs-dygraphs")):
            with self.subTest(path):
                done = self.configure(SOURCE, "--fresh", "-DWIREPROOF_TESTS=OFF", f"-DCMAKE_IGNORE_PATH={path}")
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(missing, done.stderr)


class EveryPublicHeaderCompilesAlone(Installed):
    def test_as_cpp20_and_all_together_as_cpp23_without_a_warning(self):
        include = os.path.join(self.prefix, "include")
        for header in self.files(include):
            if header.endswith(".h"):
                with self.subTest(header=header, standard="c99"):
                    with open(self.path("alone.c"), "w", encoding="ascii") as source:
                        source.write(f"#include <{header}>\n" * 2 + "typedef int nothing;\n")
                    run(C_COMPILER, *C99, "-fsyntax-only", f"-I{include}", self.path("alone.c"))
            with self.subTest(header=header):
                self.compiles("c++20", header)
        self.compiles("c++23", *self.files(include))

    def compiles(self, standard, *headers):
        with open(self.path("alone.cpp"), "w", encoding="ascii") as source:
            for header in headers:
                source.write(f"#include <{header}>\n" * 2)  # a second include must work, too
        run(COMPILER, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only",
            f"-I{os.path.join(self.prefix, 'include')}", self.path("alone.cpp"))


def run(*command, env=None):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=env,
                          check=False)
    if done.returncode != 0:
        raise AssertionError(f"{shlex.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    unittest.main()
