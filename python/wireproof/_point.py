"""One setting of a link, simulated: a point."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from . import _wireproof


@dataclasses.dataclass(frozen=True)
class Bursts:
    """Bursts of bad frames forward, after the model of Gilbert and Elliott."""

    begin: float
    """The probability that a burst begins with a frame."""
    end: float = 1.0
    """The probability that a burst ends with a frame."""
    bad: float = 1.0
    """The probability that a frame in a burst is bad."""


@dataclasses.dataclass(frozen=True)
class Figures:
    """The results of a point. docs/guide/links/link-retry.md describes them.

    A unit is what the sender retransmits: a packet, a flit, or a micropacket. Times and lengths are
    in bytes on the line: a time is the number of bytes that the line can carry in it. A figure that
    does not exist for the settings is None.
    """

    packets: float
    """Units that the receiver accepted."""
    etr: float
    """Accepted payload, divided by the bytes of all units that were sent. 0 to 1."""
    throughput: float
    """Accepted payload, divided by the time. 0 to 1."""
    resend_ratio: float
    """Units that arrived and that the receiver did not accept, divided by `packets`."""
    relative_error: float | None
    """The standard error of `resend_ratio`, divided by it."""
    closed_etr: float | None
    """`etr` by the closed form."""
    closed_ratio: float | None
    """`resend_ratio` by the closed form."""
    deviation: float | None
    """`resend_ratio` minus `closed_ratio`, in standard errors."""
    closed_at_edge: bool
    """The closed form is there, but at the edge of its domain: it may be wrong by some per cent."""
    resent: float
    """Retransmissions of units."""
    timeouts: float
    """Timers of the sender that expired."""
    notices: float
    """Notices that the receiver sent: Naks, for example."""
    acks: float
    """Frames of the receiver that only acknowledge."""
    frames: float
    """All frames, in both directions."""
    line_bytes: float
    """The simulated time, in bytes on the line."""
    jumped: float
    """How many of the `packets` were not simulated one by one."""
    unit_bytes: float
    """The length of a unit on the line, in bytes."""
    buffer_mean_units: float
    """How many units the replay buffer had, on average."""
    buffer_most_units: int
    """And at most."""
    latency_p50_bytes: int
    """50 % of the units take at most this time until the receiver accepts them, in bytes."""
    latency_p99_bytes: int
    """The same for 99 %."""
    latency_p99_9_bytes: int
    """The same for 99.9 %."""
    latency_max_bytes: int
    """The longest time, in bytes."""


def arguments_of(
    protocol: str, bit_error_rate: float, bursts: Bursts | None, **others: Any
) -> dict[str, Any]:
    """The arguments of the extension."""
    arguments = {"protocol": protocol, "bit_error_rate": bit_error_rate, **others}
    if bursts is not None:
        arguments |= {
            "bursts_begin": bursts.begin,
            "bursts_end": bursts.end,
            "bursts_bad": bursts.bad,
        }
    return arguments


def point(
    protocol: str = "pcie",
    bit_error_rate: float = 0.0,
    *,
    payload: int = 4096,
    loop: int = 2000,
    buffer: int = 0,
    ack_every: int = 0,
    timer: int = 0,
    notice_loss: float = 0.0,
    clean_back: bool = False,
    loaded_back: bool = False,
    renak_on_bad_head: bool = False,
    bursts: Bursts | None = None,
    packets: int = 0,
    relative_error: float = 0.02,
    packets_max: int = 10**18,
    seed: int = 1,
    jump: bool = True,
    progress: Callable[[float], object] | None = None,
) -> Figures:
    """Simulates a saturated sender on a link with bit errors, and returns its figures.

    protocol -- one of point_protocols().
    bit_error_rate -- the probability that a bit is wrong, both ways: 0, or 1e-17 to 0.1.
    payload -- bytes of a message, 1 to 65,536 or fewer.
    loop -- bytes on the line from the end of a damaged unit to its earliest retransmission.
    buffer -- units that may be unacknowledged; 0: the library chooses.
    ack_every -- units that are acknowledged together; 0: the library chooses.
    timer -- bytes on the line that the sender waits for an acknowledgement; 0: the library chooses.
    notice_loss -- the probability that a notice is lost, in addition to bit errors.
    clean_back -- no bit errors on the way back.
    loaded_back -- the receiver always has messages to send, too.
    renak_on_bad_head -- only for pcie: a retransmitted packet that is damaged draws another Nak.
    packets -- the simulation ends after so many units; 0: when `relative_error` is reached, or
        after `packets_max` units.
    seed -- of all random numbers: the same seed gives the same figures on each machine.
    jump -- False: each frame is simulated; the figures are the same.
    progress -- called several times per second with the share that is done, 0 to 1. If it raises,
        the simulation ends with this exception.

    The GIL is released: several threads may simulate at the same time. Ctrl-C ends the simulation.
    Raises Error if a setting is not possible.
    """
    arguments = arguments_of(
        protocol,
        bit_error_rate,
        bursts,
        payload=payload,
        loop=loop,
        buffer=buffer,
        ack_every=ack_every,
        timer=timer,
        notice_loss=notice_loss,
        clean_back=clean_back,
        loaded_back=loaded_back,
        renak_on_bad_head=renak_on_bad_head,
        packets=packets,
        relative_error=relative_error,
        packets_max=packets_max,
        seed=seed,
        jump=jump,
    )
    return Figures(**_wireproof.point_run(arguments, progress))


def point_protocols() -> list[str]:
    """The names that `protocol` may have. "go-back-n" and "ideal" are models without an engine."""
    return _wireproof.point_protocols()
