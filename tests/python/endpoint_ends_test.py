"""Peers that are lost, and endpoints that are closed."""

import asyncio

import pytest
from kit import pair, run

import wireproof


def test_a_peer_that_is_lost_is_told():
    async def main():
        a, b = pair(peer_timeout=3)
        lost = []
        begun = asyncio.Event()
        a.on_peer_lost(lambda peer, text: lost.append((peer, text)))
        async with a:
            async with b:

                @b.handler(1)
                async def never(_message):
                    begun.set()
                    await asyncio.sleep(3600)

                waiting = asyncio.ensure_future(a.request(1, 1))
                await begun.wait()
                assert not waiting.done()
                b.end()
            with pytest.raises(wireproof.PeerLost) as told:
                await waiting
            assert told.value.status == "peer_lost" and lost == [(1, str(told.value))]
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()

    run(main())


def test_closing_ends_who_waits():
    async def main():
        a, b = pair()
        async with b:

            @b.handler(1)
            async def never(_message):
                await asyncio.sleep(3600)

            async with a:
                waiting = asyncio.ensure_future(a.request(1, 1))
                await asyncio.sleep(0.2)
            with pytest.raises(wireproof.Closed):
                await waiting
            with pytest.raises(wireproof.Closed):
                await a.request(1, 1)
            with pytest.raises(wireproof.Closed):
                a.poll()
            b.end()
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()

    run(main())


def test_leaving_waits_until_all_is_acknowledged():
    async def main():
        a, b = pair(fault_loss=0.3, seed=3)
        got = []
        async with b:

            @b.handler(1)
            def take(message):
                got.append(message.data)

            async with a:
                for i in range(20):
                    a.send(1, 1, b"%d" % i)
            assert len(got) == 20

    run(main())
