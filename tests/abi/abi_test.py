#!/usr/bin/env python3
"""Compares the interface for C with the baseline in wireproof_0.abi and constants_0.txt: a program that was built with
the baseline must run with the library of today.

  abi_test.py SOURCE_DIR              compares
  abi_test.py --write SOURCE_DIR      writes the baseline: for a release whose interface has grown
  abi_test.py --self-test SOURCE_DIR  checks that a change is noticed

abidw reads types from debugging information. So the script compiles a library from the header, in which each function
has an empty body: the types of C++ behind the handles do not appear. The symbols have the versions of the real library.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

HEADER = "include/wireproof/lab.h"  # it includes wireproof.h
SYMBOLS = "cmake/wireproof.map.in"
BASELINE, CONSTANTS = "tests/abi/wireproof_0.abi", "tests/abi/constants_0.txt"
EXPORTED = '__attribute__((visibility("default")))'


def run(*command, allowed=(0,), **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **more)
    if done.returncode not in allowed:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def library(header, symbols, folder):
    """Compiles the functions of the header, with the versions of the symbols, and returns the file."""
    text = run("gcc", "-std=c99", "-E", "-P", "-I", header.parents[1], header).stdout
    types, _, functions = text.partition(EXPORTED)
    bodies = []
    for part in functions.split(EXPORTED):
        declaration, _, more = part.partition(";")
        bodies.append(f"{declaration} {{ __builtin_trap(); }}{more}")
    (folder / "functions.c").write_text(types + "\n".join(bodies), encoding="utf-8")
    (folder / "symbols.map").write_text(re.sub(r"@\w+@", "0", symbols.read_text(encoding="utf-8")), encoding="utf-8")
    made = folder / "libwireproof.so.0"
    # A symbol of the list that the header does not declare is an error.
    run("gcc", "-std=c99", "-g", "-O0", "-fPIC", "-shared", "-w", "-fuse-ld=bfd", folder / "functions.c",
        f"-Wl,--version-script={folder / 'symbols.map'}", "-Wl,-soname,libwireproof.so.0", "-Wl,--no-undefined-version",
        "-o", made)
    return made


def describe(made, out):
    run("abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--out-file", out, made)


def difference(baseline, made):
    # Bits of the code: 4 a change, 8 an incompatible one. Something that is only new is a change, too.
    done = run("abidiff", "--no-added-syms", baseline, made, allowed=(0, 4, 8, 12))
    return done.stdout if done.returncode else ""


def constants(header, folder):
    """Returns each enumerator of the header with its value. Programs have these numbers inside."""
    text = run("gcc", "-std=c99", "-E", "-P", "-I", header.parents[1], header).stdout
    names = re.findall(r"\bWIREPROOF_\w+(?= = )", text)
    lines = "".join(f'    printf("{name} %d\\n", {name});\n' for name in names)
    (folder / "constants.c").write_text(f'#include <stdio.h>\n#include "{header}"\nint main(void) {{\n{lines}}}\n')
    run("gcc", "-std=c99", "-I", header.parents[1], folder / "constants.c", "-o", folder / "constants")
    return run(folder / "constants").stdout


def changed_constants(baseline, now):
    return "".join(f"changed or missing: {line}\n" for line in baseline.splitlines() if line not in now.splitlines())


def self_test(source, folder):
    made = library(source / HEADER, source / SYMBOLS, folder)
    describe(made, folder / "base.abi")
    assert difference(folder / "base.abi", made) == ""
    assert changed_constants("A 1\nB 2\n", "A 1\nB 3\nC 4\n") == "changed or missing: B 2\n"
    assert "WIREPROOF_PEER_LOST 5\n" in constants(source / HEADER, folder)
    changed = folder / "include" / "wireproof"
    changed.mkdir(parents=True)
    for name in ("version.h", "lab.h"):
        (changed / name).write_text((source / HEADER).with_name(name).read_text())
    text = (source / HEADER).with_name("wireproof.h").read_text()
    for before, after, word in (("uint64_t seed;  ", "uint32_t seed;  ", "wireproof_options"),
                                ("size_t peer,\n", "int peer,\n", "from 64 to 32"),
                                ("uint32_t argument;     // of a store\n    uint32_t handler; ",
                                 "uint32_t handler;\n    uint32_t argument; ", "wireproof_message")):
        assert before in text, before
        (changed / "wireproof.h").write_text(text.replace(before, after))
        found = difference(folder / "base.abi", library(changed / "lab.h", source / SYMBOLS, folder))
        assert word in found, f"{after}: {found}"


def main(arguments):
    source = pathlib.Path(arguments[-1]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if arguments[0] == "--self-test":
            self_test(source, folder)
            return 0
        made = library(source / HEADER, source / SYMBOLS, folder)
        if arguments[0] == "--write":
            describe(made, source / BASELINE)
            (source / CONSTANTS).write_text(constants(source / HEADER, folder), encoding="utf-8")
            return 0
        found = difference(source / BASELINE, made)
        found += changed_constants((source / CONSTANTS).read_text(encoding="utf-8"), constants(source / HEADER, folder))
        print(found, end="")
        return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
