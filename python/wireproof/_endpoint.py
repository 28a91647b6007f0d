"""Active Messages with asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import itertools
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Literal, TypeVar

from . import _wireproof
from ._driver import Driver
from ._errors import Closed, of_status
from ._incoming import Data, Handler, Incoming
from ._memory import Memory
from ._message import ANSWER, ASKED, FAILURE, HANDLER_MAX, ID

_H = TypeVar("_H", bound=Handler)
_DAY = 86_400.0


class Endpoint:
    """One node of a job. A peer is another node; its number is its index in `peers`, or its rank.

    In asyncio:

        async with wireproof.Endpoint.open(peers=["127.0.0.1:4001", "127.0.0.1:4002"], self=0) as ep:

            @ep.handler(1)
            def double(message):
                return message.data * 2

            answer = await ep.request(1, 1, b"21")

    While the endpoint is in an event loop, the loop polls it. A program without a loop calls poll()
    or wait(). Handlers run in the thread that polls, inside poll(), wait(), flush() and close(). The
    GIL is released in all calls that may take long.

    If a handler raises an exception, the other messages are handled nevertheless. poll() or wait()
    then raises it; in an event loop, the exception handler of the loop gets it. If there are several,
    the others go to sys.unraisablehook.

    One thread at a time may call an endpoint: a second one gets an Error. Any thread may call wake().
    After a fork, the endpoint is closed in the child.
    """

    def __init__(self, ext: _wireproof.Endpoint) -> None:
        """Programs call open() or join()."""
        self._ext = ext
        self._incoming = Incoming(self, ext)
        self._numbers = itertools.count(1)
        self._driver: Driver | None = None
        ext.set_owner(self)
        ext.handle(ANSWER, True)
        ext.handle(FAILURE, True)

    @classmethod
    def open(
        cls,
        *,
        peers: Sequence[str | None],
        self: int,  # noqa: the name that C++ and C have
        job: int = 0,
        mtu: int = 1500,
        peer_timeout: float = 10.0,
        congestion_control: Literal["between_hosts", "always", "never"] = "between_hosts",
        congestion_algorithm: Literal["by_loss", "by_path"] = "by_path",
        active_peers: int = 256,
        trust_payload: bool = False,
        publish_counters: bool = True,
        seed: int = 0,
        fault_loss: float = 0.0,
        fault_bit_error: float = 0.0,
        fault_duplicate: float = 0.0,
        fault_reorder: float = 0.0,
    ) -> Endpoint:
        """Opens the node `self` at its address. It does not wait for peers.

        peers -- the address of each node, this node included: "address:port", or "shm:NAME" for all.
            None is a peer whose address is not known yet. With port 0, the system chooses one.
        job -- the same in all nodes.
        mtu -- bytes of an IP packet.
        peer_timeout -- seconds that a peer may be silent.
        congestion_control, congestion_algorithm, active_peers, trust_payload -- see Options in
            am_values.hpp.
        publish_counters -- other processes of this user can read the counters (`wireproof stat`).
        seed -- of the random numbers; 0: the system chooses it.
        fault_... -- for tests: the probability that a frame is lost, leaves twice, or leaves after
            later ones, and that a bit is inverted.

        Raises Error if an option is wrong, or if the system refused.
        """
        options = {name: value for name, value in locals().items() if name != "cls"}
        return cls(_wireproof.Endpoint.open(_in_the_form_of_c(options)))

    @classmethod
    def join(cls, *, timeout: float = 60.0, **options: Any) -> Endpoint:
        """Opens this process as a node of the job that a launcher started (docs/guide/messages/jobs.md).

        It blocks until all processes have called it, at most for `timeout` seconds. A process calls
        it once. `options` are those of open(), without peers, self and job.
        """
        known = inspect.signature(cls.open).parameters.keys() - {"peers", "self", "job"}
        for name in options:
            if name not in known:
                raise TypeError(f"join() has no option {name}")
        return cls(_wireproof.Endpoint.join(_in_the_form_of_c(options), round(timeout * 1000)))

    # Properties.

    @property
    def is_open(self) -> bool:
        return self._ext.is_open

    @property
    def self(self) -> int:
        """The number of this node; 0 if the endpoint is closed."""
        return self._ext.self

    @property
    def nodes(self) -> int:
        """How many nodes the job has; 0 if the endpoint is closed."""
        return self._ext.nodes

    @property
    def message_max(self) -> int:
        """The length of the longest message of send(), in bytes. request() takes 8 bytes of it."""
        return self._ext.message_max

    @property
    def address(self) -> str:
        """The address at which this node listens, with the port that the system chose."""
        return self._ext.address

    def set_peer_address(self, peer: int, address: str) -> None:
        """Sets the address of a peer on UDP: "address:port"."""
        self._ext.set_peer_address(peer, address)

    def counters(self, peer: int) -> dict[str, Any]:
        """The counters of the traffic with a peer; am_values.hpp says what each counts."""
        return self._ext.counters(peer)

    @property
    def idle(self) -> bool:
        """All messages are acknowledged, and all transfers have ended."""
        return self._ext.idle()

    # Handlers.

    def handler(self, number: int) -> Callable[[_H], _H]:
        """From now on, the decorated function runs for each message that names `number`, 1 to 32,765.

        It gets a Message. What it returns, bytes or None, is the answer to request(). A coroutine
        function may await: it becomes a task of the event loop, and its answer may come later.
        """

        def register(run: _H) -> _H:
            self._register(number, run)
            return run

        return register

    def remove_handler(self, number: int) -> None:
        self._register(number, None)

    def _register(self, number: int, run: Handler | None) -> None:
        if not 1 <= number <= HANDLER_MAX:
            raise ValueError(f"the number of a handler is 1 to {HANDLER_MAX}")
        if run is None:
            self._incoming.handlers.pop(number, None)
        else:
            self._incoming.handlers[number] = run
        self._ext.handle(number, run is not None)
        self._ext.handle(number | ASKED, run is not None)

    def on_peer_lost(self, report: Callable[[int, str], object] | None) -> None:
        """`report` runs for each loss of a peer, with its number and one line of text."""
        self._incoming.on_peer_lost = report

    def on_refused(self, report: Callable[[int, int], object] | None) -> None:
        """`report` runs for each message of send(), and each store with a handler, that the peer
        refused because it has no such handler: with the number of the peer and of the handler."""
        self._incoming.on_refusal = report

    # Messages.

    def send(self, peer: int, handler: int, data: Data = b"") -> None:
        """Queues a message to which nobody answers. It does not wait.

        Raises Error: "would_block" if there is no room now, "too_long", "not_allowed" inside a
        handler, "no_such_peer".
        """
        if not self._ext.request(peer, handler, data):
            raise of_status(1, "would_block", "")
        self._kick()

    async def request(self, peer: int, handler: int, data: Data = b"") -> bytes:
        """Sends a message and returns what its handler at the peer returned.

        If there is no room, it waits. Raises PeerLost; HandlerFailed with the text of the exception
        that the handler raised; Error "no_handler", "too_long", "no_such_peer".

        The message has the number `handler` + 32,768 and begins with 8 bytes. A peer in another
        language answers with a message to 65,535 that begins with the same 8 bytes.
        """
        if not 1 <= handler <= HANDLER_MAX:
            raise ValueError(f"the number of a handler is 1 to {HANDLER_MAX}")
        driver = self._drive()
        number = next(self._numbers)
        waiting: asyncio.Future[bytes] = driver.loop.create_future()
        message = ID.pack(number) + bytes(data)
        if len(message) > self.message_max:
            most = self.message_max - ID.size
            text = f"{len(message) - ID.size} bytes are more than a request has, {most}: store() has room for more"
            raise of_status(2, "too_long", text)
        await self._when_there_is_room(lambda: self._ext.request(peer, handler | ASKED, message))
        return await self._incoming.waiting.answer(number, peer, handler, waiting)

    def flush(self, peer: int, timeout: float = _DAY) -> None:
        """Blocks until the peer has acknowledged all messages. Raises TimedOut, PeerLost, Error."""
        if not self._ext.flush(peer, timeout):
            raise of_status(9, "timed_out", "")

    # Memory.

    async def store(
        self, peer: int, address: int, data: Any, handler: int = 0, argument: int = 0
    ) -> None:
        """Copies `data`, an object with bytes, to `address` at the peer; then `handler` runs there.

        It returns when the bytes are in place. They must not change meanwhile. Without a handler,
        no program code runs at the peer. Raises PeerLost; Error "forbidden", "no_handler",
        "too_long", "no_such_peer"; Closed.
        """
        await self._transfer(
            peer,
            lambda token: self._ext.store(token, peer, address, data, handler or FAILURE, argument),
        )

    async def get(self, peer: int, address: int, into: Any) -> Any:
        """Copies bytes at `address` of the peer.

        into -- how many bytes; it then returns new bytes. Or a writable object, which it fills and
            returns; nobody may use its bytes meanwhile.

        Raises PeerLost; Error "forbidden", "too_long", "no_such_peer"; Closed.
        """
        room = bytearray(into) if isinstance(into, int) else into
        await self._transfer(peer, lambda token: self._ext.get(token, peer, address, room))
        return bytes(room) if isinstance(into, int) else into

    def allocate(self, length: int) -> _wireproof.Allocation:
        """Allocates memory that peers on shared memory can map, all 0: a store or a get of such a
        peer copies the bytes once, without a system call. Give it to register_memory().

        It is an object with bytes, so memoryview() and numpy.frombuffer() show them. The memory is
        freed when neither the object nor what shows its bytes is left. close() and end() raise
        BufferError while something shows the bytes: release it first.
        """
        return self._ext.allocate(length)

    def register_memory(
        self, holder: Any, *, get: bool = True, store: bool = True, peer: int | None = None
    ) -> Memory:
        """Lets `peer`, or each peer, use the bytes of `holder`.

        holder -- an object with bytes: a bytearray, an mmap, an array of numpy. It must be writable
            if `store` is True. It is kept, and cannot change its length, until the memory is
            unregistered or the endpoint is closed.
        """
        number = next(self._numbers)
        address = self._ext.register_memory(number, holder, get, store, peer)
        memory = Memory(self, number, holder, address)
        self._incoming.memories[number] = memory
        return memory

    async def _unregister(self, number: int) -> None:
        await self._when_there_is_room(lambda: self._ext.unregister_memory(number))
        self._incoming.memories.pop(number, None)

    async def _transfer(self, peer: int, start: Callable[[int], bool]) -> None:
        driver = self._drive()
        token = next(self._numbers)
        waiting: asyncio.Future[None] = driver.loop.create_future()
        with self._incoming.waiting.transfer(token, peer, waiting):
            await self._when_there_is_room(lambda: start(token))
            await waiting

    # Progress.

    def poll(self) -> int:
        """Receives, runs handlers, and sends what is due; it does not block.

        Returns how many messages and other events it handled. Raises the first exception of a
        handler; Closed.
        """
        try:
            return self._ext.poll()
        finally:
            self._after_poll()

    def wait(self, timeout: float = _DAY) -> bool:
        """Polls and sleeps until a handler has run, a transfer has ended, or wake() was called.

        False: `timeout` seconds passed first. Raises the first exception of a handler; Closed.
        """
        try:
            return self._ext.wait(timeout)
        finally:
            self._after_poll()

    def wake(self) -> None:
        """Ends a wait(). Any thread may call it."""
        self._ext.wake()

    def _drive(self) -> Driver:
        """The driver in the running loop."""
        loop = asyncio.get_running_loop()
        if self._driver is None or self._driver.loop is not loop:
            if not self._ext.is_open:
                raise Closed("the endpoint is closed")
            if self._driver is not None:
                self._driver.stop()
            self._driver = Driver(self, loop)
        self._driver.kick()
        return self._driver

    def _kick(self) -> None:
        if self._driver is not None:
            self._driver.kick()

    async def _when_there_is_room(self, attempt: Callable[[], bool]) -> None:
        while not attempt():
            await self._drive().progress()
        self._drive()

    def _after_poll(self) -> None:
        self._incoming.waiting.lost_without_report()
        if not self._ext.is_open:
            self._incoming.waiting.fail_all(Closed("the endpoint was closed before the answer came"))

    # The end.

    def close(self, timeout: float = 10.0) -> None:
        """Blocks until the peers have acknowledged all messages, and closes the endpoint.

        Raises TimedOut if `timeout` seconds passed first, or PeerLost: messages may be lost, and the
        endpoint is closed, too. Error "not_allowed" inside a handler, and BufferError while
        something shows bytes of allocate(): it stays open.
        """
        try:
            done = self._ext.close(timeout)
        finally:
            self._ended_or_not()
        if not done:
            raise of_status(9, "timed_out", "not all messages were acknowledged in time")

    def end(self) -> None:
        """Closes the endpoint without waiting. Messages may be lost. Raises BufferError as close()."""
        try:
            self._ext.end()
        finally:
            self._ended_or_not()

    async def aclose(self, timeout: float = 10.0) -> None:
        """As close(), but other tasks of the event loop run meanwhile."""
        if not self._ext.is_open:
            return
        driver = self._drive()
        try:
            async with asyncio.timeout(timeout):
                while self._ext.is_open and (self._incoming.tasks or not self._ext.leave()):
                    if self._ext.next_timeout() == 0:  # leave() has something to send
                        driver.kick()
                    await driver.progress(0.05)
        except TimeoutError:
            pass
        self.close(0)

    def _ended_or_not(self) -> None:
        if self._ext.is_open:
            return
        if self._driver is not None:
            self._driver.stop()
            self._driver = None
        self._incoming.memories.clear()
        self._after_poll()

    def __enter__(self) -> Endpoint:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if kind is None:
            return self.close()
        with contextlib.suppress(BufferError):  # then it ends with the last object that shows bytes
            self.end()
        return None

    async def __aenter__(self) -> Endpoint:
        self._drive()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if kind is None:
            return await self.aclose()
        with contextlib.suppress(BufferError):
            self.end()
        return None

    def __repr__(self) -> str:
        return f"<Endpoint {self.self} of {self.nodes}>" if self.is_open else "<Endpoint, closed>"


def _in_the_form_of_c(options: dict[str, Any]) -> dict[str, Any]:
    if "peers" in options:
        options["peers"] = list(options["peers"])
    if "peer_timeout" in options:
        options["peer_timeout_ms"] = round(options.pop("peer_timeout") * 1000)
    return options
