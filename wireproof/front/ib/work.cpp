// Converts work requests of the public header to those of the port.
#include <algorithm>
#include <array>

#include "wireproof/front/ib/conversions.hpp"
#include "wireproof/front/ib/device.hpp"

namespace wireproof::ib {
namespace {

proto::ib::Piece piece_of(const Piece& piece) {
    return {piece.address, piece.length, piece.key};
}

proto::ib::WorkTerms send_terms(std::uint64_t id, std::optional<std::uint32_t> immediate) {
    return {.id = id,
            .request = immediate ? proto::ib::Request::send_immediate : proto::ib::Request::send,
            .immediate = immediate.value_or(0)};
}

proto::ib::WorkTerms write_terms(std::uint64_t id, const Remote& to,
                                 std::optional<std::uint32_t> immediate) {
    return {.id = id,
            .request = immediate ? proto::ib::Request::write_immediate : proto::ib::Request::write,
            .immediate = immediate.value_or(0),
            .remote_address = to.address,
            .remote_key = to.key};
}

/// Calls `post` with the pieces converted for the port, after `front` if it is given.
template <class Post>
Status post_pieces(std::uint64_t id, std::span<const Piece> to, const std::optional<Piece>& front,
                   Post&& post) {
    std::array<proto::ib::Piece, proto::ib::SendEntry::pieces_max + 1> pieces;
    if (to.size() > proto::ib::SendEntry::pieces_max) return Status::too_many_pieces;
    auto end = pieces.begin();
    if (front) *end++ = piece_of(*front);
    end = std::transform(to.begin(), to.end(), end, piece_of);
    return status_of(
        post(proto::ib::ReceiveRequest{.id = id, .pieces = std::span(pieces.begin(), end)}));
}

/// Calls `post`, unless the device is closed.
template <class Post>
Status post_to(Device::Inside& device, Post&& post) {
    if (device.fork.forked()) return Status::closed;
    const host::OneUser::Call call(device.user);
    device.poll_is_due = true;  // on a failed queue pair, the work ends at once
    return post();
}

proto::ib::WorkTerms with(proto::ib::WorkTerms terms, const WorkOptions& options) {
    terms.signalled = options.signalled;
    terms.solicited = options.solicited;
    terms.fence = options.fence;
    return terms;
}

}  // namespace

Result<SharedReceiveQueue> SharedReceiveQueue::create(const ProtectionDomain& domain,
                                                      std::size_t receives, std::size_t pieces) {
    const auto fits = within("receives", receives, 1, queue_max).and_then([&] {
        return within("pieces", pieces, 0, proto::ib::SendEntry::pieces_max);
    });
    if (!fits) return Result<SharedReceiveQueue>::failure(fits.error().message);
    if (domain.inside_->device->fork.forked()) {
        return Result<SharedReceiveQueue>::failure(closed_in_child);
    }
    const host::OneUser::Call call(domain.inside_->device->user);
    auto inside = std::make_shared<Inside>();
    inside->id = domain.inside_->device->port.add_shared_receive_queue(domain.inside_->number,
                                                                       receives, pieces);
    inside->domain = domain.inside_.get();
    return SharedReceiveQueue(std::move(inside));
}

Status SharedReceiveQueue::post_receive(std::uint64_t id, std::span<const Piece> to) {
    Device::Inside& device = *inside_->domain->device;
    return post_to(device, [&] {
        return post_pieces(id, to, {}, [&](const proto::ib::ReceiveRequest& one) {
            return device.port.post_receive(inside_->id, one);
        });
    });
}

Status QueuePair::post_receive(std::uint64_t id, std::span<const Piece> to) {
    std::optional<Piece> front;
    if (inside_->is_datagram()) {
        front = Piece{reinterpret_cast<std::uintptr_t>(inside_->front.data()),
                      static_cast<std::uint32_t>(inside_->front.size()), inside_->front_key};
    }
    return post_to(inside_->device(), [&] {
        return post_pieces(id, to, front, [&](const proto::ib::ReceiveRequest& one) {
            return inside_->port().post_receive(inside_->number, one);
        });
    });
}

Status QueuePair::Inside::post(proto::ib::WorkTerms terms, const WorkOptions& how,
                               const Piece& local) const {
    const proto::ib::Piece piece = piece_of(local);
    return post_to(device(), [&] {
        return status_of(
            port().post_send(number, {.terms = with(terms, how), .pieces = std::span(&piece, 1)}));
    });
}

Status QueuePair::Inside::post_inline(proto::ib::WorkTerms terms, const WorkOptions& how,
                                      std::span<const std::byte> bytes) const {
    return post_to(device(), [&] {
        return status_of(
            port().post_send(number, {.terms = with(terms, how), .inlined = std::span(&bytes, 1)}));
    });
}

Status QueuePair::Inside::post_local(proto::ib::WorkTerms terms, const WorkOptions& how) const {
    return post_to(
        device(), [&] { return status_of(port().post_send(number, {.terms = with(terms, how)})); });
}

Status QueuePair::send(std::uint64_t id, const Piece& from, std::optional<std::uint32_t> immediate,
                       const WorkOptions& options) {
    if (inside_->is_datagram()) return Status::not_supported;
    return inside_->post(send_terms(id, immediate), options, from);
}

Status QueuePair::send_inline(std::uint64_t id, std::span<const std::byte> bytes,
                              std::optional<std::uint32_t> immediate, const WorkOptions& options) {
    if (inside_->is_datagram()) return Status::not_supported;
    return inside_->post_inline(send_terms(id, immediate), options, bytes);
}

Status QueuePair::Inside::put_address(proto::ib::WorkTerms& terms,
                                      const AddressHandle::Inside& to) const {
    if (!is_datagram()) return Status::not_supported;
    if (to.device != domain->device) return Status::bad_contact;
    terms.to = to.peer;
    terms.to_queue_pair = to.queue_pair;
    terms.qkey = to.qkey;
    return Status::ok;
}

Status QueuePair::send_to(std::uint64_t id, const Piece& from, const AddressHandle& to,
                          std::optional<std::uint32_t> immediate, const WorkOptions& options) {
    proto::ib::WorkTerms terms = send_terms(id, immediate);
    const Status right = inside_->put_address(terms, *to.inside_);
    return right == Status::ok ? inside_->post(terms, options, from) : right;
}

Status QueuePair::send_inline_to(std::uint64_t id, std::span<const std::byte> bytes,
                                 const AddressHandle& to, std::optional<std::uint32_t> immediate,
                                 const WorkOptions& options) {
    proto::ib::WorkTerms terms = send_terms(id, immediate);
    const Status right = inside_->put_address(terms, *to.inside_);
    return right == Status::ok ? inside_->post_inline(terms, options, bytes) : right;
}

Status QueuePair::send_invalidate(std::uint64_t id, const Piece& from, std::uint32_t peers_key,
                                  const WorkOptions& options) {
    return inside_->post(
        {.id = id, .request = proto::ib::Request::send_invalidate, .remote_key = peers_key},
        options, from);
}

Status QueuePair::write(std::uint64_t id, const Piece& from, const Remote& to,
                        std::optional<std::uint32_t> immediate, const WorkOptions& options) {
    return inside_->post(write_terms(id, to, immediate), options, from);
}

Status QueuePair::write_inline(std::uint64_t id, std::span<const std::byte> bytes, const Remote& to,
                               std::optional<std::uint32_t> immediate, const WorkOptions& options) {
    return inside_->post_inline(write_terms(id, to, immediate), options, bytes);
}

Status QueuePair::read(std::uint64_t id, const Piece& into, const Remote& from,
                       const WorkOptions& options) {
    return inside_->post({.id = id,
                          .request = proto::ib::Request::read,
                          .remote_address = from.address,
                          .remote_key = from.key},
                         options, into);
}

Status QueuePair::fetch_add(std::uint64_t id, const Piece& before, const Remote& at,
                            std::uint64_t add, const WorkOptions& options) {
    return inside_->post({.id = id,
                          .request = proto::ib::Request::fetch_add,
                          .remote_address = at.address,
                          .remote_key = at.key,
                          .swap_or_add = add},
                         options, before);
}

Status QueuePair::compare_swap(std::uint64_t id, const Piece& before, const Remote& at,
                               std::uint64_t expected, std::uint64_t desired,
                               const WorkOptions& options) {
    return inside_->post({.id = id,
                          .request = proto::ib::Request::compare_swap,
                          .remote_address = at.address,
                          .remote_key = at.key,
                          .compare = expected,
                          .swap_or_add = desired},
                         options, before);
}

Status QueuePair::bind(std::uint64_t id, MemoryWindow& window, const MemoryRegion& region,
                       const WindowBind& bind, const WorkOptions& options) {
    // The key of another device can, by chance, also be one of this device.
    const auto& device = inside_->domain->device;
    if (window.inside_->domain->device != device || region.inside_->domain->device != device) {
        return Status::bad_contact;
    }
    const std::uint32_t before = window.inside_->key;
    const auto key_byte = static_cast<std::uint8_t>(before + 1);
    const Status status = inside_->post_local({.id = id,
                                               .request = proto::ib::Request::bind_window,
                                               .bind = {.window = before,
                                                        .key_byte = key_byte,
                                                        .region = region.key(),
                                                        .address = bind.address,
                                                        .length = bind.length,
                                                        .access = access_of(bind.peer),
                                                        .zero_based = bind.zero_based}},
                                              options);
    if (status == Status::ok) window.inside_->key = (before & ~0xFFU) | key_byte;
    return status;
}

Status QueuePair::invalidate(std::uint64_t id, const MemoryWindow& window,
                             const WorkOptions& options) {
    if (window.inside_->domain->device != inside_->domain->device) return Status::bad_contact;
    return inside_->post_local(
        {.id = id, .request = proto::ib::Request::local_invalidate, .remote_key = window.key()},
        options);
}

}  // namespace wireproof::ib
