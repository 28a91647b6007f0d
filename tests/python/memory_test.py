"""Stores and gets: memory that peers use."""

import array
import asyncio
import gc
import mmap
import os
import sys

import numpy
import pytest
from kit import pair, run

import wireproof


@pytest.fixture(params=["udp", "shm"])
def ends(request):
    if request.param == "udp":
        return pair
    name = f"shm:wireproof-python-{os.getpid()}-memory"
    return lambda: [wireproof.Endpoint.open(peers=[name, name], self=i) for i in range(2)]


def test_a_store_arrives_and_its_handler_sees_it(ends):
    async def main():
        a, b = ends()
        room = bytearray(100_000)
        seen = []
        async with a, b:
            memory = b.register_memory(room)

            @b.handler(5)
            def stored(message):
                seen.append((message.peer, message.argument, bytes(message.memory[:4])))
                assert len(message.memory) == 50_000 and message.data == b""

            data = os.urandom(50_000)
            await a.store(1, memory.address + 1000, data, handler=5, argument=77)
            assert room[1000:51_000] == data and room[:1000] == bytes(1000)
            while not seen:
                await asyncio.sleep(0.01)
            assert seen == [(0, 77, data[:4])]
            await a.store(1, memory.address, b"no handler runs")
            assert room[:15] == b"no handler runs"

    run(main())


def test_a_get_fetches(ends):
    async def main():
        a, b = ends()
        data = os.urandom(70_000)
        async with a, b:
            memory = b.register_memory(data, store=False)  # need not be writable
            assert await a.get(1, memory.address + 10, 60_000) == data[10:60_010]
            into = bytearray(5)
            assert await a.get(1, memory.address, into) is into
            assert into == data[:5]
            numbers = numpy.zeros(10, dtype=numpy.int64)
            await a.get(1, memory.address, numbers)
            assert numbers.tobytes() == data[:80]
            with pytest.raises(wireproof.Error) as told:
                await a.store(1, memory.address, b"x")
            assert told.value.status == "forbidden"
            assert await a.get(1, memory.address, 0) == b""

    run(main())


@pytest.mark.parametrize(
    "holder",
    [
        bytearray(64),
        array.array("d", [0.0] * 8),
        numpy.zeros((4, 4), dtype=numpy.int32),
        memoryview(bytearray(64)),
        mmap.mmap(-1, 64),
    ],
    ids=lambda holder: type(holder).__name__,
)
def test_any_writable_bytes_are_memory(holder):
    async def main():
        a, b = pair()
        seen = []
        async with a, b:
            memory = b.register_memory(holder)

            @b.handler(1)
            def stored(message):
                seen.append(bytes(message.memory))

            await a.store(1, memory.address + 8, b"12345678", handler=1)
            while not seen:
                await asyncio.sleep(0.01)
            assert seen == [b"12345678"]
            assert await a.get(1, memory.address + 8, 8) == b"12345678"

    run(main())
    assert memoryview(holder).cast("B")[8:16] == b"12345678"


def test_registered_bytes_cannot_change_their_length():
    async def main():
        a, b = pair()
        room = bytearray(10)
        before = sys.getrefcount(room)
        async with a, b:
            memory = b.register_memory(room)
            with pytest.raises(BufferError):
                room.append(1)
            await memory.unregister()
            del memory
            room.append(1)
            assert sys.getrefcount(room) == before
            again = b.register_memory(room)
            with pytest.raises(BufferError):
                room.append(2)
            assert repr(again).endswith("of bytearray>")
        room.append(2)  # closed

    run(main())


def test_bytes_of_a_transfer_are_kept_until_it_ends():
    async def main():
        a, b = pair(fault_loss=0.2, seed=9)
        room = bytearray(200_000)
        async with a, b:
            memory = b.register_memory(room)
            source = bytearray(os.urandom(200_000))
            copy = bytes(source)
            task = asyncio.ensure_future(a.store(1, memory.address, source))
            await asyncio.sleep(0)
            with pytest.raises(BufferError):
                source.append(0)
            task.cancel()  # the transfer goes on
            await asyncio.gather(task, return_exceptions=True)
            del source
            gc.collect()
            while room != copy:
                await asyncio.sleep(0.01)

    run(main())


def test_what_is_no_memory_is_refused():
    a, b = pair()
    with pytest.raises(BufferError):
        b.register_memory(b"read only")
    with pytest.raises(TypeError):
        b.register_memory("text")
    with pytest.raises((BufferError, ValueError)):
        b.register_memory(numpy.zeros(10)[::2])
    room = bytearray(10)
    b.register_memory(room)
    with pytest.raises(wireproof.Error, match="."):
        b.register_memory(room)
    with pytest.raises(wireproof.Error):
        b.register_memory(bytearray(10), peer=9)
    a.end()
    b.end()


