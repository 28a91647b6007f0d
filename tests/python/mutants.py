#!/usr/bin/env python3
"""Makes each deliberate defect of mutants.json in a copy of the package and checks that the test that it names fails.

  mutants.py PACKAGE_DIR [NAME …]    the built package; with the environment of the tests
  mutants.py --texts                 checks only that each defect can be made and that its test exists

The defects are in modules of Python, so nothing is built again.
"""
import ast
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "python" / "wireproof"
SECONDS_MAX = 300  # a test that hangs with a defect has failed
MUTANTS = json.loads((HERE / "mutants.json").read_text())


def tests_of(file):
    tree = ast.parse((HERE / file).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def complaints():
    names = [mutant["name"] for mutant in MUTANTS]
    yield from (f"{name}: twice" for name in sorted({n for n in names if names.count(n) > 1}))
    for mutant in MUTANTS:
        count = (PACKAGE / mutant["file"]).read_text().count(mutant["find"])
        if count != 1:
            yield f"{mutant['name']}: its text is {count} times in {mutant['file']}"
        file, test = mutant["killed_by"].split("::")
        if test not in tests_of(file):
            yield f"{mutant['name']}: there is no {mutant['killed_by']}"


def survives(mutant, built):
    """None if the test fails with the defect and passes without it; otherwise what happened."""
    file, test = mutant["killed_by"].split("::")
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder, "wireproof")
        shutil.copytree(built, copy)
        source = copy / mutant["file"]
        for defect in (False, True):
            if defect:
                source.write_text(source.read_text().replace(mutant["find"], mutant["replace"]))
            command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", HERE / file, "-k", test]
            environment = os.environ | {"PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
            try:
                run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS_MAX)
            except subprocess.TimeoutExpired:
                return None if defect else "the test hangs without the defect"
            if not defect and run.returncode != 0:
                return "the test fails without the defect\n" + run.stdout
            if defect and run.returncode != 1:
                return "survives\n" + run.stdout
    return None


def main():
    wrong = list(complaints())
    if sys.argv[1] != "--texts" and not wrong:
        chosen = [m for m in MUTANTS if not sys.argv[2:] or m["name"] in sys.argv[2:]]
        for mutant in chosen:
            what = survives(mutant, pathlib.Path(sys.argv[1]))
            print(f"{'killed' if what is None else 'NOT KILLED'}: {mutant['name']}", flush=True)
            if what is not None:
                wrong.append(f"{mutant['name']}: {what}")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
