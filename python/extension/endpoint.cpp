#include "endpoint.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "allocation.hpp"
#include "endpoint_inside.hpp"
#include "laboratory.hpp"

namespace wireproof::python {
namespace {

using Clock = std::chrono::steady_clock;

// The library cannot handle a signal of Python, so a long wait is many short ones.
constexpr double slice = 0.05;  // seconds

std::int64_t milliseconds(double seconds) {
    constexpr double most = 30 * 86'400.0;
    return static_cast<std::int64_t>(std::ceil(std::clamp(seconds, 0.0, most) * 1e3));
}

void handle_signals() {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

/// Calls `step` with the seconds of a slice until it returns true. False: `seconds` passed first.
template <class Step>
bool repeat(double seconds, Step&& step) {
    const auto start = Clock::now();
    while (true) {
        const std::chrono::duration<double> passed = Clock::now() - start;
        const double left = std::max(seconds - passed.count(), 0.0);
        if (step(std::min(left, slice))) return true;
        handle_signals();
        if (left <= slice) return false;
    }
}

/// The options in the form of C, with the texts to which it points.
struct Options {
    wireproof_options c{};
    std::vector<std::optional<std::string>> peers;
    std::vector<const char*> texts;

    explicit Options(const py::dict& from) {
        wireproof_options_init(&c, sizeof c);
        if (from.contains("peers")) {
            peers = from["peers"].cast<std::vector<std::optional<std::string>>>();
            for (const auto& peer : peers) texts.push_back(peer ? peer->c_str() : nullptr);
            c.peers = texts.data();
            c.nodes = texts.size();
        }
        take(from, "self", c.self);
        take(from, "job", c.job);
        take(from, "mtu", c.mtu);
        take(from, "peer_timeout_ms", c.peer_timeout_ms);
        take_name(from, "congestion_control", c.congestion_control,
                  {{"between_hosts", WIREPROOF_CONGESTION_BETWEEN_HOSTS},
                   {"always", WIREPROOF_CONGESTION_ALWAYS},
                   {"never", WIREPROOF_CONGESTION_NEVER}});
        take_name(
            from, "congestion_algorithm", c.congestion_algorithm,
            {{"by_loss", WIREPROOF_CONGESTION_BY_LOSS}, {"by_path", WIREPROOF_CONGESTION_BY_PATH}});
        take(from, "active_peers", c.active_peers);
        take(from, "seed", c.seed);
        take(from, "fault_loss", c.fault_loss);
        take(from, "fault_bit_error", c.fault_bit_error);
        take(from, "fault_duplicate", c.fault_duplicate);
        take(from, "fault_reorder", c.fault_reorder);
        take_bool(from, "trust_payload", c.trust_payload);
        take_bool(from, "publish_counters", c.publish_counters);
    }

    template <class T>
    static void take(const py::dict& from, const char* key, T& into) {
        if (from.contains(key)) into = from[key].cast<T>();
    }
    static void take_bool(const py::dict& from, const char* key, std::uint32_t& into) {
        if (from.contains(key)) into = from[key].cast<bool>() ? 1 : 0;
    }
    static void take_name(
        const py::dict& from, const char* key, std::uint32_t& into,
        std::initializer_list<std::pair<std::string_view, std::uint32_t>> values) {
        if (!from.contains(key)) return;
        const auto given = from[key].cast<std::string>();
        std::string names;
        for (const auto& [name, value] : values) {
            if (name == given) {
                into = value;
                return;
            }
            names += (names.empty() ? "" : ", ") + std::string(name);
        }
        throw py::value_error(std::string(key) + " is '" + given + "', none of " + names);
    }
};

}  // namespace

std::unique_ptr<Endpoint> Endpoint::open(const py::dict& options) {
    const Options read(options);
    Why why;
    wireproof_endpoint* handle = nullptr;
    why.check(wireproof_endpoint_open(&read.c, &handle, why.room(), why.bytes()));
    return std::unique_ptr<Endpoint>(new Endpoint(handle));
}

std::unique_ptr<Endpoint> Endpoint::join(const py::dict& options, std::int64_t limit_ms) {
    const Options read(options);
    Why why;
    wireproof_endpoint* handle = nullptr;
    wireproof_status status = WIREPROOF_OK;
    {
        const py::gil_scoped_release released;
        status = wireproof_endpoint_join(&read.c, limit_ms, 1, &handle, why.room(), why.bytes());
    }
    why.check(status);
    return std::unique_ptr<Endpoint>(new Endpoint(handle));
}

Endpoint::~Endpoint() {
    // Callbacks run in the next call. They only release bytes, without Python.
    ends_ = true;
    wireproof_endpoint* const handle = handle_;
    handle_ = nullptr;
    wireproof_endpoint_free(handle);
}

void Endpoint::check(wireproof_status status) {
    if (status == WIREPROOF_OK) return;
    raise(status, wireproof_endpoint_error(handle_));
}

bool Endpoint::is_open() const {
    return wireproof_endpoint_is_open(handle_) == 1;
}

std::size_t Endpoint::self() {
    const Use use(*this);
    return wireproof_endpoint_self(handle_);
}

std::size_t Endpoint::nodes() {
    const Use use(*this);
    return wireproof_endpoint_nodes(handle_);
}

std::size_t Endpoint::message_max() {
    const Use use(*this);
    return wireproof_endpoint_message_max(handle_);
}

std::string Endpoint::address() {
    const Use use(*this);
    return wireproof_endpoint_address(handle_);
}

void Endpoint::set_peer_address(std::size_t peer, const std::string& address) {
    const Use use(*this);
    check(wireproof_endpoint_set_peer_address(handle_, peer, address.c_str()));
}

bool Endpoint::request(std::size_t peer, std::uint16_t handler, const py::object& bytes) {
    const Use use(*this);
    const Export from(bytes, false);
    const auto status = released([&] {
        return wireproof_endpoint_request(handle_, peer, handler, from.bytes(), from.length());
    });
    if (status == WIREPROOF_WOULD_BLOCK) return false;
    check(status);
    return true;
}

void Endpoint::reply(std::uint16_t handler, const py::object& bytes) {
    const Use use(*this);
    const Export from(bytes, false);
    check(wireproof_endpoint_reply(handle_, handler, from.bytes(), from.length()));
}

bool Endpoint::flush(std::size_t peer, double seconds) {
    const Use use(*this);
    return repeat(seconds, [&](double part) {
        const auto status =
            released([&] { return wireproof_endpoint_flush(handle_, peer, milliseconds(part)); });
        if (status == WIREPROOF_TIMED_OUT) return false;
        check(status);
        return true;
    });
}

std::uint64_t Endpoint::register_memory(std::uint64_t id, const py::object& memory, bool may_get,
                                        bool may_store, std::optional<std::size_t> peer) {
    const Use use(*this);
    Registration made{std::make_unique<Export>(memory, may_store), 0,
                      peer.value_or(WIREPROOF_EACH_PEER)};
    release_if_allocated(*made.memory);
    const auto rights = static_cast<std::uint32_t>((may_get ? WIREPROOF_MAY_GET : 0) |
                                                   (may_store ? WIREPROOF_MAY_STORE : 0));
    check(wireproof_endpoint_register_memory(handle_, made.peer, made.memory->bytes(),
                                             made.memory->length(), rights, &made.address));
    const std::uint64_t address = made.address;
    registrations_.emplace(id, std::move(made));
    return address;
}

bool Endpoint::unregister_memory(std::uint64_t id) {
    const Use use(*this);
    const auto at = registrations_.find(id);
    if (at == registrations_.end()) return true;
    const auto status =
        wireproof_endpoint_unregister_memory(handle_, at->second.peer, at->second.address);
    if (status == WIREPROOF_WOULD_BLOCK) return false;
    check(status);
    registrations_.erase(at);
    return true;
}

std::size_t Endpoint::poll() {
    const Use use(*this);
    free_forgotten();
    std::size_t handled = 0;
    const auto status = released([&] { return wireproof_endpoint_poll(handle_, &handled); });
    error_.rethrow();
    check(status);
    return handled;
}

bool Endpoint::wait(double seconds) {
    const Use use(*this);
    free_forgotten();
    return repeat(seconds, [&](double part) {
        const auto status =
            released([&] { return wireproof_endpoint_wait(handle_, milliseconds(part)); });
        error_.rethrow();
        if (status == WIREPROOF_TIMED_OUT) return false;
        check(status);
        return true;
    });
}

int Endpoint::event_fd() {
    const Use use(*this);
    return wireproof_endpoint_event_fd(handle_);
}

bool Endpoint::arm() {
    const Use use(*this);
    return wireproof_endpoint_arm(handle_) == 1;
}

std::int64_t Endpoint::next_timeout() {
    const Use use(*this);
    return wireproof_endpoint_next_timeout(handle_);
}

void Endpoint::wake() {
    // Not while the library closes or frees the endpoint: both hold the GIL.
    wireproof_endpoint_wake(handle_);
}

bool Endpoint::idle() {
    const Use use(*this);
    return wireproof_endpoint_idle(handle_) == 1;
}

bool Endpoint::leave() {
    const Use use(*this);
    const auto status = wireproof_endpoint_leave(handle_, 0);
    if (status != WIREPROOF_TIMED_OUT) check(status);
    return status == WIREPROOF_OK;
}

bool Endpoint::wait_until_left(double seconds) {
    (void)repeat(seconds, [&](double part) {
        const auto status =
            released([&] { return wireproof_endpoint_leave(handle_, milliseconds(part)); });
        if (status != WIREPROOF_TIMED_OUT) check(status);
        return status == WIREPROOF_OK;
    });
    return wireproof_endpoint_idle(handle_) == 1;
}

bool Endpoint::close(double seconds) {
    const Use use(*this);
    if (!is_open()) return true;
    check_nothing_shows_allocations();
    const std::uint64_t losses_before = losses_;
    const bool was_idle = wait_until_left(seconds);
    check_nothing_shows_allocations();  // a handler may have made something that does
    // It need not wait any more, so it keeps the GIL: no other thread calls wake() meanwhile.
    const auto status = wireproof_endpoint_close(handle_, 0);
    if (!is_open()) take_allocations();
    if (status != WIREPROOF_TIMED_OUT) check(status);
    registrations_.clear();
    error_.rethrow();
    if (losses_ > losses_before) raise(WIREPROOF_PEER_LOST, loss_);
    return was_idle && status == WIREPROOF_OK;
}

void Endpoint::end() {
    const Use use(*this);
    if (!is_open()) return;
    check_nothing_shows_allocations();
    const auto status = wireproof_endpoint_close(handle_, 0);
    if (!is_open()) take_allocations();
    if (status != WIREPROOF_TIMED_OUT && status != WIREPROOF_PEER_LOST) check(status);
    registrations_.clear();
    error_.rethrow();
}

py::dict Endpoint::counters(std::size_t peer) {
    const Use use(*this);
    wireproof_counters c{};
    c.size = sizeof c;
    check(wireproof_endpoint_counters(handle_, peer, &c));
    py::dict counters;
    constexpr const char* paths[] = {"udp", "shared_memory", "udp_on_one_host"};
    counters["path"] = c.path < std::size(paths) ? paths[c.path] : "unknown";
#define WIREPROOF_COUNTER(name) counters[#name] = c.name
    WIREPROOF_COUNTER(accepted);
    WIREPROOF_COUNTER(held);
    WIREPROOF_COUNTER(control);
    WIREPROOF_COUNTER(duplicate);
    WIREPROOF_COUNTER(out_of_sequence);
    WIREPROOF_COUNTER(stale);
    WIREPROOF_COUNTER(corrupt);
    WIREPROOF_COUNTER(malformed);
    WIREPROOF_COUNTER(foreign);
    WIREPROOF_COUNTER(refused_frames);
    WIREPROOF_COUNTER(mismatched);
    WIREPROOF_COUNTER(sent);
    WIREPROOF_COUNTER(resent);
    WIREPROOF_COUNTER(acks);
    WIREPROOF_COUNTER(nacks);
    WIREPROOF_COUNTER(overruns);
    WIREPROOF_COUNTER(marked);
    WIREPROOF_COUNTER(marked_at_peer);
    WIREPROOF_COUNTER(keepalives);
    WIREPROOF_COUNTER(hellos);
    WIREPROOF_COUNTER(timeouts);
    WIREPROOF_COUNTER(sessions);
    WIREPROOF_COUNTER(unhandled_replies);
    WIREPROOF_COUNTER(unsent);
    WIREPROOF_COUNTER(refused);
#undef WIREPROOF_COUNTER
    return counters;
}

void add_endpoint(py::module_& module) {
    add_allocation(module);
    py::class_<Endpoint>(module, "Endpoint")
        .def_static("open", &Endpoint::open, py::arg("options"))
        .def_static("join", &Endpoint::join, py::arg("options"), py::arg("limit_ms"))
        .def("set_owner", &Endpoint::set_owner, py::arg("owner"))
        .def_property_readonly("is_open", &Endpoint::is_open)
        .def_property_readonly("self", &Endpoint::self)
        .def_property_readonly("nodes", &Endpoint::nodes)
        .def_property_readonly("message_max", &Endpoint::message_max)
        .def_property_readonly("address", &Endpoint::address)
        .def("set_peer_address", &Endpoint::set_peer_address, py::arg("peer"), py::arg("address"))
        .def("handle", &Endpoint::handle, py::arg("handler"), py::arg("runs"))
        .def("request", &Endpoint::request, py::arg("peer"), py::arg("handler"), py::arg("data"))
        .def("reply", &Endpoint::reply, py::arg("handler"), py::arg("data"))
        .def("flush", &Endpoint::flush, py::arg("peer"), py::arg("seconds"))
        .def("store", &Endpoint::store, py::arg("token"), py::arg("peer"), py::arg("address"),
             py::arg("data"), py::arg("handler"), py::arg("argument"))
        .def("get", &Endpoint::get, py::arg("token"), py::arg("peer"), py::arg("address"),
             py::arg("into"))
        .def("register_memory", &Endpoint::register_memory, py::arg("id"), py::arg("memory"),
             py::arg("may_get"), py::arg("may_store"), py::arg("peer"))
        .def("unregister_memory", &Endpoint::unregister_memory, py::arg("id"))
        .def("allocate", &Endpoint::allocate, py::arg("length"))
        .def("poll", &Endpoint::poll)
        .def("wait", &Endpoint::wait, py::arg("seconds"))
        .def("event_fd", &Endpoint::event_fd)
        .def("arm", &Endpoint::arm)
        .def("next_timeout", &Endpoint::next_timeout)
        .def("wake", &Endpoint::wake)
        .def("idle", &Endpoint::idle)
        .def("leave", &Endpoint::leave)
        .def("counters", &Endpoint::counters, py::arg("peer"))
        .def("close", &Endpoint::close, py::arg("seconds"))
        .def("end", &Endpoint::end);
}

}  // namespace wireproof::python
