#!/usr/bin/env python3
"""Makes each listed defect of the package (tests/mutants/listed.json) in a copy and checks that the test that it names
fails.

  mutants.py PACKAGE_DIR [NAME …]    the built package; with the environment of the tests

The defects are in modules of Python, so nothing is built again.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SECONDS_MAX = 300  # a test that hangs with a defect has failed
FOLDER = "python/wireproof/"
MUTANTS = [mutant for mutant in json.loads((HERE.parent / "mutants/listed.json").read_text())
           if mutant["file"].startswith(FOLDER)]


def survives(mutant, built):
    """None if the test fails with the defect and passes without it; otherwise what happened."""
    file, test = mutant["killed_by"].split("::")
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder, "wireproof")
        shutil.copytree(built, copy)
        source = copy / mutant["file"].removeprefix(FOLDER)
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
    package, names = pathlib.Path(sys.argv[1]), sys.argv[2:]
    chosen = [m for m in MUTANTS if not names or m["name"] in names]
    if not chosen:
        print(f"no defect of Python is named {' or '.join(names)}")
        return 1
    wrong = []
    for mutant in chosen:
        what = survives(mutant, package)
        print(f"{'killed' if what is None else 'NOT KILLED'}: {mutant['name']}", flush=True)
        if what is not None:
            wrong.append(f"{mutant['name']}: {what}")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
