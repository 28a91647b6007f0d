#!/usr/bin/env python3
"""Tests of run.py and operators.py. The last class builds defects of a small project that it makes."""
import contextlib
import io
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import operators
import run
import tree


def changes(text):
    """All that the operators make of the text, as (operator, what is there, what takes its place)."""
    return {(found.operator, text[found.begin:found.end], found.replacement) for found in operators.defects_of(text)}


class Operators(unittest.TestCase):
    def body(self, statements):
        return changes("int f() {\n" + statements + "\n}\n") - {(operators.RETURN, "", "return {}; ")}

    def test_comments_texts_and_preprocessor_lines_have_no_defects(self):
        self.assertEqual(changes('#define MOST \\\n  5\n// f(1, 2);\n/* x = 1; */\n'), set())
        self.assertEqual(self.body('  return "a < 1", R"x(b; 2)")x", \'3\';'), set())

    def test_what_the_compiler_decides_has_no_defects(self):
        self.assertEqual(changes("template <int N = 4> class X {\n    static_assert(N < 5);\n    alignas(64) int x_;\n"
                                 "    bool operator==(const X&) const = default;\n    virtual void f() = 0;\n};\n"),
                         set())
        self.assertEqual(self.body("  using Y = Z<2>;\n  WIREPROOF_CHECK(a < 1);\n  Z<3> z;\n  return z;"), set())

    def test_a_statement_is_deleted_and_a_declaration_is_not(self):
        self.assertEqual(self.body("  a = b;\n  const int c = d;\n  std::vector<int> e;\n  Type& g = h;\n  (void)c;\n"
                                   "  i->j();"),
                         {(operators.DELETE, "a = b", ""), (operators.DELETE, "i->j()", "")})
        self.assertIn((operators.DELETE, "break", ""), self.body("  while (a) break;"))

    def test_a_condition_is_negated_once(self):
        self.assertEqual(self.body("  if (a(b)) return c;"), {(operators.NEGATE, "a(b)", "!(a(b))")})
        self.assertEqual(self.body("  if (!a) return c;"), {(operators.NOT, "!", "")})
        self.assertEqual(self.body("  if (a == b) return c;"), {(operators.RELATION, "==", "!=")})
        self.assertEqual(self.body("  if (auto a = b) return c;"), set())
        self.assertEqual(self.body("  if (auto a = b; a) return c;"), {(operators.NEGATE, "a", "!(a)")})
        self.assertEqual(self.body("  for (auto& a : b) return c;"), set())
        self.assertEqual(self.body("  return a ? b : c;"), {(operators.NEGATE, "b : c", "c : b")})
        self.assertEqual(changes("bool f() { return a && b; }"),
                         {(operators.RETURN, "", "return false; "), (operators.LOGIC, "&&", "||"),
                          (operators.NEGATE, "a && b", "!(a && b)")} - {(operators.RETURN, "", "return false; ")})

    def test_relations_become_their_neighbours(self):
        found = self.body("  return a < b, c <= d, e > f, g >= h, i == j, k != l;")
        self.assertEqual({(was, becomes) for _, was, becomes in found},
                         {("<", "<="), ("<=", "<"), (">", ">="), (">=", ">"), ("==", "!="), ("!=", "==")})
        self.assertEqual(self.body("  return X<Y>::z, a >> b, static_cast<T&&>(c);"), set())

    def test_integers_are_one_more_and_one_less(self):
        self.assertEqual({becomes for _, _, becomes in self.body("  return a + 0;")}, {"1"})
        self.assertEqual({becomes for _, _, becomes in self.body("  return a + 1'000U;")}, {"1001U", "999U"})
        self.assertEqual({becomes for _, _, becomes in self.body("  return a + 0xFF;")}, {"(0xFF + 1)", "(0xFF - 1)"})
        self.assertEqual(self.body("  return a + 1.5;"), set())
        self.assertEqual(changes("class X {\n    int a_ = 7;\n};\n"),
                         {(operators.NUMBER, "7", "6"), (operators.NUMBER, "7", "8")})

    def test_neighbours_are_swapped(self):
        self.assertEqual(self.body("  return f(a, g(b), c);"),
                         {(operators.SWAP, "a, g(b)", "g(b), a"), (operators.SWAP, "g(b), c", "c, g(b)")})
        self.assertEqual(self.body("  return X{a, b};"), {(operators.SWAP, "a, b", "b, a")})
        self.assertEqual(self.body("  return std::min(a, b), f(c, c), X{.d = e, .f = g};"), set())
        self.assertEqual(changes("void f(int a, int b);\n"), set())

    def test_each_block_may_return_early(self):
        found = changes("void X::f() {\n    if (a) {\n        b();\n    }\n}\n")
        self.assertEqual([each for each in found if each[0] == operators.RETURN], [(operators.RETURN, "", "return; ")])
        self.assertEqual(len([d for d in operators.defects_of("void f() {\n    if (a) {\n        b();\n    }\n}\n")
                              if d.operator == operators.RETURN]), 2)
        self.assertNotIn(operators.RETURN, {each[0] for each in changes("X::X(int a) : a_(a) { b(); }")})

    def test_a_constructor_and_a_lambda_are_read(self):
        self.assertIn((operators.RELATION, "<", "<="), changes("X::X(int a) : a_(a), b_{a < 2} { c(); }"))
        found = self.body("  sort(a, [&](X b, X c) { ++d; return b < c; });")
        self.assertIn((operators.RELATION, "<", "<="), found)
        self.assertIn((operators.DELETE, "++d", ""), found)