def test_memory_of_one_peer_is_forbidden_to_others():
    async def main():
        a, b, c = pair(nodes=3)
        async with a, b, c:
            mine = b.register_memory(bytearray(8), peer=0)
            await a.store(1, mine.address, b"12345678")
            with pytest.raises(wireproof.Error) as told:
                await c.get(1, mine.address, 8)
            assert told.value.status == "forbidden"
            await mine.unregister()
            with pytest.raises(wireproof.Error) as told:
                await a.get(1, mine.address, 8)
            assert told.value.status == "forbidden"

    run(main())


def test_a_loss_ends_transfers():
    async def main():
        a, b = pair(peer_timeout=1)
        async with a:
            memory = b.register_memory(bytearray(8))
            address = memory.address
            b.end()
            with pytest.raises(wireproof.PeerLost):
                await a.get(1, address, 8)

    run(main())


def test_many_transfers_at_once():
    async def main():
        a, b = pair(fault_loss=0.05, seed=2)
        room = bytearray(300 * 1000)
        async with a, b:
            memory = b.register_memory(room)
            parts = [os.urandom(1000) for _ in range(300)]
            await asyncio.gather(
                *(a.store(1, memory.address + i * 1000, part) for i, part in enumerate(parts))
            )
            assert room == b"".join(parts)
            got = await asyncio.gather(
                *(a.get(1, memory.address + i * 1000, 1000) for i in range(300))
            )
            assert got == parts

    run(main())


def test_allocated_memory_is_stored_into_and_fetched_from(ends):
    async def main():
        a, b = ends()
        async with a, b:
            room = b.allocate(100_000)
            assert len(room) == 100_000 and bytes(room) == bytes(100_000)
            seen = []

            @b.handler(5)
            def stored(message):
                seen.append(bytes(message.memory))

            memory = b.register_memory(room)
            data = os.urandom(50_000)
            await a.store(1, memory.address + 1000, data, handler=5)
            while not seen:
                await asyncio.sleep(0.01)
            assert seen == [data]
            numbers = numpy.frombuffer(room, dtype=numpy.uint8)
            assert numbers[1000:51_000].tobytes() == data
            numbers[:4] = (1, 2, 3, 4)
            assert await a.get(1, memory.address, 4) == bytes((1, 2, 3, 4))
            own = a.allocate(8)
            assert await a.get(1, memory.address, own) is own and bytes(own)[:4] == bytes((1, 2, 3, 4))
            await a.store(1, memory.address + 8, own)
            assert bytes(room)[8:12] == bytes((1, 2, 3, 4))
            await memory.unregister()
            del numbers
        with pytest.raises(BufferError, match="the endpoint is closed"):
            memoryview(room)

    run(main())


def test_an_endpoint_does_not_end_while_an_object_shows_what_it_allocated():
    a, b = pair()
    view = memoryview(a.allocate(10))
    for end in (a.close, a.end):
        with pytest.raises(BufferError, match="an object shows bytes of allocate"):
            end()
        assert a.is_open and view[9] == 0
    view.release()
    a.end()
    assert not a.is_open
    view = memoryview(b.allocate(10))
    with pytest.raises(ZeroDivisionError):
        with b:
            1 / 0
    assert b.is_open and view[9] == 0  # the exception of the program is the one that is seen


def test_what_shows_allocated_memory_keeps_a_forgotten_endpoint():
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    a, b = pair()
    view = memoryview(a.allocate(100_000))
    a.register_memory(a.allocate(100))
    del a, b
    gc.collect()
    view[:] = bytes(range(100)) * 1000
    assert view[99_999] == 99
    del view
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def test_memory_that_nothing_shows_is_freed():
    """Each would take a descriptor and its bytes on shared memory."""
    name = f"shm:wireproof-python-{os.getpid()}-freed"
    a, b = (wireproof.Endpoint.open(peers=[name, name], self=i) for i in range(2))
    a.poll()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        a.allocate(1 << 20)
        a.poll()
    a.poll()
    assert len(os.listdir("/proc/self/fd")) <= before + 4
    with pytest.raises(wireproof.Error, match="no bytes to allocate"):
        a.allocate(0)
    a.end()
    with pytest.raises(wireproof.Closed):
        a.allocate(1)
    b.end()
