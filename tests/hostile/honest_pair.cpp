#include "tests/hostile/honest_pair.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/base/random.hpp"

namespace wireproof::hostile {
namespace {

enum Area : std::size_t { sending, receiving, written };

bool is_write(std::uint32_t number) {
    return number % 3 == 0;
}

}  // namespace

proto::ib::Piece HonestPair::End::slot(std::size_t area, std::uint32_t slot,
                                       std::uint32_t length) const {
    const auto base = reinterpret_cast<std::uintptr_t>(memory.data());
    return {base + (area * slots + slot % slots) * message_max, length, key};
}

Bytes HonestPair::End::bytes(const proto::ib::Piece& piece) {
    const auto base = reinterpret_cast<std::uintptr_t>(memory.data());
    return Bytes(memory).subspan(static_cast<std::size_t>(piece.address - base), piece.length);
}

HonestPair::HonestPair(ib::Device::Inside& a, ib::Device::Inside& b, proto::ib::Transport transport,
                       std::uint64_t seed)
    : transport_(transport), seed_(seed) {
    open(ends_[0], a);
    open(ends_[1], b);
    for (std::size_t i = 0; i < 2; ++i) {
        End& end = ends_[i];
        End& other = ends_[1 - i];
        const auto peer = end.device->peer_at(*Address::parse_host(other.device->options.address));
        if (!peer) throw app::Failure(peer.error().message);
        const auto init =
            end.device->port.modify(end.number, proto::ib::to_init({.remote_write = true}));
        const auto ready = proto::ib::connect(end.device->port, end.number,
                                              {.peer = *peer,
                                               .path_mtu = end.device->options.path_mtu,
                                               .dest_queue_pair = other.number});
        WIREPROOF_CHECK(init == proto::ib::ModifyStatus::done &&
                        ready == proto::ib::ModifyStatus::done);
    }
}

void HonestPair::open(End& end, ib::Device::Inside& device) {
    end.device = &device;
    end.sends = device.port.add_completion_queue(slots);
    end.receives = device.port.add_completion_queue(slots);
    end.key = device.port.memory()
                  .add_region({.domain = domain,
                               .address = end.slot(sending, 0, 0).address,
                               .memory = end.memory,
                               .access = {.local_write = true, .remote_write = true}})
                  .value();
    end.number = device.port
                     .add_queue_pair({.transport = transport_,
                                      .domain = domain,
                                      .send_completions = end.sends,
                                      .receive_completions = end.receives,
                                      .limits = {.sends = slots, .receives = slots, .pieces = 1}})
                     .value();
}

std::vector<std::byte> HonestPair::message(std::size_t end, std::uint32_t number) const {
    Random dice(mix64(seed_ + 2 * std::uint64_t{number} + end));
    std::vector<std::byte> bytes(dice.below(message_max + 1));
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (i % 8 == 0) word = dice.next();
        bytes[i] = static_cast<std::byte>(word >> (8 * (i % 8)));
    }
    return bytes;
}

void HonestPair::work(bool more) {
    for (std::size_t i = 0; i < 2; ++i) draw(i);
    for (std::size_t i = 0; i < 2; ++i) {
        End& end = ends_[i];
        for (; end.posted - end.received < slots; ++end.posted) {
            const proto::ib::Piece into = end.slot(receiving, end.posted, message_max);
            const auto posted = end.device->port.post_receive(
                end.number, {.id = end.posted, .pieces = std::span(&into, 1)});
            if (posted != proto::ib::PostStatus::accepted)
                return fail("an honest receive is refused");
        }
        if (more) post(i);
    }
}

void HonestPair::post(std::size_t i) {
    End& end = ends_[i];
    if (end.sent - end.completed == under_way) return;
    const std::vector<std::byte> bytes = message(i, end.sent);
    const proto::ib::Piece from =
        end.slot(sending, end.sent, static_cast<std::uint32_t>(bytes.size()));
    std::ranges::copy(bytes, end.bytes(from).begin());
    proto::ib::WorkTerms terms{
        .id = end.sent, .request = proto::ib::Request::send_immediate, .immediate = end.sent};
    if (is_write(end.sent)) {
        const proto::ib::Piece to = ends_[1 - i].slot(written, end.sent, 0);
        terms.request = proto::ib::Request::write_immediate;
        terms.remote_address = to.address;
        terms.remote_key = to.key;
    }
    const auto posted =
        end.device->port.post_send(end.number, {.terms = terms, .pieces = std::span(&from, 1)});
    if (posted != proto::ib::PostStatus::accepted) return fail("an honest request is refused");
    ++end.sent;
}

void HonestPair::draw(std::size_t i) {
    End& end = ends_[i];
    while (const auto one = end.device->port.poll(end.sends)) {
        if (one->status != proto::ib::CompletionStatus::success || one->id != end.completed) {
            return fail(fmt::format("request {} of the honest connection: {}", end.completed,
                                    name_of(one->status)));
        }
        ++end.completed;
    }
    while (const auto one = end.device->port.poll(end.receives)) on_received(i, *one);
}

void HonestPair::on_received(std::size_t i, const proto::ib::Completion& completion) {
    End& end = ends_[i];
    if (completion.status != proto::ib::CompletionStatus::success ||
        completion.id != end.received || !completion.immediate) {
        return fail(fmt::format("receive {} of the honest connection: {}", end.received,
                                name_of(completion.status)));
    }
    const std::uint32_t number = *completion.immediate;
    const std::uint32_t skipped = number - end.expected;
    const bool uc = transport_ == proto::ib::Transport::uc;
    if (number >= ends_[1 - i].sent || (skipped != 0 && !uc)) {
        return fail(fmt::format("honest message {} came as {}", end.expected, number));
    }
    const proto::ib::Piece at = is_write(number)
                                    ? end.slot(written, number, completion.length)
                                    : end.slot(receiving, end.received, completion.length);
    if (!std::ranges::equal(message(1 - i, number), end.bytes(at))) {
        return fail(fmt::format("honest message {} came with other bytes", number));
    }
    ++end.received;
    ++delivered_;
    lost_ += skipped;
    end.expected = number + 1;
}

bool HonestPair::idle() const {
    return std::ranges::all_of(ends_, [](const End& end) { return end.sent == end.completed; });
}

}  // namespace wireproof::hostile