class Draw(unittest.TestCase):
    def mutants(self):
        return [run.Mutant(f"{line}.{number}", tree.Defect("a.cpp", line, number, ""), lines=range(line, line + 1))
                for line in range(20) for number in range(line)]

    def test_a_seed_draws_the_same_again_and_another_seed_others(self):
        self.assertEqual(run.draw(self.mutants(), 5, 1), run.draw(self.mutants(), 5, 1))
        self.assertNotEqual(run.draw(self.mutants(), 5, 1), run.draw(self.mutants(), 5, 2))

    def test_a_line_is_drawn_once(self):
        self.assertEqual(len({one.lines for one in run.draw(self.mutants(), 19, 1)}), 19)
        self.assertEqual(len(run.draw(self.mutants(), 50, 1)), 19)


class Limits(unittest.TestCase):
    def test_what_does_not_end_hangs(self):
        for command, limit in (("while True: pass", tree.Limit(300, 0)),
                               ("import time; time.sleep(1000)", tree.Limit(0.1, 300))):
            with self.subTest(command):
                self.assertEqual(tree.run([sys.executable, "-c", command], ".", limit)[0], tree.HANGS)

    def test_what_fails_or_crashes_is_killed(self):
        for command in ("exit(1)", "import os; os.abort()", "bytes(9 << 30)"):
            with self.subTest(command):
                self.assertEqual(tree.run([sys.executable, "-c", command], ".", tree.Limit())[0], tree.KILLED)
        self.assertEqual(tree.run([sys.executable, "-c", "print(1)"], ".", tree.Limit()), (tree.SURVIVES, "1\n"))


