"""Exhaustive searches of small worlds, and random worlds."""

from __future__ import annotations

import dataclasses
import html
import json
from collections.abc import Callable
from typing import Any

from . import _wireproof
from ._ladder import Ladder, ladder
from ._picture import in_page


@dataclasses.dataclass(frozen=True)
class Findings:
    """What a search found. A notebook shows it with its counterexample."""

    protocol: str
    verdict: str
    """"holds"; "broken": a promise is broken; "stuck": a state cannot finish, even if faults stop;
    "in_circles": it can finish, but does not; "too_many_states": the search was not completed."""
    violation: str | None
    """One line; None: no counterexample was found."""
    states: int
    """Of the world."""
    end_states: int
    """Of an end."""
    edges: int
    moves_to_finish: int
    """Of the worst state, once faults stop."""
    waits_to_finish: int
    """Of these: waits for a timer."""
    path: list[dict[str, Any]] = dataclasses.field(repr=False)
    """The moves to the counterexample, as in `wireproof search --json`."""
    circle: int | None = dataclasses.field(repr=False)
    """The index in the path from which it repeats forever."""
    text: str = dataclasses.field(repr=False)
    """The path as lines of up to 80 columns, frame by frame."""
    scenario: str | None = dataclasses.field(repr=False)
    """A scenario in which the same frames meet the same fates, in TOML."""

    @property
    def holds(self) -> bool:
        """Every state was visited, and nothing is wrong in any."""
        return self.verdict == "holds"

    @property
    def counterexample(self) -> Ladder | None:
        """The scenario, run and drawn."""
        return None if self.scenario is None else ladder(self.scenario)

    def _summary(self) -> str:
        text = (
            f"{self.protocol}: {self.verdict}; {self.states} states ({self.end_states} of an end),"
            f" {self.edges} edges"
        )
        if self.holds:
            text += (
                f"\nthe worst state needs {self.moves_to_finish} moves to finish,"
                f" {self.waits_to_finish} of them waits for a timer"
            )
        return text if self.violation is None else f"{text}\nrefuted: {self.violation}"

    def __str__(self) -> str:
        return self._summary() + (f"\n\n{self.text}" if self.text else "")

    def _repr_html_(self) -> str:
        drawn = self.counterexample
        page = f"<pre>{html.escape(self._summary())}</pre>"
        if drawn is None:
            return page
        return page + in_page(drawn.svg, drawn.name)


def search(
    protocol: str = "pcie",
    *,
    window: int = 2,
    modulus: int = 0,
    messages: int = 0,
    both_ways: bool = False,
    in_flight: int = 2,
    faults: int | None = None,
    any_faults: bool = False,
    damage: bool = True,
    duplicates: bool | None = None,
    reorder: bool | None = None,
    early_timers: bool | None = None,
    rule: str = "",
    recovery: str = "",
    states_max: int = 20_000_000,
    progress: Callable[[float], object] | None = None,
) -> Findings:
    """Visits every state that two engines and a faulty wire can reach in a small world.

    docs/guide/links/search.md describes it; the arguments are the options of `wireproof search`.

    protocol -- one of search_protocols().
    window -- frames that may be unacknowledged, 1 to 16.
    modulus -- sequence numbers; 0: the library chooses.
    messages -- from A, 1 to 100; 0: 3 for sp-am, 6 for others. both_ways: B sends as many.
    in_flight -- frames on the way, each way, 1 to 6.
    faults -- limit of faults and early timers, 0 to 100; None: as it is usual for the protocol.
        any_faults: there is no limit.
    damage, duplicates, reorder, early_timers -- what may happen; None: as it is usual.
    rule -- a rule of the engine; empty: as shipped. recovery -- of sp-am: "go-back-n", "selective".
    states_max -- the search ends after so many states; 20 million need about 0.9 GB.
    progress -- called now and then with the number of states, divided by `states_max`. If it
        raises, the search ends with this exception.

    The GIL is released. Ctrl-C ends the search. Raises Error if a setting is not possible.
    """
    arguments = {
        "protocol": protocol,
        "window": window,
        "modulus": modulus,
        "messages": messages,
        "both_ways": both_ways,
        "in_flight": in_flight,
        "faults": faults,
        "any_faults": any_faults,
        "damage": damage,
        "duplicates": duplicates,
        "reorder": reorder,
        "early_timers": early_timers,
        "rule": rule,
        "recovery": recovery,
        "states_max": states_max,
    }
    found = _wireproof.search_run(arguments, progress)
    return Findings(
        protocol=protocol,
        violation=found.pop("violation") or None,
        path=json.loads(found.pop("path") or "[]"),
        scenario=found.pop("scenario") or None,
        **found,
    )


def search_protocols() -> list[str]:
    """The names that `protocol` of search() may have."""
    return _wireproof.search_protocols()


@dataclasses.dataclass(frozen=True)
class World:
    """What happened in a random world."""

    protocol: str
    seed: int
    what: str
    """The kind of the world, in one line."""
    violation: str | None
    """The first rule that was broken, in one line; None: none was."""
    controlled: bool
    """With congestion control."""
    seconds: float
    """Simulated time."""
    operations: int
    """Of the programs."""
    failed: int
    """Of these: for want of an answer."""
    frames: int
    """That were given to cables."""
    faults: int
    """Frames that cables lost or damaged; for queue pairs also those repeated or held back."""
    resent: int
    """Frames that were sent again."""


def world(protocol: str = "sp-am", seed: int = 1, congestion: str = "") -> World:
    """Simulates a random world, as `wireproof soak --worlds 1` does. The seed determines it.

    protocol -- "sp-am"; "rc", "uc", or "ib": queue pairs of both.
    congestion -- "off", "loss" or "path"; empty: the world draws it.

    Each message and each byte is checked. The GIL is released. Raises Error if there is no such
    protocol or kind of congestion control.
    """
    found = _wireproof.world_run(protocol, seed, congestion)
    found["violation"] = found["violation"] or None
    return World(protocol=protocol, seed=seed, **found)
