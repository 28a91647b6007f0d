#!/usr/bin/env python3
"""What the tests cost, beside the figures in budget.json.

  budget.py check BUILD_DIR…     compares what does not depend on the machine; exits with 1 if a figure is too large
  budget.py write BUILD_DIR…     writes these figures into budget.json
  budget.py --self-test

A figure may be exceeded by a tenth. Whoever needs more raises it in budget.json, and says why in the commit. Each build
tree has the name of its preset.
"""
import collections
import json
import pathlib
import subprocess
import sys
import resource
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
FIGURES = FOLDER / "budget.json"
ROOM = 1.10       # for what is counted
TIME_ROOM = 1.50  # for processor time, which depends on the machine even if it is scaled


def lines_in(path, known={}):
    if path not in known:
        try:
            known[path] = pathlib.Path(path).read_bytes().count(b"\n")
        except OSError:
            known[path] = 0
    return known[path]


def part_of(output):
    """The folder to which an object file belongs: wireproof/proto/am."""
    return output.split("/CMakeFiles/")[0] if "/CMakeFiles/" in output else "."


def compiled(build):
    """The translation units of a build tree and the lines that the compiler reads for them, by folder. A header counts
    once for each unit that includes it."""
    parts = collections.defaultdict(lambda: [0, 0])
    listed = subprocess.run(["ninja", "-C", str(build), "-t", "deps"], capture_output=True, text=True).stdout
    for block in listed.split("\n\n"):
        head, *files = block.splitlines() or [""]
        output = head.split(":")[0]
        if output.endswith(".o"):
            part = parts[part_of(output)]
            part[0] += 1
            part[1] += sum(lines_in(str(build / file.strip())) for file in files)
    return {part: {"units": units, "lines": lines} for part, (units, lines) in sorted(parts.items())}


def entries(build):
    """The entries of ctest by label."""
    shown = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"], capture_output=True, text=True)
    counts = collections.Counter()
    for test in json.loads(shown.stdout)["tests"]:
        labels = [p["value"] for p in test.get("properties", []) if p["name"] == "LABELS"]
        counts.update(labels[0] if labels else ["none"])
    return dict(sorted(counts.items()))


def measured(builds):
    return {build.name: {"compiled": compiled(build), "entries": entries(build)} for build in builds}


def total(figures, what):
    return sum(part[what] for part in figures["compiled"].values())


def table(now, agreed):
    """Lines of text, and the names of what is too large."""
    lines, large = [f"{'':10}{'':24}{'now':>12}{'figure':>12}"], []
    for preset, figures in now.items():
        if preset not in agreed:
            lines.append(f"{preset:10}has no figures")
            continue
        old = agreed[preset]
        rows = [(what, total(figures, what), total(old, what)) for what in ("units", "lines")]
        rows += [(f"entries: {label}", count, old["entries"].get(label, 0))
                 for label, count in figures["entries"].items()]
        for what, count, figure in rows:
            exceeds = count > ROOM * figure
            lines.append(f"{preset:10}{what:24}{count:12,}{figure:12,}{'  too large' if exceeds else ''}")
            if not exceeds:
                continue
            large.append(f"{preset}: {what}")
            if what in ("units", "lines"):
                grown = [(part[what] - old["compiled"].get(name, {what: 0})[what], name)
                         for name, part in figures["compiled"].items()]
                lines += [f"{'':12}{name}: {more:+,}" for more, name in sorted(grown, reverse=True)[:10] if more > 0]
    return lines, large


def reference_seconds(compiler="g++"):
    """The processor time that this machine needs for reference.cpp: the least of three."""
    best = None
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([compiler, "-std=c++20", "-O1", "-c", str(FOLDER / "reference.cpp"), "-o", f"{folder}/o"],
                           check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            best = spent if best is None else min(best, spent)
    return best


def figures():
    return json.loads(FIGURES.read_text()) if FIGURES.exists() else {}


def self_test():
    def tree(units, lines, tests):
        return {"compiled": {"a": {"units": 1, "lines": 10}, "b": {"units": units, "lines": lines}},
                "entries": {"unit": tests}}

    same = {"dev": tree(9, 990, 20)}
    assert table(same, same)[1] == []
    assert table({"dev": tree(10, 1090, 22)}, same)[1] == [], "a tenth more is allowed"
    text, large = table({"dev": tree(12, 1200, 23)}, same)
    assert large == ["dev: units", "dev: lines", "dev: entries: unit"], large
    assert any("b: +210" in line for line in text) and not any(" a: " in line for line in text), text
    assert table({"new": tree(1, 1, 1)}, same)[1] == [], "nothing is known of a preset without figures"
    assert table({"dev": {**tree(9, 990, 20), "entries": {"unit": 20, "new": 1}}}, same)[1] == ["dev: entries: new"]
    assert part_of("wireproof/proto/am/CMakeFiles/x.dir/Unity/unity_0_cxx.cxx.o") == "wireproof/proto/am"
    assert reference_seconds() > 0
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    now = measured([pathlib.Path(build).resolve() for build in sys.argv[2:]])
    if sys.argv[1] == "write":
        FIGURES.write_text(json.dumps({**figures(), "presets": now}, indent=1) + "\n")
        return 0
    lines, large = table(now, figures().get("presets", {}))
    print("\n".join(lines))
    return 1 if large else 0


if __name__ == "__main__":
    sys.exit(main())