SOURCE = """#include "wireproof/toy/steps.hpp"

#include <cstring>

int steps(int from, int to) {
    int count = 0;
    while (from != to) {
        ++from;
        ++count;
    }
    return count;
}
"""
ADDED = """
int limited(int from, const char* to) {
    return from < 100 ? int(std::strchr(to, from) - to) : 0;
}
"""
FILES = {
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.25)
project(wireproof LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
option(WIREPROOF_UNITY "" ON)
set(WIREPROOF_TESTS ON)
find_package(GTest REQUIRED)
include(cmake/wireproof_module.cmake)
add_subdirectory(wireproof/toy)
""",
    "wireproof/toy/CMakeLists.txt": "wireproof_module(toy)\n",
    "wireproof/toy/steps.hpp": "int steps(int from, int to);\nint limited(int from, const char* to);\n",
    "wireproof/toy/steps.cpp": SOURCE,
    "wireproof/toy/steps_test.cpp": """#include "wireproof/toy/steps.hpp"

#include <gtest/gtest.h>

TEST(Steps, AreCounted) { EXPECT_EQ(steps(1, 3), 2); }
TEST(Steps, OfNothingAreNone) { EXPECT_EQ(steps(1, 1), 0); }
TEST(Steps, DISABLED_AreNotRun) {}
""",
    "wireproof/bare/alone.hpp": "inline int alone() { return 5; }\n",
    ".gitignore": "/build/\n",
}


class Toy(unittest.TestCase):
    """A small project in git, in which a function is added that no test calls."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = pathlib.Path(folder.name)
        for name, text in FILES.items():
            cls.write(name, text)
        cls.list("listed.json", [])
        cls.list("equivalents.json", [])
        (cls.root / "cmake").mkdir()
        shutil.copy(run.ROOT / "cmake/wireproof_module.cmake", cls.root / "cmake")
        cls.git("init", "-q", "-b", "main")
        cls.commit()
        cls.write("wireproof/toy/steps.cpp", SOURCE + ADDED)
        cls.commit()

    @classmethod
    def write(cls, name, text):
        (cls.root / name).parent.mkdir(parents=True, exist_ok=True)
        (cls.root / name).write_text(text)

    @classmethod
    def list(cls, name, entries):
        cls.write(f"{run.HERE}/{name}", "[\n" + ",\n".join(json.dumps(entry) for entry in entries) + "\n]\n")

    @classmethod
    def git(cls, *words):
        subprocess.run(["git", "-C", cls.root, "-c", "user.name=x", "-c", "user.email=x@example.org", *words],
                       check=True, stdout=subprocess.DEVNULL)

    @classmethod
    def commit(cls):
        cls.git("add", "-A")
        cls.git("commit", "-q", "-m", "x")

    def run_with(self, *arguments):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = run.main(arguments, self.root)
        return code, out.getvalue()

    def test_changed_lines_are_those_since_the_base(self):
        _, shown = self.run_with("--changed", "--show")
        self.assertIn("wireproof/toy/steps.cpp:15: another relation\n"
                      "  -     return from < 100 ? int(std::strchr(to, from) - to) : 0;\n"
                      "  +     return from <= 100 ? int(std::strchr(to, from) - to) : 0;\n", shown)
        self.assertNotIn("steps.cpp:6", shown)
        self.assertIn("0 defects of 0 lines", self.run_with("--changed", "HEAD", "--show")[1])
        self.assertIn("steps.cpp:6", self.run_with("--all-lines", "wireproof/toy", "--show")[1])

    def test_new_files_are_changed(self):
        self.write("wireproof/toy/fresh.hpp", "inline int fresh() { return 5; }\n")
        self.addCleanup((self.root / "wireproof/toy/fresh.hpp").unlink)
        self.assertIn("fresh.hpp:1: one more", self.run_with("--changed", "HEAD", "--show")[1])

    def test_bad_input_is_named(self):
        for arguments, message in ((["--changed", "nowhere"], "nowhere is no revision"),
                                   (["--all-lines", "wireproof/none"], "wireproof/none: there is no such"),
                                   (["nobody"], "no defect or module is named nobody")):
            with self.subTest(arguments), self.assertRaisesRegex(SystemExit, message):
                self.run_with(*arguments)

    def test_survivors_are_listed_and_the_others_counted(self):
        patience, tree.PROCESSOR_SECONDS = tree.PROCESSOR_SECONDS, 1
        self.addCleanup(setattr, tree, "PROCESSOR_SECONDS", patience)
        one = {"file": "wireproof/toy/steps.cpp", "line": "return from < 100 ? int(std::strchr(to, from) - to) : 0;",
               "becomes": "return from < 101 ? int(std::strchr(to, from) - to) : 0;", "why": "a test"}
        self.list("equivalents.json", [one])
        self.addCleanup(self.list, "equivalents.json", [])
        code, out = self.run_with("--changed", "--jobs", "1")
        self.assertEqual(code, 1, out)
        self.assertTrue(out.startswith("6 defects of 4 lines\nnot tried: 1 listed as equivalent\n"), out)
        self.assertIn("survives: wireproof/toy/steps.cpp:15: another relation\n", out)
        self.assertNotIn("+     return from < 101", out)
        self.assertTrue(out.endswith("5 defects: 0 killed, 0 hang, 1 do not compile, 4 survive\n"), out)
        self.assertEqual((self.root / "build/mutants/0/source/wireproof/toy/steps.cpp").read_text(), SOURCE + ADDED)

        text = {"file": "wireproof/toy/steps.cpp", "killed_by": "Steps.AreCounted"}
        mutants = [{"name": "no count", "find": "        ++count;\n", "replace": "", **text},
                   {"name": "no end", "find": "        ++from;\n", "replace": "", **text},
                   {"name": "no harm", "find": "int count = 0;", "replace": "int count = +0;", **text}]
        self.list("listed.json", mutants)
        self.addCleanup(self.list, "listed.json", [])
        code, out = self.run_with("--jobs", "1")
        self.assertEqual((code, out), (1, "survives: no harm: Steps.AreCounted passes\n"
                                       "3 defects: 1 killed, 1 hang, 0 do not compile, 1 survive\n"))
        self.assertEqual(self.run_with("--jobs", "1", "no count")[0], 0)

        # A test that does not pass without a defect says nothing about one.
        self.list("listed.json", [{**mutants[0], "killed_by": "Steps.DISABLED_AreNotRun"}])
        code, out = self.run_with("--jobs", "1")
        self.assertEqual(code, 1)
        self.assertIn("Steps.DISABLED_AreNotRun: not one test that passes without a defect", out)

    def test_a_folder_without_tests_is_named(self):
        code, out = self.run_with("--all-lines", "wireproof/bare", "--jobs", "1")
        self.assertEqual(code, 0)
        self.assertIn("not tried: 2 defects of wireproof/bare/alone.hpp, whose folder has no unit tests", out)

    def test_texts_are_checked(self):
        good = {"name": "a", "file": "wireproof/toy/steps.cpp", "find": "++count", "replace": "",
                "killed_by": "Steps.AreCounted"}
        self.addCleanup(self.list, "listed.json", [])
        self.list("listed.json", [good])
        self.assertEqual(self.run_with("--texts"), (0, "1 defects, 0 problems\n"))
        for change, message in (({"find": "count"}, "a: its text stands 3 times in wireproof/toy/steps.cpp"),
                                ({"killed_by": "Steps.Are"}, "a: there is no test Steps.Are")):
            self.list("listed.json", [{**good, **change}])
            self.assertEqual(self.run_with("--texts"), (1, f"{message}\n1 defects, 1 problems\n"))
        self.list("listed.json", [good, good])
        self.assertIn("a: the name of more than one\n", self.run_with("--texts")[1])
        self.write(f"{run.HERE}/listed.json", json.dumps([good], indent=2))
        self.assertIn("listed.json does not have one object in each line\n", self.run_with("--texts")[1])
        self.list("listed.json", [good])
        self.addCleanup(self.list, "equivalents.json", [])
        self.list("equivalents.json", [{"file": good["file"], "line": "--count;", "becomes": "", "why": "x"}])
        self.assertIn("wireproof/toy/steps.cpp has no line --count;\n", self.run_with("--texts")[1])


if __name__ == "__main__":
    unittest.main()
