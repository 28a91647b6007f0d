"""Wireproof for Python: simulations of retransmission on a link, and Active Messages.

    import wireproof

    wireproof.point("pcie", 1e-9).throughput
    wireproof.sweep({"protocol": ["pcie", "ideal"], "ber": [1e-7, 1e-6]}).curve()
    wireproof.first_failure("pcie", 1e-6)

docs/guide/messages/python.md describes the package.
"""

from ._curve import Curve
from ._endpoint import Endpoint
from ._errors import Closed, Error, HandlerFailed, PeerLost, TimedOut
from ._grid import Grid
from ._ladder import Ladder, first_failure, ladder
from ._memory import Memory
from ._message import Message
from ._point import Bursts, Figures, point, point_protocols
from ._search import Findings, World, search, search_protocols, world
from ._sweep import SweepResult, sweep
from ._wireproof import Allocation
from ._wireproof import version as __version__

__all__ = [
    "Allocation",
    "Bursts",
    "Closed",
    "Curve",
    "Endpoint",
    "Error",
    "Figures",
    "Findings",
    "Grid",
    "HandlerFailed",
    "Ladder",
    "Memory",
    "Message",
    "PeerLost",
    "SweepResult",
    "TimedOut",
    "World",
    "__version__",
    "first_failure",
    "ladder",
    "point",
    "point_protocols",
    "search",
    "search_protocols",
    "sweep",
    "world",
]
