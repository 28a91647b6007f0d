"""Ladders on a terminal, in a pipe and in files for other tools."""
import os
import re
import struct
import textwrap
import unittest
import xml.etree.ElementTree

from command import Case, one_object

PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "guide", "links", "ladders.md")

NAMES = ["pcie-lost-tlp", "pcie-lost-ack", "pcie-lost-nak", "pcie-lost-last", "pcie-wrap",
         "hippi-lost-data", "hippi-lost-ack-null", "hippi-lost-ack-data", "hippi-lost-notice",
         "hippi-lost-last", "flit-lost-payload", "flit-selective", "flit-lost-nop",
         "flit-converted", "flit-lost-ack", "flit-ucie-false-nak", "flit-half-used", "cxl-spoilt-flit", "cxl-spoilt-answer", "cxl-two-retries",
         "cxl-phy-reinit", "am-lost-request", "am-lost-reply", "am-lost-bulk-chunk",
         "am-keepalive", "ue-lost-frame", "ue-damaged-frame", "ue-lost-ack", "ue-lost-nack", "ue-lost-last",
         "ue-flush"]

SCENARIO = """protocol = "pcie"
[[traffic]]
from = "A"
messages = 4
[[fault]]
direction = "A->B"
kind = "TLP"
nth = 3
fate = "lost"
"""


def blocks(file):
    """Yields the type and the body of each block of a pcapng file."""
    at = 0
    while at < len(file):
        kind, length = struct.unpack_from("<II", file, at)
        assert length % 4 == 0 and at + length <= len(file)
        assert struct.unpack_from("<I", file, at + length - 4) == (length,)
        yield kind, file[at + 8:at + length - 4]
        at += length


class ALadderIsDrawnInEveryWay(Case):
    def scenario(self, text=SCENARIO, name="mine.toml"):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return name

    def test_the_built_in_ones_are_listed(self):
        ended = self.run_command("ladder", "--list")
        self.assertEqual((ended.code, ended.err), (0, ""))
        listed = [line.split()[0] for line in ended.out.splitlines()]
        self.assertEqual(sorted(listed), sorted(NAMES))
        self.assertLessEqual(max(map(len, ended.out.splitlines())), 80)
        ended, listing = self.run_json("ladder", "--list")
        self.assertEqual(listing["schema"], "wireproof.ladder/1")
        self.assertEqual([one["name"] for one in listing["ladders"]], listed)

    def test_the_text_fits_80_columns(self):
        for name in NAMES:
            with self.subTest(name):
                ended = self.run_command("ladder", name)
                self.assertEqual((ended.code, ended.err), (0, ""))
                self.assertLessEqual(max(map(len, ended.out.splitlines())), 80)
                self.assertTrue(ended.out.startswith(name + " ("))

    def test_the_json_has_an_event_for_each_frame_in_order_of_sending(self):
        ended, ladder = self.run_json("ladder", "pcie-lost-tlp")
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertEqual((ladder["schema"], ladder["name"]),
                         ("wireproof.ladder/1", "pcie-lost-tlp"))
        events = [(e["from"], e["frame"], e["seq"], e["fate"]) for e in ladder["events"]]
        self.assertEqual(events, [
            ("A", "TLP", 0, "delivered"), ("B", "Ack", 0, "delivered"),
            ("A", "TLP", 1, "delivered"), ("A", "TLP", 2, "lost"), ("A", "TLP", 3, "refused"),
            ("B", "Nak", 1, "delivered"), ("A", "TLP", 2, "delivered"),
            ("A", "TLP", 3, "delivered"), ("B", "Ack", 3, "delivered")])
        times = [e["time_ns"] for e in ladder["events"]]
        self.assertTrue(all(type(time) is int for time in times))
        self.assertEqual(times, sorted(times))

    def test_the_number_of_a_null_is_its_own_and_that_of_data_comes_besides(self):
        _, ladder = self.run_json("ladder", "hippi-lost-ack-data")
        lost = next(e for e in ladder["events"] if e["fate"] == "lost")
        self.assertEqual((lost["from"], lost["frame"], lost["seq"], lost["ack"]),
                         ("B", "data", 0, 3))
        nulls = [e for e in ladder["events"] if e["frame"] in ("null", "status null")]
        self.assertTrue(nulls and all("seq" in e and "ack" not in e for e in nulls))

    def test_the_picture_is_well_formed_and_needs_nothing_else(self):
        for name in NAMES:
            ended = self.run_command("ladder", name, "--svg", "ladder.svg")
            self.assertEqual((ended.code, ended.err), (0, ""))
            root = xml.etree.ElementTree.parse(self.path("ladder.svg")).getroot()
            self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
            with open(self.path("ladder.svg"), encoding="utf-8") as file:
                self.assertEqual(file.read().count("http"), 1)

    def test_the_capture_has_a_packet_for_each_frame_and_comments_on_faults(self):
        ended, ladder = self.run_json("ladder", "pcie-lost-nak", "--pcapng", "l.pcapng")
        self.assertEqual((ended.code, ended.err), (0, ""))
        with open(self.path("l.pcapng"), "rb") as file:
            capture = file.read()
        self.assertEqual(capture[:4], b"\x0a\x0d\x0d\x0a")
        packets = [body for kind, body in blocks(capture) if kind == 6]
        self.assertEqual(len(packets), len(ladder["events"]))
        for event, body in zip(ladder["events"], packets):
            interface, high, low, length = struct.unpack_from("<IIII", body)
            self.assertEqual("AB"[interface], event["from"])
            self.assertEqual(high << 32 | low, event["time_ns"])
            self.assertEqual(length, event["bytes"])
            faulted = event["fate"] in ("lost", "damaged", "duplicated")
            self.assertEqual(b" on the link" in body, faulted, event)

    def test_a_file_is_a_scenario_and_a_built_in_name_wins(self):
        ended, ladder = self.run_json("ladder", self.scenario())
        self.assertEqual((ended.code, ladder["name"]), (0, "mine"))
        lost = [e["seq"] for e in ladder["events"] if e["fate"] == "lost"]
        self.assertEqual(lost, [2])
        self.scenario(name="pcie-wrap")
        _, ladder = self.run_json("ladder", "pcie-wrap")
        self.assertEqual(ladder["events"][0]["seq"], 4094)
        _, ladder = self.run_json("ladder", "./pcie-wrap")
        self.assertEqual(ladder["events"][0]["seq"], 0)

    def test_the_page_about_scenarios_shows_what_its_example_prints(self):
        with open(PAGE, encoding="utf-8") as file:
            page = file.read()
        example = re.search(r"```toml\n(.*?)```\n\n(.*?)\nFrames stand", page, re.DOTALL)
        ended = self.run_command("ladder", self.scenario(example[1]))
        self.assertEqual((ended.code, ended.err), (0, ""))
        self.assertEqual(ended.out.strip("\n"), textwrap.dedent(example[2]).strip("\n"))

    def test_the_same_scenario_gives_the_same_bytes(self):
        noisy = SCENARIO + "[[random]]\nloss = 0.3\nber = 0.0001\n"
        name = self.scenario("seed = 5\n" + noisy)
        first = self.run_command("ladder", name, "--json", "--svg", "1.svg", "--pcapng", "1.cap")
        again = self.run_command("ladder", name, "--json", "--svg", "2.svg", "--pcapng", "2.cap")
        self.assertEqual(first.raw, again.raw)
        self.same_bytes(self.path("1.svg"), self.path("2.svg"))
        self.same_bytes(self.path("1.cap"), self.path("2.cap"))


