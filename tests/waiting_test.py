#!/usr/bin/env python3
"""Fails if docs/developers/waiting.md and the constants of waiting in the code differ.

  waiting_test.py SOURCE_DIR
  waiting_test.py --self-test

A row is `| constant | file | value | reason | measured by |`, with paths below wireproof/. Each value must be that of
the file. Each duration in the FOLDERS must have a name and be on the page, and so must each constant of the DECIDERS,
which only decide how to wait. A program of the last column is in bench/.
"""
import functools
import pathlib
import re
import sys

PAGE = "docs/developers/waiting.md"
FOLDERS = ["core/backoff.hpp", "front/am", "front/ib", "front/rdma", "front/verbs", "host", "proto/am", "proto/ib", "wire/shm",
           "wire/udp"]
DECIDERS = {"ack_policy.hpp", "doubling_pause.hpp", "keeper.cpp", "keeper.hpp", "poll_delay.hpp",
            "poll_habit.hpp", "poll_round.hpp", "poll_turns.hpp", "post_gather.hpp", "publish_pace.hpp",
            "spin_budget.hpp", "spin_clock.hpp", "turns.hpp", "wait_steps.hpp",
            "yield_budget.hpp"}
# A definition or the default of a member; or what a function gives to a member of a configuration.
DEFINED = re.compile(r"(?P<const>\bconstexpr\s+)?\b(?P<type>[A-Za-z][\w:]*)\s+(?P<name>\w+)\s*"
                     r"(?P<value>=[^;]+|\{[^{};]+\});")
GIVEN = re.compile(r"\bconfig\.(?P<name>\w+)\s*=\s*(?P<value>Duration::[^;]+);")
UNITS = {"nanoseconds": 1, "microseconds": 1_000, "milliseconds": 1_000_000, "seconds": 1_000_000_000,
         "hours": 3_600_000_000_000}
SHORT = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "min": 60_000_000_000, "h": 3_600_000_000_000}
# The unit of timers in the specification of InfiniBand, 4.096 us, is a factor and no time to wait.
NAMELESS = re.compile(r"\bDuration::\w+\((?!4096\))[\d']+\)")
TIME = re.compile(r"(?:Duration|std::chrono)::(\w+)[({]([\d']+)[)}]")
COUNT = re.compile(r"\{?([\d']+)U?\}?")


def is_time(kind, value):
    """A Duration, or a time of std::chrono, that is written down: it does not come from a variable."""
    written = r"(?:\bDuration|chrono)::(?:nano|micro|milli)?(?:seconds|hours)\b|\bcm_response_time\(\d|^\{[\d']+\}$"
    return (kind == "Duration" or kind.startswith("std::chrono")) and re.search(written, value) is not None


def value_of(kind, text):
    """Returns nanoseconds as a text, a number as a text, or the expression without spaces."""
    text = "".join(text.split())
    if time := TIME.fullmatch(text):
        return f"{int(time[2].replace(chr(39), '')) * UNITS[time[1]]} ns"
    if count := COUNT.fullmatch(text):
        number = int(count[1].replace("'", ""))
        unit = UNITS.get(kind.split("::")[-1])
        return f"{number * unit} ns" if unit else str(number)
    return text


def constants(text, decides):
    """Yields the name and the value of each constant that the page must or may have, and whether it must."""
    text = re.sub(r"//[^\n]*", "", text)
    for found in DEFINED.finditer(text):
        kind, value = found["type"], found["value"].lstrip("= ").strip()
        must = is_time(kind, value) or decides and bool(found["const"])
        if must or found["const"]:
            yield found["name"], value_of(kind, value), must
    for found in GIVEN.finditer(text):
        yield found["name"], value_of("Duration", found["value"]), True
    for found in NAMELESS.finditer(GIVEN.sub("", DEFINED.sub("", text))):
        yield "a duration without a name, " + found[0], "", True


def value_shown(cell):
    """The values of a cell, in the form of value_of()."""
    shown = []
    for part in cell.split("; "):
        if time := re.fullmatch(r"([\d.,]+) (\w+)", part):
            shown.append(f"{round(float(time[1].replace(',', '')) * SHORT.get(time[2], 0))} ns")
        else:
            shown.append("".join(part.strip("`").replace(",", "").split()))
    return shown


@functools.cache
def code(root):
    """Returns the constants of each file: a list of values for each name, and the names that must be on the page."""
    known, must_have = {}, set()
    for folder in FOLDERS:
        base = root / "wireproof" / folder
        for file in [base] if base.is_file() else sorted(base.rglob("*.[ch]pp")):
            if "_test" in file.name:
                continue
            path = str(file.relative_to(root / "wireproof"))
            for name, value, must in constants(file.read_text(), file.name in DECIDERS):
                known.setdefault((path, name), []).append(value)
                if must:
                    must_have.add((path, name))
    return known, must_have


def check(root, text):
    problems, rows, on_page = [], 0, set()
    known, must_have = code(root)
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if not line.startswith("| `") or len(cells) != 5:
            continue
        rows += 1
        place = (cells[1].strip("`"), re.split(r"\W+", re.findall(r"`([^`]+)`", cells[0])[-1])[-1])
        on_page.add(place)
        if place not in known:
            problems.append(f"{place[1]} is not a constant of {place[0]}")
        elif known[place] != value_shown(cells[2]):
            problems.append(f"{place[0]}: {place[1]} is {'; '.join(known[place])}, and not {cells[2]}")
        if not cells[3]:
            problems.append(f"{place[1]} has no reason")
        for program in re.findall(r"`bench/([\w.]+)`", cells[4]):
            if not any((root / "bench" / (program + end)).exists() for end in ("", ".cpp")):
                problems.append(f"bench/{program}: no such program")
        if cells[4] != "-" and "`bench/" not in cells[4]:
            problems.append(f"{place[1]}: no program of bench/ measures it")
    problems += [f"{path}: {name} is not on the page" for path, name in sorted(must_have - on_page)]
    return problems, rows


def self_test(root):
    page = (root / PAGE).read_text()
    wrong = [("| 60 us |", "| 61 us |"), ("`SpinBudget::most`", "`SpinBudget::utmost`"),
             ("`bench/many_peers`", "`bench/few_peers`"),
             ("`host/spin_budget.hpp` | 120 us", "`host/wait_budget.hpp` | 120 us")]
    unlisted = ("| `BufferPool::rest`", "| `PostGather::most`")
    wrong += [(line, "") for line in page.splitlines() if line.startswith(unlisted)]
    missed = [new or old for old, new in wrong if old not in page or not check(root, page.replace(old, new, 1))[0]]
    for text in ("constexpr Duration rest = Duration::milliseconds(3);",
                 "    Duration rest = Duration::nanoseconds(1'500);",
                 "    config.rest = Duration::seconds(1);", "constexpr std::chrono::milliseconds rest{20};"):
        if [name for name, _, must in constants(text, False) if must] != ["rest"]:
            missed.append(text)
    if not [name for name, _, must in constants("if (gone > Duration::milliseconds(3)) return;", False) if must]:
        missed.append("a duration without a name")
    print("\n".join(missed))
    return not missed and not check(root, page)[0]


def main():
    root = pathlib.Path(__file__).resolve().parents[1]
    if sys.argv[1] == "--self-test":
        return 0 if self_test(root) else 1
    root = pathlib.Path(sys.argv[1])
    problems, rows = check(root, (root / PAGE).read_text())
    print("\n".join([*problems, f"{rows} rows, {len(problems)} problems"]))
    return 1 if problems or rows < 80 else 0


if __name__ == "__main__":
    sys.exit(main())
