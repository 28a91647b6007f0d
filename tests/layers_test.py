#!/usr/bin/env python3
"""Fails if a file includes a folder it may not know, reads a clock where none may be, or is too long.

The table is the architecture: change it in a commit of its own.
"""
import pathlib
import re
import sys
import tempfile

MAY_INCLUDE = {  # besides its own folder; "public" = include/wireproof/*.hpp
    "public": set(),  # the standard library only
    "base": set(),
    "core": {"base"},
    "proto": {"base", "core"},  # and never a sibling protocol
    "wire": {"base", "core"},
    "sim": {"base", "core"},
    "host": {"base", "core"},
    "front": {"public", "base", "core", "proto", "wire", "host"},
    "lab": {"public", "base", "core", "proto", "sim"},  # no wire, no host: a run is a function of its seed
    "cli": {"public", "base", "core", "proto", "wire", "sim", "host", "front", "lab"},
    "examples": {"public"},
    "examples/inside": {"public", "base", "core", "proto", "wire", "sim", "host", "front", "lab"},
}
SLICED = {"proto", "wire", "front"}  # folders of these are strangers to each other
PURE = {"core", "proto"}
IMPURE = re.compile(
    r"<(thread|mutex|random|chrono|iostream|fstream|cstdio|ctime|unistd\.h|sys/.*|arpa/.*|netinet/.*)>"
    r"|steady_clock|system_clock"
)
LINES_MAX = 800
INCLUDE = re.compile(r'\s*#\s*include [<"](wireproof/[^">]+)[">]')
SYSTEM_INCLUDE = re.compile(r'\s*#\s*include [<"]([^">]+)[">]')
NAMESPACE = re.compile(r"namespace (wireproof[a-z:_]*) \{")
TYPE = re.compile(r"(?:struct|class) ([A-Z]\w*)(?: final)? (?:\{|:)")
STANDARD_HEADER = re.compile(r"^[a-z_0-9]+$")


def unit(path):
    """wireproof/proto/pcie/link.hpp -> ("proto", "pcie"); wireproof/am.hpp -> ("public", "")"""
    parts = path.split("/")
    if parts[0] == "examples":
        return ("examples/inside" if parts[1] == "inside" else "examples"), ""
    parts = parts[1:]
    if len(parts) == 1:
        return "public", ""
    return parts[0], parts[1] if parts[0] in SLICED and len(parts) > 2 else ""


def allowed(here, there):
    return there == here or there[0] in MAY_INCLUDE[here[0]]


def check(root):
    complaints = []
    types = {}  # by qualified name, the header: two of one name would be one to the linker
    files = [p for top in ("wireproof", "include", "examples") for p in (root / top).rglob("*.[hc]pp")]
    for file in sorted(files):
        name = str(file.relative_to(root)).removeprefix("include/")
        here = unit(name)
        lines = file.read_text().splitlines()
        if len(lines) > LINES_MAX:
            complaints.append(f"{name}: {len(lines)} lines; split it by role below {LINES_MAX}")
        namespace = ""
        for number, line in enumerate(lines, 1):
            opened = NAMESPACE.match(line)
            namespace = opened[1] if opened else namespace
            defined = TYPE.match(line) if file.suffix == ".hpp" else None
            if defined:
                other = types.setdefault(f"{namespace}::{defined[1]}", name)
                if other != name:
                    complaints.append(f"{name}:{number}: {defined[1]} is also defined in {other}")
            include = INCLUDE.match(line)
            if include and not allowed(here, unit(include[1])):
                complaints.append(f"{name}:{number}: {'/'.join(filter(None, here))} may not include {include[1]}")
            system = SYSTEM_INCLUDE.match(line)
            if here[0] == "public" and system and not include and not STANDARD_HEADER.match(system[1]):
                complaints.append(f"{name}:{number}: a public header includes {system[1]}")
            if here[0] in PURE and not file.stem.endswith("_test") and IMPURE.search(line):
                complaints.append(f"{name}:{number}: {here[0]} is pure: {line.strip()}")
    if not files:
        complaints.append(f"{root}: no sources found")
    return complaints


def self_test():
    planted = {
        "wireproof/proto/am/a.cpp": '#include "wireproof/wire/udp/b.hpp"\n',
        "wireproof/proto/am/b.cpp": '#include "wireproof/proto/pcie/link.hpp"\n',
        "wireproof/core/c.hpp": "#include <chrono>\n",
        "wireproof/lab/d.cpp": '#include "wireproof/host/clock.hpp"\n',
        "wireproof/wire/udp/e.hpp": '#include "wireproof/wire/memory/f.hpp"\n',
        "include/wireproof/g.hpp": '#include "wireproof/base/bytes.hpp"\n',
        "examples/h.cpp": "#include <wireproof/core/engine.hpp>\n",
        "wireproof/base/i.cpp": "\n" * (LINES_MAX + 1),
        "wireproof/lab/k.hpp": "namespace wireproof::lab {\nstruct Twice {\n",
    }
    fine = {
        "wireproof/proto/am/ok.cpp": '#include "wireproof/core/engine.hpp"\n#include "wireproof/proto/am/x.hpp"\n',
        "wireproof/host/ok.cpp": "#include <chrono>\n",
        "wireproof/lab/j.hpp": "namespace wireproof::lab {\nstruct Twice {\n",
        "wireproof/lab/ok.hpp": "namespace wireproof::sim {\nstruct Twice {\n",
        "examples/ok.cpp": "#include <wireproof/am.hpp>\n",
    }
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {**planted, **fine}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        complaints = check(root)
    for name in planted:
        if not any(c.startswith(name.removeprefix("include/")) for c in complaints):
            print(f"not caught: {name}")
            return 1
    if len(complaints) != len(planted):
        print("\n".join(complaints))
        return 1
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    complaints = check(pathlib.Path(sys.argv[1]))
    print("\n".join(complaints))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