class ALadderThatCannotBeDrawnIsToldInOneLine(Case):
    def refuses(self, code, *arguments, words=()):
        with self.subTest(arguments):
            ended = self.run_command("ladder", *arguments)
            self.expect_failure(ended, code, *words)
            self.assertEqual(ended.out, "")

    def test_the_command_line_makes_no_sense(self):
        self.refuses(2, words=["NAME", "--list"])
        self.refuses(2, "", words=["NAME"])
        self.refuses(2, "pcie-wrap", "pcie-lost-tlp")
        self.refuses(2, "pcie-wrap", "--list")
        self.refuses(2, "--list", "--svg", "x.svg")
        self.refuses(2, "pcie-wrap", "--svg")
        self.refuses(2, "pcie-wrap", "--svg", "x", "--pcapng", "x", words=["same file"])
        self.refuses(2, "pcie-wrap", "--png", "x")
        self.expect_no_part_left()

    def test_there_is_no_such_scenario(self):
        self.refuses(1, "pcie-lost", words=["no scenario is called pcie-lost", "--list"])
        self.refuses(1, "nowhere.toml", words=["cannot read nowhere.toml", "No such file"])
        self.refuses(1, self.folder, words=["cannot read", "directory"])
        self.refuses(1, "two\nlines")

    def test_a_mistake_is_told_with_its_line_and_column(self):
        for text, words in (
                ('protocol = "pcie"\n[[traffic]]\nfrom = "C"\n', ["mine.toml:3:8: ", '"from"']),
                ('protocol = "pcie"\n\n  speed = 3\n', ["mine.toml:3:3: ", '"speed"']),
                ('protocol = "x25"\n', ["mine.toml:1:12: ", '"x25"', '"hippi6400"']),
                ("protocol = \n", ["mine.toml:1:"]), ("[[[\n", ["mine.toml:1:"]),
                ("\x00\x01", ["mine.toml:1:1: "])):
            with open(self.path("mine.toml"), "w", encoding="utf-8") as file:
                file.write(text)
            self.refuses(1, "mine.toml", words=words)
            ended, error = self.run_json("ladder", "mine.toml")
            self.assertEqual((error["schema"], ended.code), ("wireproof.ladder/1", 1))
            self.expect_failure(ended, 1, error["error"])

    def test_a_file_that_is_no_scenario_at_all_is_not_read_for_long(self):
        with open(self.path("huge.toml"), "wb") as file:
            file.truncate(1 << 30)
        self.refuses(1, "huge.toml", words=["huge.toml is longer than 1 MiB"])

    def test_what_cannot_be_written_leaves_nothing_behind(self):
        for option in ("--svg", "--pcapng"):
            self.refuses(1, "pcie-wrap", option, "no/where", words=["cannot write no/where"])
            self.refuses(1, "pcie-wrap", option, ".", words=["cannot write .", "directory"])
            self.refuses(1, "pcie-wrap", option, "/dev/full", words=["/dev/full", "No space"])
        self.refuses(1, "pcie-wrap", "--svg", "fine.svg", "--pcapng", "no/where")
        self.expect_no_part_left()

    def test_an_earlier_file_stays_if_the_new_one_cannot_be_drawn(self):
        with open(self.path("old.svg"), "w", encoding="utf-8") as file:
            file.write("old")
        self.refuses(1, "nowhere.toml", "--svg", "old.svg")
        with open(self.path("old.svg"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "old")


if __name__ == "__main__":
    unittest.main()
