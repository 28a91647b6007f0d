"""The output that docs/ shows is the output of the command, and so are the figures in its tables."""
import os
import re
import shlex
import textwrap
import unittest

from command import Case, one_object

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")


def page(name):
    with open(os.path.join(DOCS, name), encoding="utf-8") as file:
        return file.read()


def indented_blocks(text):
    """Returns the indented blocks of a page, without their indent."""
    found = re.findall(r"(?:^|\n\n)((?: {4}.*\n|\n(?= {4}))+)", text)
    return [textwrap.dedent(block).strip("\n") for block in found]


def timeless(text):
    return re.sub(r"in [0-9.]+ s$", "in a while", text, flags=re.MULTILINE).strip("\n")


def number(text):
    return int(text.replace(" ", ""))


class TheExamplesOfTheDocumentsAreWhatIsPrinted(Case):
    def test_of_a_ladder_and_its_file(self):
        text = page("guide/links/ladders.md")
        example = text[text.index("## An example"):text.index("## The file")]
        with open(self.path("example.toml"), "w", encoding="utf-8") as file:
            file.write(re.search(r"```toml\n(.*?)```", example, re.S)[1])
        ended = self.run_command("ladder", "example.toml")
        self.assertEqual((ended.code, ended.err), (0, ""))
        (shown,) = indented_blocks(example)
        self.assertEqual(ended.out.strip("\n"), shown)

    def test_of_searches(self):
        shown = [block for block in indented_blocks(page("guide/links/search.md")) if block.startswith("$ wireproof search ")]
        self.assertEqual(len(shown), 3)
        for block in shown:
            command, _, expected = block.partition("\n")
            with self.subTest(command):
                ended = self.run_command(*command.split()[2:])
                self.assertEqual(ended.code, 1 if "\nrefuted: " in expected else 0)
                self.assertEqual(timeless(ended.out), timeless(expected))

    def test_of_advice(self):
        (block,) = [block for block in indented_blocks(page("guide/links/advice.md")) if "--advise" in block.partition("\n")[0]
                    and block.startswith("$ ")]
        command, _, expected = block.partition("\n")
        ended = self.run_command(*command.split()[2:])
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertEqual(ended.out[:len(expected)], expected)

    def test_of_scenarios_and_files_that_are_named(self):
        """The command has each subcommand that the pages use."""
        for name in ("guide/links/ladders.md", "guide/links/search.md", "guide/links/link-retry.md", "guide/links/sweeps.md",
                     "guide/links/comparison.md", "guide/rdma/inspect.md"):
            used = set(re.findall(r"^ {4}(?:\$ )?wireproof (\w+)", page(name), re.M))
            self.assertNotEqual(used, set(), name)
            for subcommand in used:
                self.assertEqual(self.run_command(subcommand, "--help").code, 0, f"{name}: {subcommand}")


class TheTableOfSearchesHasTheStatesThatAreFound(Case):
    def rows(self):
        """Yields arguments, window, modulus and states. `the same` repeats the last row that has all arguments."""
        found = re.findall(r"^\| ((?:`[^`|]+`|the same, `[^`|]+`)) \| (\d+) \| (\d+) \| ([\d ]+) \| [\d.]+ \|$",
                           page("guide/links/search.md"), re.M)
        base = []
        for what, *figures in found:
            options = re.search(r"`(.*)`", what)[1].split()
            if what.startswith("the same"):
                options = without(base, options) + options
            else:
                base = options
            yield options, [number(figure) for figure in figures]

    def test_each_row(self):
        rows = list(self.rows())
        self.assertEqual(len(rows), 27)
        for options, (window, modulus, states) in rows:
            with self.subTest(options):
                ended = self.run_command("search", "--json", *options)
                self.assertEqual((ended.code, ended.err), (0, ""))
                found = one_object(ended)
                self.assertEqual((found["verdict"], found["window"], found["modulus"], found["states"]),
                                 ("holds", window, modulus, states))


