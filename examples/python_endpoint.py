"""Two nodes in one event loop: a request with its answer, and a store into memory of the peer."""

import asyncio

import wireproof


async def main() -> None:
    # With port 0, the system chooses one.
    client = wireproof.Endpoint.open(peers=["127.0.0.1:0", None], self=0)
    server = wireproof.Endpoint.open(peers=[None, "127.0.0.1:0"], self=1)
    client.set_peer_address(1, server.address)
    server.set_peer_address(0, client.address)

    async with client, server:
        room = bytearray(16)
        memory = server.register_memory(room)

        @server.handler(1)
        def double(message: wireproof.Message) -> bytes:
            return message.data * 2

        print(await client.request(1, 1, b"21"))
        await client.store(1, memory.address, b"at the peer")
        print(bytes(room))
        print(await client.get(1, memory.address + 7, 4))


if __name__ == "__main__":
    asyncio.run(main())
