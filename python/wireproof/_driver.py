"""Polls an endpoint from an event loop of asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import weakref
from typing import TYPE_CHECKING

from ._errors import Closed

if TYPE_CHECKING:
    from . import _wireproof
    from ._endpoint import Endpoint

_POLLS_MAX = 32  # of one turn: then other tasks of the loop have theirs
_LOOK_AFTER = 0.25  # seconds between polls while an answer is awaited


class Driver:
    """It knows its endpoint only weakly, so the loop does not keep a forgotten endpoint."""

    def __init__(self, endpoint: Endpoint, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._endpoint = weakref.ref(endpoint)
        self._thread = threading.get_ident()
        self._process = os.getpid()
        self._descriptor = endpoint._ext.event_fd()
        self._timer: asyncio.TimerHandle | None = None
        self._soon: asyncio.Handle | None = None
        self._waiting: set[asyncio.Future[None]] = set()
        loop.add_reader(self._descriptor, self._run)
        # The descriptor leaves the loop before the extension closes it.
        self._forget = weakref.finalize(endpoint, self._forgotten, endpoint._ext)
        self._forget.atexit = False

    def kick(self) -> None:
        """Polls soon: there is something to send."""
        if self._soon is None and self._descriptor >= 0 and not self.loop.is_closed():
            self._soon = self.loop.call_soon(self._run)

    async def progress(self, timeout: float | None = None) -> None:
        """Waits until the endpoint has been polled, at most for `timeout` seconds."""
        waiting: asyncio.Future[None] = self.loop.create_future()
        self._waiting.add(waiting)
        try:
            await asyncio.wait([waiting], timeout=timeout)
        finally:
            self._waiting.discard(waiting)

    def stop(self) -> None:
        """Leaves the loop."""
        self._forget.detach()
        self._leave()

    def _leave(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        for handle in (self._timer, self._soon):
            if handle is not None:
                handle.cancel()
        self._timer = self._soon = None
        self._wake_waiting()
        # A forked child shares the selector of the loop with its parent.
        ours = os.getpid() == self._process
        if descriptor >= 0 and ours and not self.loop.is_closed():
            self.loop.remove_reader(descriptor)

    def _forgotten(self, ext: _wireproof.Endpoint) -> None:
        if self.loop.is_closed():
            return
        if threading.get_ident() == self._thread:
            return self._leave()

        def leave(_kept: _wireproof.Endpoint) -> None:
            self._leave()

        with contextlib.suppress(RuntimeError):  # the loop may be closed meanwhile
            self.loop.call_soon_threadsafe(leave, ext)

    def _wake_waiting(self) -> None:
        for waiting in self._waiting:
            if not waiting.done() and not self.loop.is_closed():
                waiting.set_result(None)

    def _run(self) -> None:
        endpoint = self._endpoint()
        if endpoint is None or self._descriptor < 0:
            return
        for handle in (self._timer, self._soon):
            if handle is not None:
                handle.cancel()
        self._timer = self._soon = None
        ext = endpoint._ext
        for _ in range(_POLLS_MAX):
            try:
                self._poll(endpoint)
            except Closed:
                return self._leave()
            except Exception as error:
                self.loop.call_exception_handler(
                    {"message": "a handler of wireproof raised", "exception": error}
                )
            if self._descriptor < 0:  # a handler ended it
                return None
            if ext.arm():
                break
        else:
            self._wake_waiting()
            return self.kick()
        self._wake_waiting()
        nanoseconds = ext.next_timeout()
        delays = [nanoseconds / 1e9] if nanoseconds >= 0 else []
        if endpoint._incoming.waiting.has_calls():
            delays.append(_LOOK_AFTER)
        if delays and self._soon is None:
            self._timer = self.loop.call_later(min(delays), self._run)
        return None

    def _poll(self, endpoint: Endpoint) -> None:
        # A peer that has acknowledged a request may die before it answers. Only while the library
        # waits, it asks peers for a sign of life that owe no acknowledgement. So each poll is then a
        # wait, of no length.
        if endpoint._incoming.waiting.has_calls():
            endpoint.wait(0)
        else:
            endpoint.poll()
