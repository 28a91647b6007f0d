"""Shared by the comparisons with other programs: both ends of a measurement, rounds in turns, the table."""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

PATIENCE = 120  # seconds a command may take
PACKAGES = {"ip": "iproute2", "nft": "nftables", "ucx_perftest": "ucx-utils", "fi_pingpong": "libfabric-bin", "mpirun.openmpi": "openmpi-bin",
            "NPopenmpi": "netpipe-openmpi", "iperf3": "iperf3", "ethtool": "ethtool",
            "ib_write_lat": "perftest", "ib_write_bw": "perftest", "ib_send_lat": "perftest", "ib_send_bw": "perftest",
            "ib_read_bw": "perftest"}
port = 23000 + os.getpid() % 20000


class Absent(Exception):
    pass


class Ours(float):
    """A result of wireproof perf, with the machine's limit at that moment."""
    limit = ratio = is_limit = None


class Link:
    """Where the two ends of a measurement are, and how the client reaches the server."""
    server = "127.0.0.1"
    device = "lo"

    def far(self, command):
        return command

    def near(self, command):
        return command


LOOPBACK = Link()


def need(*programs):
    for program in programs:
        if shutil.which(program) is None:
            raise Absent(f"{program} is absent; it is in Debian's package {PACKAGES[program]}")


def next_port():
    global port
    port += 1
    return port


def run(command, environment=None):
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE,
                          env={**os.environ, **(environment or {})})
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise RuntimeError(f"{command[0]}: {lines[-1] if lines else 'failed'}")
    return done.stdout


def version_by(command, pattern):
    """The version that the command prints. Its exit code is ignored, because perftest's is 1."""
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    except (OSError, subprocess.TimeoutExpired):
        return "absent"
    found = re.search(pattern, said.stdout)
    return found[1] if found else "?"


