"""README.md says what is: its counts, figures, options, files and commands. And CONTRIBUTING.md names each dependency."""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import time
import unittest

from command import PATIENCE, Case, free_port, one_object

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
PERFORMANCE = (ROOT / "docs/reference/performance.md").read_text(encoding="utf-8")
DOORS = 3
PRINTS = "# prints: "
MOST_LINES = 130
COMMANDS_OF_A_DOOR = 3


def one_line(text):
    return " ".join(text.split())


def without_blocks(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)


def spans():
    """Returns the pieces of code in the sentences, without the blocks."""
    prose = re.sub(r"^ {4}.*$", "", without_blocks(TEXT), flags=re.M)
    return [one_line(span) for span in re.findall(r"`([^`]+)`", prose)]


def lines_of_doors():
    sections = re.findall(r"^## \d\. .*?(?=^## )", without_blocks(TEXT), re.M | re.S)
    return [[line.strip() for line in re.findall(r"^ {4}.*$", section, re.M)] for section in sections]


def doors():
    """Returns the command lines of each door."""
    return [[line for line in lines if not line.startswith(PRINTS)] for lines in lines_of_doors()]


def shown_output(door):
    """Returns the lines that each command of a door prints, as the page shows them, by the command."""
    shown, command = {}, ""
    for line in lines_of_doors()[door - 1]:
        if line.startswith(PRINTS):
            shown.setdefault(command, []).append(line.removeprefix(PRINTS))
        else:
            command = line
    return shown


def without_figures(line):
    """Of a line of measurements: what stays if the machine is another. Columns may be wider or narrower."""
    return one_line(re.sub(r"\d[\d.]*(?: (?:ns|us|ms|s)\b)?", "N", line))


