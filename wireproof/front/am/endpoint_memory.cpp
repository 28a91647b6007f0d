// Stores, gets, and memory that peers may reach.
#include "wireproof/front/am/endpoint_inside.hpp"

namespace wireproof::am {
namespace {

constexpr const char* not_ended_for =
    "unregister_memory has not returned ok yet for an earlier registration of this memory for ";

}  // namespace

/// Posts a transfer as soon as there is room for it, and waits for its end. `post` returns a
/// Posted.
template <class Post>
Status Endpoint::Inside::transfer(Post&& post) {
    Posted posted = post();
    if (posted.status == Status::would_block || posted.outcome != nullptr) {
        Rounds rounds(*this);
        while (posted.status == Status::would_block) {
            rounds.next();
            posted = post();
        }
        while (posted.outcome != nullptr && !posted.outcome->has_value()) rounds.next();
    }
    return posted.outcome != nullptr ? **posted.outcome : posted.status;
}

Status Endpoint::store_async(std::size_t peer, std::uint64_t address,
                             std::span<const std::byte> source, std::uint16_t handler,
                             std::uint32_t argument, Done done) {
    Inside* const in = open_inside();
    if (in == nullptr) return Status::closed;
    const host::OneUser::Call call(in->user);
    return in->node.store_async(peer, address, source, handler, argument, std::move(done));
}

Status Endpoint::store(std::size_t peer, std::uint64_t address, std::span<const std::byte> source,
                       std::uint16_t handler, std::uint32_t argument) {
    Inside* const in = open_inside();
    if (in == nullptr) return Status::closed;
    const host::OneUser::Call call(in->user);
    if (in->node.polling()) return Status::not_allowed;
    return in->transfer([&] { return in->store(peer, address, source, handler, argument); });
}

Endpoint::Inside::Posted Endpoint::Inside::store(std::size_t peer, std::uint64_t address,
                                                 ConstBytes source, std::uint16_t handler,
                                                 std::uint32_t argument) {
    if (const auto ended = node.store_at_once(peer, address, source, handler, argument)) {
        if (*ended != Status::ok) return {*ended};
        if (node.wants_turn()) {
            poll();
        } else {
            node.push(clock.now());  // sends the note that runs the handler
        }
        return {Status::ok};
    }
    return awaited([&](Done done) {
        return node.store_async(peer, address, source, handler, argument, std::move(done));
    });
}

Status Endpoint::get_async(std::size_t peer, std::uint64_t address,
                           std::span<std::byte> destination, Done done) {
    Inside* const in = open_inside();
    if (in == nullptr) return Status::closed;
    const host::OneUser::Call call(in->user);
    return in->node.get(peer, address, destination, std::move(done));
}

Status Endpoint::get(std::size_t peer, std::uint64_t address, std::span<std::byte> destination) {
    Inside* const in = open_inside();
    if (in == nullptr) return Status::closed;
    const host::OneUser::Call call(in->user);
    if (in->node.polling()) return Status::not_allowed;
    return in->transfer([&] {
        return Inside::awaited(
            [&](Done done) { return in->node.get(peer, address, destination, std::move(done)); });
    });
}

Result<std::span<std::byte>> Endpoint::allocate(std::size_t bytes) {
    using Allocated = Result<std::span<std::byte>>;
    Inside* const in = open_inside();
    if (in == nullptr) return Allocated::failure("the Endpoint is closed");
    const host::OneUser::Call call(in->user);
    if (bytes == 0) return Allocated::failure("no bytes to allocate");
    constexpr std::size_t address_space = std::size_t{1} << 47;  // no process has more
    const bool fits = bytes < address_space;
    if (fits) {
        auto shared = in->node.wire().allocate_shared(bytes);
        if (shared) return Bytes(*shared);
    }
    Inside::Allocation memory;
    memory.bytes.reset(static_cast<std::byte*>(fits ? std::calloc(bytes, 1) : nullptr));
    memory.size = bytes;
    if (memory.bytes == nullptr) {
        return Allocated::failure("cannot allocate " + std::to_string(bytes) + " bytes");
    }
    const Bytes result(memory.bytes.get(), bytes);
    in->memory.push_back(std::move(memory));
    return result;
}

Status Endpoint::deallocate(std::span<std::byte> memory) {
    Inside* const in = open_inside();
    if (in == nullptr) return Status::closed;
    const host::OneUser::Call call(in->user);
    if (in->node.is_in_use(memory)) return Status::would_block;
    if (in->node.wire().free_shared(memory)) return Status::ok;
    const auto freed = std::erase_if(in->memory, [memory](const Inside::Allocation& one) {
        return one.bytes.get() == memory.data() && one.size == memory.size();
    });
    return freed > 0 ? Status::ok : Status::not_allowed;
}

Result<std::uint64_t> Endpoint::register_memory(std::size_t peer, std::span<std::byte> memory,
                                                Rights rights) {
    using Registered = Result<std::uint64_t>;
    Inside* const in = open_inside();
    if (in == nullptr) return Registered::failure("the Endpoint is closed");
    const host::OneUser::Call call(in->user);
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    if (in->node.register_memory(peer, address, memory, rights)) {
        return static_cast<std::uint64_t>(address);
    }
    const std::string number = std::to_string(peer);
    if (!in->node.is_peer(peer)) return Registered::failure("no peer " + number);
    return Registered::failure(in->node.is_withdrawn(peer, address)
                                   ? not_ended_for + ("peer " + number)
                                   : "memory overlaps what is registered for peer " + number);
}

Status Endpoint::unregister_memory(std::size_t peer, std::uint64_t address) {
    Inside* const in = open_inside();
    if (in == nullptr) return Status::closed;
    const host::OneUser::Call call(in->user);
    return in->node.unregister_memory(peer, address);
}

Result<std::uint64_t> Endpoint::register_memory(std::span<std::byte> memory, Rights rights) {
    using Registered = Result<std::uint64_t>;
    Inside* const in = open_inside();
    if (in == nullptr) return Registered::failure("the Endpoint is closed");
    const host::OneUser::Call call(in->user);
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    if (in->node.register_for_all(address, memory, rights)) {
        return static_cast<std::uint64_t>(address);
    }
    bool withdrawn = false;
    for (std::size_t peer = 0; peer < in->node.nodes(); ++peer) {
        withdrawn = withdrawn || in->node.is_withdrawn(peer, address);
    }
    return Registered::failure(withdrawn ? not_ended_for + std::string("a peer")
                                         : "memory overlaps what is registered for a peer");
}

Status Endpoint::unregister_memory(std::uint64_t address) {
    Inside* const in = open_inside();
    if (in == nullptr) return Status::closed;
    const host::OneUser::Call call(in->user);
    return in->node.unregister_for_all(address);
}

}  // namespace wireproof::am
