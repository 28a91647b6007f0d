"""Installs the build tree into a folder of its own and uses what is there as a stranger would. What
to install, and how it was built, comes in the environment from CMake."""
import os
import shlex
import shutil
import subprocess
import tempfile
import unittest

CMAKE, COMPILER, GENERATOR, BUILD, SOURCE = (
    os.environ["WIREPROOF_" + name]
    for name in ("CMAKE", "COMPILER", "GENERATOR", "BUILD", "SOURCE"))
BUILD_TYPE = os.environ.get("WIREPROOF_BUILD_TYPE", "")
# A sanitizer in the archive has to be in the program, too.
FLAGS = os.environ.get("WIREPROOF_FLAGS", "")
HELLO = os.path.join(SOURCE, "examples", "hello_am.cpp")
LINK_RETRY = os.path.join(SOURCE, "examples", "link_retry.cpp")
HEADERS = os.path.join(SOURCE, "include")


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

    def expect_hello(self, program):
        """Five answers, although every tenth frame is lost."""
        squares = "".join(f"{n} squared is {n * n}\n" for n in range(1, 6))
        self.assertEqual(run(program), squares)

    def expect_link_retry(self, program):
        """A point of each engine, and a ladder: the laboratory is in the library, too."""
        out = run(program)
        self.assertRegex(out, r"^pcie      ETR 9[23]\.\d %, by the closed form 92\.8 %\n"
                              r"hippi6400 ETR 78\.\d %, by the closed form 78\.7 %\n\n")
        self.assertIn("==== TLP 1 ====", out)


class AStrangersProjectFindsBuildsAndRunsIt(Installed):
    def build(self, prefix, name):
        """Returns the folder of the programs."""
        run(CMAKE, "-S", os.path.join(SOURCE, "tests", "install", "consumer"), "-B",
            self.path(name), "-G", GENERATOR, f"-DCMAKE_CXX_COMPILER={COMPILER}",
            f"-DCMAKE_BUILD_TYPE={BUILD_TYPE}", f"-DCMAKE_CXX_FLAGS={FLAGS}",
            f"-DCMAKE_PREFIX_PATH={prefix}", f"-DHELLO={HELLO}",
            f"-DLINK_RETRY={LINK_RETRY}")
        run(CMAKE, "--build", self.path(name))
        return self.path(name)

    def test_where_it_was_installed_and_where_it_was_moved_to(self):
        self.expect_both(self.build(self.prefix, "build"))
        moved = self.path("moved")
        os.rename(self.prefix, moved)
        self.expect_both(self.build(moved, "build-moved"))

    def expect_both(self, folder):
        self.expect_hello(os.path.join(folder, "hello"))
        self.expect_link_retry(os.path.join(folder, "link_retry"))


class PkgConfigFindsIt(Installed):
    @unittest.skipUnless(shutil.which("pkg-config"), "pkg-config is not on this machine")
    def test_and_its_answer_compiles_links_and_runs(self):
        where = os.path.dirname(self.find("wireproof.pc"))
        environment = {**os.environ, "PKG_CONFIG_PATH": where}
        version = run("pkg-config", "--modversion", "wireproof", env=environment)
        self.assertRegex(version, r"^0\.1\.\d+\n$")
        answer = run("pkg-config", "--cflags", "--libs", "wireproof", env=environment)
        # The linker must manage without the compiler's help for link-time optimisation.
        for source, program in ((HELLO, "hello"), (LINK_RETRY, "link_retry")):
            run(COMPILER, "-std=c++20", "-fno-lto", *shlex.split(FLAGS), source, "-o",
                self.path(program), *shlex.split(answer))
        self.expect_hello(self.path("hello"))
        self.expect_link_retry(self.path("link_retry"))


class OnlyWhatIsPublicIsInstalled(Installed):
    def test_headers_are_the_public_ones(self):
        self.assertEqual(self.files(os.path.join(self.prefix, "include")), self.files(HEADERS))

    def test_there_is_one_library(self):
        libraries = [f for f in self.files(self.prefix) if f.endswith((".a", ".so"))]
        self.assertEqual([os.path.basename(f) for f in libraries], ["libwireproof.a"])

    @unittest.skipIf(os.environ.get("WIREPROOF_CLI") == "OFF", "this build has no command")
    def test_the_command_is_there_and_runs(self):
        self.assertRegex(run(self.find("wireproof"), "--version"), r"^wireproof 0\.1\.\d+\n$")


class EveryPublicHeaderCompilesAlone(Installed):
    def test_as_cpp20_and_as_cpp23_without_a_warning(self):
        include = os.path.join(self.prefix, "include")
        for header in self.files(include):
            for standard in ("c++20", "c++23"):
                with self.subTest(header=header, standard=standard):
                    # Twice: it must bear that as well.
                    with open(self.path("alone.cpp"), "w", encoding="ascii") as source:
                        source.write(f"#include <{header}>\n" * 2)
                    run(COMPILER, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                        "-fsyntax-only", f"-I{include}", self.path("alone.cpp"))


def run(*command, env=None):
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, env=env,
                          check=False)
    if done.returncode != 0:
        raise AssertionError(f"{shlex.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    unittest.main()
