"""Reads the counters of the device of a running program, with the reader that docs/reference/counters.md shows."""
import pathlib
import re

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference" / "counters.md"
READER = re.search(r"```python\n(.*?)\nfor details", PAGE.read_text(encoding="utf-8"), re.S)[1]
of_reader = {}
exec(compile(READER, str(PAGE), "exec"), of_reader)


def counters_of(process):
    """Returns values by name. Those of a queue pair have names as queue_pairs.17.sent. Empty: there are none."""
    found = {}
    try:
        for _, whole, queue_pairs in of_reader["sections"](process):
            found.update(whole)
            for number, counters in queue_pairs.items():
                found.update({f"queue_pairs.{number}.{name}": value for name, value in counters.items()})
    except OSError:
        pass  # the program has ended, or closes its device now
    return found
