// The algorithms of Operations: which rank sends what to which rank, in which order.
#include <algorithm>
#include <bit>

#include "wireproof/base/check.hpp"
#include "wireproof/proto/collective/combine.hpp"
#include "wireproof/proto/collective/operations.hpp"

namespace wireproof::collective {

Ticket Operations::barrier() {
    return start({});
}

Ticket Operations::broadcast(Bytes memory, Rank root) {
    WIREPROOF_CHECK(root < config_.ranks);
    Operation operation;
    operation.what = {.call = Call::broadcast, .root = root, .total = memory.size()};
    operation.memory = memory;
    return start(std::move(operation));
}

Ticket Operations::all_reduce(Bytes memory, Element element, Reduction reduction) {
    WIREPROOF_CHECK(memory.size() % size_of(element) == 0);
    Operation operation;
    operation.what = {.call = Call::all_reduce,
                      .element = element,
                      .reduction = reduction,
                      .total = memory.size()};
    operation.memory = memory;
    return start(std::move(operation));
}

Ticket Operations::all_to_all(ConstBytes source, Bytes destination) {
    const Rank ranks = config_.ranks;
    WIREPROOF_CHECK(source.size() == destination.size() && source.size() % ranks == 0);
    Operation operation;
    operation.what = {.call = Call::all_to_all, .total = source.size() / ranks};
    operation.source = source;
    operation.memory = destination;
    return start(std::move(operation));
}

Operations::Step Operations::advance(Operation& operation) {
    if (!operation.begun) {
        const auto ahead = circle_.steps_after(operation.sequence, begun_by_all_);
        // If a later operation has ended, all have begun this one.
        const bool passed = at_or_after(begun_by_all_, operation.sequence);
        operation.begun = passed || ahead <= config_.ahead_max;
        if (!operation.begun) return std::nullopt;
    }
    switch (operation.what.call) {
        case Call::barrier: return advance_barrier(operation);
        case Call::broadcast: return advance_broadcast(operation);
        case Call::all_reduce: return advance_all_reduce(operation);
        case Call::all_to_all: return advance_all_to_all(operation);
    }
    return std::nullopt;
}

Operations::Step Operations::end_if_sent(const Operation& operation) const {
    return operation.outs == 0 ? Step(Outcome::ok) : std::nullopt;
}

Operations::In* Operations::arrived(const Operation& operation, Rank from) {
    In* const in = find_in(from, operation.sequence);
    return in != nullptr && in->whole() ? in : nullptr;
}

// Dissemination: in round k, a rank tells the rank 2^k after it and hears of the rank 2^k before
// it. After round k it knows that the 2^(k+1) - 1 ranks before it have begun the barrier.
Operations::Step Operations::advance_barrier(Operation& operation) {
    const std::uint64_t ranks = config_.ranks;
    for (; (std::uint64_t{1} << operation.step) < ranks; ++operation.step) {
        const std::uint64_t distance = std::uint64_t{1} << operation.step;
        const auto from = static_cast<Rank>((config_.rank + ranks - distance) % ranks);
        if (!operation.entered) {
            post(operation, static_cast<Rank>((config_.rank + distance) % ranks), {});
            expect(operation, from);
            operation.entered = true;
        }
        In* const in = arrived(operation, from);
        if (in == nullptr) return wait_for(operation, from);
        drop(*in);
        operation.entered = false;
    }
    return end_if_sent(operation);
}

// Binomial tree: with the root as number 0, the parent of a rank is its number without its lowest
// bit that is set. Its children have one more bit, below that bit. The children with the largest
// subtrees come first.
Operations::Step Operations::advance_broadcast(Operation& operation) {
    const std::uint64_t ranks = config_.ranks;
    const std::uint64_t root = operation.what.root;
    const std::uint64_t place = (config_.rank + ranks - root) % ranks;
    const auto rank_of = [&](std::uint64_t at) { return static_cast<Rank>((at + root) % ranks); };
    if (operation.step == 1) return end_if_sent(operation);
    if (place != 0) {
        const Rank parent = rank_of(place & (place - 1));
        if (!operation.entered) expect(operation, parent);
        operation.entered = true;
        In* const in = arrived(operation, parent);
        if (in == nullptr) return wait_for(operation, parent);
        std::copy(in->bytes.begin(), in->bytes.end(), operation.memory.begin());
        drop(*in);
    }
    const std::uint64_t above = place != 0 ? place & (~place + 1) : std::bit_ceil(ranks);
    for (std::uint64_t bit = above / 2; bit > 0; bit /= 2) {
        if (place + bit < ranks) post(operation, rank_of(place + bit), operation.memory);
    }
    operation.step = 1;
    return end_if_sent(operation);
}

void Operations::combine_with(const Operation& operation, In& in) {
    const Mine side = in.from < config_.rank ? Mine::right : Mine::left;
    combine(operation.what.element, operation.what.reduction, operation.memory, in.bytes, side);
    drop(in);
}

// Recursive doubling among p ranks, the largest power of two. Of the first 2 * (ranks - p) ranks,
// each even rank gives its elements to the next rank before, and gets the result afterwards. So
// each partner has the elements of the ranks next to those of this rank, and all combine the same
// two operands, the left one from the lower ranks.
Operations::Step Operations::advance_all_reduce(Operation& operation) {
    const Rank rest = config_.ranks - std::bit_floor(config_.ranks);
    const bool folded = config_.rank < 2 * rest;
    if (folded && config_.rank % 2 == 0) {
        const Rank next = config_.rank + 1;
        if (!operation.entered) {
            post(operation, next, operation.memory);
            expect(operation, next);
            operation.entered = true;
        }
        In* const in = arrived(operation, next);
        if (in == nullptr) return wait_for(operation, next);
        if (operation.outs > 0) return std::nullopt;
        std::copy(in->bytes.begin(), in->bytes.end(), operation.memory.begin());
        drop(*in);
        return Outcome::ok;
    }
    if (folded && operation.step == 0) {
        const Rank before = config_.rank - 1;
        if (!operation.entered) expect(operation, before);
        operation.entered = true;
        In* const in = arrived(operation, before);
        if (in == nullptr) return wait_for(operation, before);
        combine_with(operation, *in);
        operation.entered = false;
    }
    operation.step = std::max(operation.step, std::uint32_t{1});
    return advance_exchange(operation);
}

Operations::Step Operations::advance_exchange(Operation& operation) {
    const Rank power = std::bit_floor(config_.ranks);
    const Rank rest = config_.ranks - power;
    const bool folded = config_.rank < 2 * rest;
    const Rank place = folded ? config_.rank / 2 : config_.rank - rest;
    for (; (std::uint64_t{1} << (operation.step - 1)) < power; ++operation.step) {
        const Rank other = place ^ (Rank{1} << (operation.step - 1));
        const Rank partner = other < rest ? 2 * other + 1 : other + rest;
        if (!operation.entered) {
            post(operation, partner, operation.memory);
            expect(operation, partner);
            operation.entered = true;
        }
        In* const in = arrived(operation, partner);
        if (in == nullptr) return wait_for(operation, partner);
        if (operation.outs > 0) return std::nullopt;  // the memory must leave before it changes
        combine_with(operation, *in);
        operation.entered = false;
    }
    if (folded && !operation.entered) post(operation, config_.rank - 1, operation.memory);
    operation.entered = true;
    return end_if_sent(operation);
}

// Each rank sends its blocks directly, first to the next rank, so that not all send to one rank.
Operations::Step Operations::advance_all_to_all(Operation& operation) {
    const std::size_t size = operation.what.total;
    const Rank ranks = config_.ranks;
    const auto block_of = [&](auto bytes, Rank rank) { return bytes.subspan(rank * size, size); };
    const auto keep = [&](Rank from, ConstBytes block) {
        std::copy(block.begin(), block.end(), block_of(operation.memory, from).begin());
    };
    if (!operation.entered) {
        operation.entered = true;
        operation.missing = ranks - 1;
        operation.arrived.assign(ranks, false);
        keep(config_.rank, block_of(operation.source, config_.rank));
        for (Rank i = 1; i < ranks; ++i) {
            const auto to = static_cast<Rank>((std::uint64_t{config_.rank} + i) % ranks);
            post(operation, to, block_of(operation.source, to));
        }
        for (Rank rank = 0; rank < ranks; ++rank) {
            if (rank != config_.rank) expect(operation, rank);
        }
    }
    for (std::size_t i = 0; i < ins_.size();) {
        In& in = ins_[i];
        if (in.sequence != operation.sequence || !in.whole()) {
            ++i;
            continue;
        }
        if (!operation.arrived[in.from]) {
            keep(in.from, in.bytes);
            operation.arrived[in.from] = true;
            --operation.missing;
        }
        drop(in);
    }
    if (operation.missing == 0) return end_if_sent(operation);
    for (Rank rank = 0; rank < ranks; ++rank) {
        if (rank == config_.rank || operation.arrived[rank]) continue;
        if (const auto why = gone(rank, operation.sequence)) return why;
    }
    return std::nullopt;
}

}  // namespace wireproof::collective