def two_ends(server, client, environment=None, link=LOOPBACK, pinned=True):
    """Runs the server and the client and returns what the client printed. If `pinned`, the server runs on the second
    processor and the client on the first. The server has two seconds to end by itself."""
    everything = {**os.environ, **(environment or {})}

    def on(processor, command):
        return ["taskset", "-c", str(processor), *command] if pinned else command

    other = subprocess.Popen(link.far(on(1, server)), env=everything, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for attempt in range(5):
            time.sleep(0.4)
            try:
                return run(link.near(on(0, client)), environment)
            except RuntimeError:
                if attempt == 4 or other.poll() is not None:
                    raise
    finally:
        other.terminate()
        other.wait()


def ucx(environment, test, size, count, link=LOOPBACK, latency="50.0_percentile_lat", under=()):
    """UCX's own measurement. `under` is a command that runs its program."""
    def measure():
        need("ucx_perftest")
        at = str(next_port())
        out = two_ends([*under, "ucx_perftest", "-p", at, "-c", "1"],
                       [*under, "ucx_perftest", link.server, "-p", at, "-c", "0", "-t", test, "-s", str(size),
                        "-n", str(count), "-w", str(count // 10), "-f", "-v"], environment, link)
        fields = dict(zip(*(line.split(",") for line in out.strip().splitlines()[-2:])))
        if test.endswith("_lat"):
            return float(fields[latency]) * 1000
        return float(fields["overall_mr"]) * (1 if size <= 64 else size)
    return measure


def text(value, unit):
    if unit == "ns":
        if value < 10_000:
            return f"{value:.0f} ns"
        return f"{value / 1e3:.1f} us" if value < 1e6 else f"{value / 1e6:.1f} ms"
    for prefix in ("", "k", "M", "G"):
        if value < 1000 or prefix == "G":
            return f"{value:.3g} {prefix}{unit}"
        value /= 1000
    return ""


class Progress:
    """One line that tells what is measured now, if somebody looks."""

    def __init__(self):
        self.shown = sys.stderr.isatty()

    def show(self, text):
        if self.shown:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    def clear(self):
        self.show("")


def measure_in_turns(title, entries, rounds):
    """The results of each entry, and the errors. An entry that fails keeps the results of earlier rounds."""
    progress = Progress()
    figures = {name: [] for name, _ in entries}
    problems = {}
    for turn in range(rounds):
        progress.show(f"{title}: round {turn + 1} of {rounds}")
        first = turn % len(entries)
        for name, measure in entries[first:] + entries[:first]:
            if name in problems:
                continue
            try:
                figures[name].append(measure())
            except (Absent, RuntimeError, OSError, ValueError, KeyError, IndexError,
                    subprocess.TimeoutExpired) as why:
                late = isinstance(why, subprocess.TimeoutExpired)
                problems[name] = RuntimeError(f"did not end in {PATIENCE} s") if late else why
    progress.clear()
    return figures, problems


def rows(figures, problems):
    """Entries in the order of printing: a limit is below the entry that it limits, and a peer is compared
    with the last entry of wireproof above it."""
    def row(name, values, ours_over_it=()):
        return {"name": name, "median": statistics.median(values) if values else None, "least": min(values, default=None),
                "most": max(values, default=None),
                "ours_over_it": statistics.median(ours_over_it) if ours_over_it else None,
                "problem": str(problems[name]) if name in problems else None}

    ours = []
    for name, values in figures.items():
        if name.startswith("wireproof"):
            ours = values
            yield row(name, values)
            if values and isinstance(values[0], Ours):
                yield row(f"  limit {values[0].is_limit.removeprefix('bare ')}", [v.limit for v in values], [v.ratio for v in values])
        else:
            yield row(name, values, [o / v for o, v in zip(ours, values)])


def print_scenario(scenario):
    unit = scenario["unit"]
    print(f"\n{scenario['scenario']:<70} ours / it")
    for entry in scenario["entries"]:
        if entry["median"] is None:
            print(f"  {entry['name']:<36} {entry['problem']}")
            continue
        spread = f"[{text(entry['least'], unit)} - {text(entry['most'], unit)}]"
        ratio = "" if entry["ours_over_it"] is None else f"{entry['ours_over_it']:.3g}"
        print(f"  {entry['name']:<36} {text(entry['median'], unit):>9} {spread:<23} {ratio:>7}".rstrip())
        if entry["problem"]:
            print(f"    failed in a later round: {entry['problem']}")
    sys.stdout.flush()


def print_markdown(scenarios):
    """One table for the scenarios that have the same title before a semicolon. What is behind it heads their column. In
    brackets: ours / it."""
    def cell(entry, unit):
        if entry is None or entry["median"] is None:
            return ""
        ratio = "" if entry["ours_over_it"] is None else f" ({entry['ours_over_it']:.3g})"
        return text(entry["median"], unit) + ratio

    tables = {}
    for scenario in scenarios:
        title, _, column = scenario["scenario"].partition("; ")
        tables.setdefault((title, scenario["unit"]), {})[column] = {entry["name"].strip(): entry for entry in scenario["entries"]}
    for (title, unit), columns in tables.items():
        print(f"\n| {title} | {' | '.join(column or 'median' for column in columns)} |\n|---|{'---|' * len(columns)}")
        for name in dict.fromkeys(name for entries in columns.values() for name in entries):
            print(f"| {name} | {' | '.join(cell(entries.get(name), unit) for entries in columns.values())} |")


def parser_of(text):
    """The options of all comparisons."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wireproof", nargs="?",
                        default=str(pathlib.Path(__file__).parent.parent / "build/release/wireproof/cli/wireproof"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one short round: does it all still run")
    parser.add_argument("--only", action="append", metavar="WORDS", help="scenarios with these words in their title")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true")
    form.add_argument("--markdown", action="store_true", help="tables for docs/reference/performance.md")
    return parser


def parse(parser):
    args = parser.parse_args()
    if args.rounds < 1:
        sys.exit(f"{parser.prog}: --rounds {args.rounds}: at least one")
    if not os.access(args.wireproof, os.X_OK):
        sys.exit(f"{parser.prog}: no program at {args.wireproof}; build the release preset")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda caught, _: sys.exit(128 + caught))  # servers end then, and namespaces go
    return args


def compare(args, versions, scenarios, note):
    """Measures the scenarios and prints each as soon as it is complete: all of them take a quarter of an hour."""
    name = pathlib.Path(sys.argv[0]).name
    rounds = 1 if args.quick else args.rounds
    result = {"schema": f"wireproof.{name}/1", "rounds": rounds, "versions": versions, "scenarios": []}
    absent = set()
    for title, unit, entries in scenarios:
        if args.only and not any(part in title for part in args.only):
            continue
        if not args.json and not result["scenarios"]:
            print(", ".join(f"{name} {version}" for name, version in versions.items()))
            print(f"Medians of {rounds}, least and most in brackets; {os.cpu_count()} processors, load "
                  f"{os.getloadavg()[0]:.1f} before.\n{note}", flush=True)
        figures, problems = measure_in_turns(title, entries, rounds)
        absent.update(str(why) for why in problems.values() if isinstance(why, Absent))
        scenario = {"scenario": title, "unit": unit, "entries": list(rows(figures, problems))}
        result["scenarios"].append(scenario)
        if not args.json and not args.markdown:
            print_scenario(scenario)
    if not result["scenarios"]:
        sys.exit(f"{name}: no scenario has {' or '.join(args.only)} in its title")
    if args.json:
        print(json.dumps(result))
    if args.markdown:
        print_markdown(result["scenarios"])
        absent.update(f"{scenario['scenario']}: {entry['name'].strip()}: {entry['problem']}" for scenario in result["scenarios"]
                      for entry in scenario["entries"] if entry["problem"])
    for why in sorted(absent):
        print(why, file=sys.stderr)
