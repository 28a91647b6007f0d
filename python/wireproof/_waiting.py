"""Which tasks wait for an answer, or for the end of a transfer."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from ._errors import PeerLost, of_status

_STATUS = (
    "ok would_block too_long not_allowed no_such_peer peer_lost no_handler forbidden closed timed_out"
).split()


class Waiting:
    """The tasks of one endpoint. A number names each answer and each transfer."""

    def __init__(self) -> None:
        # By number: the peer, and who waits for the answer.
        self._calls: dict[int, tuple[int, asyncio.Future[bytes]]] = {}
        # By peer and handler: the numbers of requests of which it is not known whether the peer had
        # the handler. Given up ones stay: the peer may still refuse them. In the order of sending.
        self._unsure: dict[tuple[int, int], dict[int, None]] = {}
        self._asked: dict[int, tuple[int, int]] = {}  # the key in _unsure, by number
        self._transfers: dict[int, tuple[int, asyncio.Future[None]]] = {}
        self._ended: list[tuple[int, asyncio.Future[None]]] = []  # by a loss that is not reported yet

    def has_calls(self) -> bool:
        """Whether a task waits for an answer."""
        return bool(self._calls)

    async def answer(
        self, number: int, peer: int, handler: int, waiting: asyncio.Future[bytes]
    ) -> bytes:
        """Waits for the answer of `handler`."""
        self._calls[number] = (peer, waiting)
        self._asked[number] = (peer, handler)
        self._unsure.setdefault((peer, handler), {})[number] = None
        try:
            return await waiting
        finally:
            self._calls.pop(number, None)

    @contextlib.contextmanager
    def transfer(self, number: int, peer: int, waiting: asyncio.Future[None]) -> Iterator[None]:
        """As long as it lasts, the transfer may end."""
        self._transfers[number] = (peer, waiting)
        try:
            yield
        finally:
            self._transfers.pop(number, None)

    def answered(self, number: int, peer: int, result: bytes | BaseException) -> None:
        """The peer has answered. An answer of another peer, or one that is too late, is dropped."""
        self.taken(number, peer)
        call = self._calls.get(number)
        if call is None or call[0] != peer:
            return
        if isinstance(result, bytes):
            _finish(call[1], result)
        else:
            _fail(call[1], result)

    def taken(self, number: int, peer: int) -> None:
        """The peer has the handler of this request."""
        key = self._asked.get(number)
        if key is not None and key[0] == peer:
            self._sure(number, key)

    def _sure(self, number: int, key: tuple[int, int]) -> None:
        del self._asked[number]
        of_handler = self._unsure[key]
        del of_handler[number]
        if not of_handler:
            del self._unsure[key]

    def transferred(self, number: int, status: int) -> None:
        """The transfer has ended."""
        peer, waiting = self._transfers.get(number, (0, None))
        if waiting is None:
            return
        name = _STATUS[status] if status < len(_STATUS) else "failed"
        if name == "ok":
            _finish(waiting, None)
        elif name == "peer_lost":
            self._ended.append((peer, waiting))  # the report that follows has the text
        else:
            _fail(waiting, of_status(status, name, ""))

    def lost(self, peer: int, error: PeerLost) -> None:
        """The report of a loss."""
        for of, call in self._calls.values():
            if of == peer:
                _fail(call, error)
        for number, key in list(self._asked.items()):
            if key[0] == peer:
                self._sure(number, key)
        for of, waiting in self._ended:
            if of == peer:
                _fail(waiting, error)
        self._ended = [one for one in self._ended if one[0] != peer]

    def lost_without_report(self) -> None:
        """No report follows any more for transfers that a loss has ended."""
        for _, waiting in self._ended:
            _fail(waiting, PeerLost("the session with the peer ended"))
        self._ended.clear()

    def refused(self, peer: int, handler: int) -> None:
        """The peer has no such handler. Requests arrive in order, and so do the refusals and the
        messages that a handler has a request. So the peer refused the oldest one that is unsure."""
        key = (peer, handler)
        number = next(iter(self._unsure.get(key, ())), None)
        if number is None:
            return
        self._sure(number, key)
        asker = self._calls.get(number)
        if asker is not None:
            _fail(asker[1], of_status(6, "no_handler", f"node {peer} has no handler {handler}"))

    def fail_all(self, error: BaseException) -> None:
        for _, call in self._calls.values():
            _fail(call, error)
        self._asked.clear()
        self._unsure.clear()
        for _, transfer in self._transfers.values():
            _fail(transfer, error)


def _finish(waiting: asyncio.Future[Any], value: Any) -> None:
    _settle(waiting, lambda: waiting.set_result(value))


def _fail(waiting: asyncio.Future[Any], error: BaseException) -> None:
    _settle(waiting, lambda: waiting.set_exception(error))


def _settle(waiting: asyncio.Future[Any], settle: Callable[[], None]) -> None:
    """A task may have been cancelled meanwhile, or its loop closed."""
    if not waiting.done() and not waiting.get_loop().is_closed():
        settle()