class EachCommandShownIsUnderstood(Case):
    ROOT = os.path.join(DOCS, "..")
    SHOWN = re.compile(r"^(?: {4}(?:\$ )?)?(?:build/)?wireproof ((?:\\\n|[^\n])+)$", re.M)

    def pages(self):
        for folder, _, names in os.walk(DOCS):
            for name in names:
                if name.endswith(".md"):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        yield name, file.read()
        with open(os.path.join(self.ROOT, "README.md"), encoding="utf-8") as file:
            yield "README.md", file.read()

    @staticmethod
    def words(shown):
        """Of a line without what explains it and what the shell takes."""
        line = re.split(r" {2,}|[|>&;]|\s#", shown.replace("\\\n", " "))[0] if "\\" not in shown else \
            re.split(r"[|>&;]", re.sub(r"\s*\\\n\s*", " ", shown))[0]
        return shlex.split(line.replace("[", "").replace("]", ""))

    def test_with_all_its_options(self):
        """--print-config reads all options, and runs nothing."""
        with open(self.path("faults.toml"), "w", encoding="utf-8"):
            pass
        seen = 0
        for page, text in self.pages():
            for shown in self.SHOWN.findall(text):
                words = self.words(shown)
                if words[0] in ("help", "verbs" if os.environ.get("WIREPROOF_HAS_VERBS") != "1" else ""):
                    continue
                seen += 1
                place = words.index("--") if "--" in words else len(words)
                with self.subTest(page=page, shown=shown):
                    ended = self.run_command(*words[:place], "--print-config", *words[place:])
                    self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertGreater(seen, 50)


class EachFileShownIsUnderstood(Case):
    def shown(self, name):
        """Writes the only block of TOML of a page, and a copy with a key that does not exist."""
        (block,) = re.findall(r"```toml\n(.*?)```", page(name), re.S)
        for file, text in (("shown.toml", block), ("wrong.toml", block + "no_such_key = 1\n")):
            with open(self.path(file), "w", encoding="utf-8") as out:
                out.write(text)

    def test_of_a_sweep(self):
        self.shown("guide/links/sweeps.md")
        with open(self.path("cable.trace"), "w", encoding="utf-8") as out:
            out.write("ok\nbad\n")
        # The last task of a large array has no points: it reads the file and simulates nothing.
        nothing = {**os.environ, "SLURM_ARRAY_TASK_ID": "999", "SLURM_ARRAY_TASK_COUNT": "1000"}
        ended = self.run_command("sweep", "shown.toml", "--no-timing", env=nothing)
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.expect_failure(self.run_command("sweep", "wrong.toml", "--no-timing", env=nothing), 1, "wrong.toml:",
                            "no_such_key")

    @unittest.skipUnless(os.environ.get("WIREPROOF_HAS_VERBS") == "1", "there is no device in this build")
    def test_of_faults(self):
        self.shown("guide/rdma/faults.md")
        ended = self.run_command("verbs", "--faults", "shown.toml", "--print-config")
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.expect_failure(self.run_command("verbs", "--faults", "wrong.toml", "--print-config"), 2, "wrong.toml:",
                            "no_such_key")


class TheLargeSearchesAreCommandLines(Case):
    def test_each_row(self):
        """`./test` has no time for most of them: here they begin, and give up."""
        rows = re.findall(r"^\| `([^`|]+)` \| (any number|\d+) \| ([\d ]+) \| [\d.]+ \| [\d.]+ GB \|$",
                          page("guide/links/search.md"), re.M)
        self.assertGreater(len(rows), 8)
        for command, faults, states in rows:
            with self.subTest(command):
                ended = self.run_command("search", "--json", *without_states(command.split()), "--states", "5000")
                self.assertEqual(ended.code, 1)
                found = one_object(ended)
                self.assertEqual((found["verdict"], found["faults"]),
                                 ("too_many_states", None if faults == "any number" else int(faults)))
                options = command.split()
                given = int(options[options.index("--states") + 1]) if "--states" in options else 20_000_000
                self.assertLessEqual(number(states), given)


def without_states(options):
    if "--states" not in options:
        return options
    place = options.index("--states")
    return options[:place] + options[place + 2:]


def without(options, others):
    """Returns the options, each with its value, without those in `others`."""
    kept = options[:1]
    for name, value in zip(options[1::2], options[2::2]):
        if name not in others:
            kept += [name, value]
    return kept


if __name__ == "__main__":
    unittest.main()
