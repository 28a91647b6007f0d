// What the library calls: handlers, and the reports of transfers and peers.
#include <unistd.h>

#include <cstdio>

#include "endpoint_inside.hpp"

namespace wireproof::python {
namespace {

py::bytes bytes_of(const void* bytes, std::size_t length) {
    return {static_cast<const char*>(bytes), length};
}

}  // namespace

/// Runs `run` with the member of the owner that takes calls, if there still is an owner. An
/// exception is kept for the poll.
template <class Run>
void Endpoint::run_callback(Run&& run) {
    const py::gil_scoped_acquire gil;
    if (ends_ || owner_.is_none()) return;
    const py::object owner = owner_();
    if (owner.is_none()) return;
    const pid_t process = getpid();
    run_kept(error_, owner.ptr(), [&] { run(owner.attr("_incoming")); });
    if (getpid() == process) return;
    // A child that was forked here must not go on in the library: the endpoint is its parent's.
    std::fputs("wireproof: a process that was forked in a handler returned from it\n", stderr);
    _exit(1);
}

void Endpoint::on_message(wireproof_endpoint*, const wireproof_message* message, void* user) {
    auto* const self = static_cast<Endpoint*>(user);
    self->run_callback([&](const py::object& incoming) {
        if (message->memory == nullptr) {
            incoming.attr("on_message")(message->peer, message->handler,
                                        bytes_of(message->bytes, message->length));
            return;
        }
        incoming.attr("on_store")(message->peer, message->handler,
                                  self->place_of(message->memory, message->memory_length),
                                  message->argument);
    });
}

/// (id of the registration, offset, length). None: it was unregistered meanwhile.
py::object Endpoint::place_of(const void* memory, std::size_t length) const {
    const auto at = reinterpret_cast<std::uintptr_t>(memory);
    for (const auto& [id, registration] : registrations_) {
        const auto begin = reinterpret_cast<std::uintptr_t>(registration.memory->bytes());
        const std::size_t size = registration.memory->length();
        if (at < begin || at - begin > size || length > size - (at - begin)) continue;
        return py::make_tuple(id, at - begin, length);
    }
    return py::none();
}

void Endpoint::on_done(wireproof_endpoint*, wireproof_status status, void* user) {
    auto* const transfer = static_cast<Transfer*>(user);
    Endpoint* const self = transfer->endpoint;
    const std::uint64_t token = transfer->token;
    {
        const py::gil_scoped_acquire gil;
        self->transfers_.erase(token);  // the bytes are the program's again
    }
    self->run_callback(
        [&](const py::object& incoming) { incoming.attr("on_done")(token, status); });
}

void Endpoint::on_lost(wireproof_endpoint*, const wireproof_peer_lost* lost, void* user) {
    auto* const self = static_cast<Endpoint*>(user);
    {
        const py::gil_scoped_acquire gil;
        if (lost->undelivered_count > 0) {
            ++self->losses_;
            self->loss_ = lost->message;
        }
    }
    self->run_callback([&](const py::object& incoming) {
        py::list undelivered;
        for (std::size_t i = 0; i < lost->undelivered_count; ++i) {
            const wireproof_undelivered& one = *lost->undelivered[i];
            undelivered.append(
                py::make_tuple(one.kind, one.handler, bytes_of(one.bytes, one.length)));
        }
        incoming.attr("on_lost")(lost->peer, lost->why, lost->message, undelivered);
    });
}

void Endpoint::on_refused(wireproof_endpoint*, std::size_t peer, std::uint16_t handler,
                          void* user) {
    static_cast<Endpoint*>(user)->run_callback(
        [&](const py::object& incoming) { incoming.attr("on_refused")(peer, handler); });
}

void Endpoint::handle(std::uint16_t handler, bool runs) {
    const Use use(*this);
    check(
        wireproof_endpoint_handle(handle_, handler, runs ? &Endpoint::on_message : nullptr, this));
}

Endpoint::Endpoint(wireproof_endpoint* handle) : handle_(handle) {
    wireproof_endpoint_on_peer_lost(handle_, &Endpoint::on_lost, this);
    wireproof_endpoint_on_refused(handle_, &Endpoint::on_refused, this);
}

template <class Start>
bool Endpoint::transfer(std::uint64_t token, const py::object& bytes, bool writable,
                        Start&& start) {
    const Use use(*this);
    auto owned = std::unique_ptr<Transfer>(new Transfer{this, token, Export(bytes, writable)});
    Transfer* const one = owned.get();
    release_if_allocated(one->bytes);
    if (!transfers_.emplace(token, std::move(owned)).second) {
        throw py::value_error("a transfer has this token already");
    }
    // It may end, and be erased, before this call returns.
    const auto status = released([&] { return start(one->bytes, one); });
    if (status == WIREPROOF_OK) return true;
    transfers_.erase(token);
    if (status != WIREPROOF_WOULD_BLOCK) check(status);
    return false;
}

bool Endpoint::store(std::uint64_t token, std::size_t peer, std::uint64_t address,
                     const py::object& bytes, std::uint16_t handler, std::uint32_t argument) {
    return transfer(token, bytes, false, [&](const Export& from, Transfer* user) {
        return wireproof_endpoint_store_async(handle_, peer, address, from.bytes(), from.length(),
                                              handler, argument, &Endpoint::on_done, user);
    });
}

bool Endpoint::get(std::uint64_t token, std::size_t peer, std::uint64_t address,
                   const py::object& bytes) {
    return transfer(token, bytes, true, [&](const Export& into, Transfer* user) {
        return wireproof_endpoint_get_async(handle_, peer, address, into.bytes(), into.length(),
                                            &Endpoint::on_done, user);
    });
}

}  // namespace wireproof::python