class ReadmeSaysWhatIs(Case):
    def said(self, pattern):
        """Returns what the groups of the pattern match. A sentence may be broken between any two words."""
        found = re.findall(pattern, one_line(TEXT))
        self.assertEqual(len(found), 1, pattern)
        return found[0]

    def cells(self, first, page=PERFORMANCE):
        """Returns the cells of the row that begins with these words."""
        rows = [line for line in page.splitlines() if line.startswith(f"| {first} |")]
        self.assertEqual(len(rows), 1, first)
        return [cell.strip() for cell in rows[0].strip("|").split("|")]

    def test_of_scenarios_and_subcommands(self):
        listed = self.run_command("ladder", "--list").out.splitlines()
        self.assertEqual(self.said(r"Each of (\d+) built-in"), str(len(listed)))
        has = set(re.findall(r"^  (\w+) {2,}", self.run_command("--help").out.split("Subcommands:")[1], re.M))
        if os.environ.get("WIREPROOF_HAS_VERBS") != "1":
            has |= {"verbs", "doctor"}
        listed = re.search(r"^- Subcommands: (.*?);", TEXT, re.M | re.S)[1]
        self.assertEqual(set(re.findall(r"`(\w+)`", listed)), has)

    def test_of_protocols_and_error_rates(self):
        least = self.said(r"down to (1e-\d+)")
        self.assertEqual(self.run_command("sweep", "--ber", least, "--packets", "10").code, 0)
        self.expect_failure(self.run_command("sweep", "--ber", f"0.9{least[1:]}", "--packets", "10"), 2, least)
        first, last = map(int, self.said(r"PCI Express (\d) to (\d), CXL 2 and 3, UCIe, Ultra Ethernet LLR and HIPPI-6400"))
        names = {preset["preset"] for preset in one_object(self.run_command("sweep", "--presets", "--json"))["presets"]}
        generations = {int(name[8]) for name in names if name.startswith("pcie-gen")}
        self.assertEqual(generations, set(range(first, last + 1)))
        for start in ("cxl2", "cxl3", "ucie", "ue-llr", "hippi6400"):
            self.assertTrue([name for name in names if name.startswith(start)], start)

    def test_of_the_search(self):
        states, messages = self.said(r"The search visits (\d+) states and finds that each of (\d+) messages arrives once "
                                     r"and in order, for any number of faults\.")
        found = one_object(self.run_command("search", "ue-llr", "--json"))
        self.assertEqual((found["verdict"], found["states"], found["messages"], found["faults"]),
                         ("holds", int(states), int(messages), None))

    def test_figures_are_those_of_the_page_of_measurements(self):
        figures = self.said(r"half a round trip of 8 B takes ([\d.]+) us over shared memory of the device, ([\d.]+) us "
                            r"over its packets, and ([\d.]+) us over TCP \(`bench/compare_verbs`, two processes of one host, \[EPYC\]")
        row = self.cells("8 B, half a round trip")
        self.assertEqual(row[1:], [f"{figure} us" for figure in figures])
        figures = self.said(r"with 1 % of the packets lost, stores of 1 MiB move (\d+) MB/s between two network namespaces; "
                            r"TCP has (\d+) MB/s with BBR and (\d+) MB/s with CUBIC, and UCX over TCP has (\d+) MB/s \(`bench/compare_peers --hosts`, \[EPYC\]")
        columns = ["path (default)", "iperf3, bbr", "iperf3, cubic", "UCX over tcp (bbr), 64 KiB"]
        places = [self.cells("lost each way").index(column) for column in columns]
        self.assertEqual([self.cells("1 %")[place] for place in places], list(figures))
        tcp, here = self.said(r"there TCP has ([\d,]+) MB/s, and Wireproof has ([\d,]+)\.")
        self.assertEqual([self.cells("none")[place] for place in (places[0], places[2])], [here, tcp])
        packets, rate, seconds, command = self.said(
            r"(10\^\d+) TLPs at a bit error rate of ([\de-]+) take ([\d.]+) s \(`([^`]+)`, \[EPYC\]")
        (row,) = [line for line in PERFORMANCE.splitlines() if line.startswith(f"| {packets} TLPs at {rate}, ")]
        self.assertIn(f"| {seconds} s | `{command}`; EPYC, ", row)
        self.assertIn(f"--ber {rate} --packets {packets.replace('0^', 'e')}", command)

    def test_packages_are_those_of_the_scripts(self):
        listed = subprocess.run(["bash", "-c", '. tools/packages.sh; echo "${build_packages[@]}" "${run_packages[@]}"'],
                                cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
        shown = re.search(r"^ {4}sudo apt-get install -y ((?:\\\n|.)*)$", TEXT, re.M)[1].replace("\\\n", " ").split()
        self.assertEqual(shown, ["git", *listed])

    def test_code_between_the_words_names_what_there_is(self):
        named = {span for span in spans() if re.match(r"\./|(?!build/)\w+/|\w+\.(?:md|sh|yml)$|Dockerfile$", span)}
        self.assertGreater(len(named), 6)
        for span in named:
            program, *words = span.split()
            with self.subTest(span):
                self.assertTrue((ROOT / program).exists())
                for word in words:
                    self.assertIn(word, (ROOT / program).read_text(encoding="utf-8"))

    def test_commands_between_the_words_are_understood(self):
        commands = [span.split()[1:] for span in spans() if span.startswith("wireproof ")]
        self.assertGreater(len(commands), 2)
        for words in commands:
            with self.subTest(words):
                ended = self.run_command(*words, "--print-config" if words[1:] else "--help")
                self.assertEqual((ended.code, ended.err), (0, ""))

    def test_of_its_doors(self):
        """Each has readers, three lines to type, a figure, limits and a tutorial."""
        self.assertEqual([len(lines) for lines in doors()], DOORS * [COMMANDS_OF_A_DOOR])
        for section in re.findall(r"^## \d\. .*?(?=^## )", TEXT, re.M | re.S):
            for words in ("**For** ", "**Measured:** ", "**Not for you if** ", "**Start with** ", "](docs/start/"):
                self.assertEqual(section.count(words), 1, words)
        self.assertLessEqual(len(TEXT.splitlines()), MOST_LINES)
        for door in range(1, DOORS + 1):
            self.assertIn(sum(map(len, shown_output(door).values())), range(1, COMMANDS_OF_A_DOOR + 1))


class TheLinesToTypeWork(Case):
    """Each door's, after ./run: run_test.py runs that."""

    def lines(self, door):
        first, *others = doors()[door - 1]
        self.assertEqual(first, "./run")
        return [shlex.split(line.rstrip("& "))[1:] for line in others if line.startswith("build/wireproof ")]

    def test_of_messages_and_links(self):
        for door in (2, 3):
            lines = self.lines(door)
            self.assertEqual(len(lines), COMMANDS_OF_A_DOOR - 1)
            for words in lines:
                with self.subTest(words):
                    ended = self.run_command(*words)
                    self.assertEqual((ended.code, ended.err), (0, ""))
                    command = shlex.join(["build/wireproof", *words])
                    # A measurement has other figures each time; a simulation and a search do not.
                    comparable = without_figures if door == 2 else str.strip
                    printed = [comparable(line) for line in ended.out.splitlines()]
                    for line in shown_output(door).get(command, []):
                        self.assertIn(comparable(line), printed)

    @unittest.skipUnless(os.environ.get("WIREPROOF_HAS_VERBS") == "1", "there is no device in this build")
    @unittest.skipUnless(shutil.which("ibv_rc_pingpong"), "no ibv_rc_pingpong on this machine (Debian: ibverbs-utils)")
    def test_of_rdma(self):
        server, client = self.lines(1)
        port = str(free_port())
        place = server.index("-g")
        self.assertEqual(client[-len(server[place:]) - 1:-1], server[place:])
        first = self.start(*server, "-p", port)
        self.until(lambda: listens(int(port)), first)
        ended = self.run_command(*client, "-p", port)
        self.assertEqual((ended.code, ended.err), (0, ""))
        (shown,) = shown_output(1)[doors()[0][-1]]
        self.assertIn(without_figures(shown), [without_figures(line) for line in ended.out.splitlines()])
        self.assertEqual(self.finish(first).code, 0)


class ContributingNamesEachDependency(unittest.TestCase):
    def test_of_the_scripts_and_of_the_debian_package_and_no_other(self):
        lists = subprocess.run(["bash", "-c", ". tools/packages.sh; for list in $(compgen -v | grep _packages$); do declare -n one=$list; echo ${one[@]}; done"],
                               cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
        depends = re.search(r"^Build-Depends: (.*(?:\n .*)*)", (ROOT / "debian/control").read_text(encoding="utf-8"), re.M)[1]
        needed = {*lists, *re.findall(r"^ *([a-z][\w.+-]*)", depends, re.M)}
        # Virtual packages have the name of what asks for them.
        needed = {{"debhelper-compat": "debhelper", "dh-sequence-python3": "dh-python"}.get(name, name) for name in needed}
        table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("| packages |")[2].partition("\n\n")[0]
        rows = [line.split(" | ") for line in table.splitlines()[2:]]
        named = [name for row in rows for name in re.findall(r"`([^`]+)`", row[0])]
        self.assertEqual(sorted(named), sorted(needed))
        self.assertEqual([row for row in rows if len(row) != 3 or len(row[2]) < 20], [])


def listens(port):
    """Whether a socket of TCP, of IPv4 or IPv6, waits for connections on this port."""
    for name in ("tcp", "tcp6"):
        with open(f"/proc/net/{name}", encoding="ascii") as sockets:
            for line in list(sockets)[1:]:
                _, local, _, state = line.split()[:4]
                if state == "0A" and int(local.rpartition(":")[2], 16) == port:
                    return True
    return False


if __name__ == "__main__":
    unittest.main()
