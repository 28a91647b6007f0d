// An endpoint of wireproof.h for Python. All members are used with the GIL held; the library runs
// without it, and takes it in callbacks.
//
// Lifetimes: the object belongs to an object of Python, its owner, and knows it only weakly. So a
// cycle of references never passes through this object, and the garbage collector frees a forgotten
// endpoint. The object keeps the bytes of transfers and registered memory exported (Py_buffer)
// until the library does not use them any more. It does not export bytes of an Allocation, which
// keeps this object: the library itself frees no memory that is in use.
#pragma once

#include <pybind11/pybind11.h>
#include <pythread.h>

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "errors.hpp"

namespace wireproof::python {

class Allocation;

/// Bytes of an object of Python, which cannot change their place or length meanwhile.
class Export {
public:
    /// Throws what the object says if it has no such bytes: BufferError, TypeError.
    Export(const py::object& from, bool writable) {
        if (PyObject_GetBuffer(from.ptr(), &view_, writable ? PyBUF_WRITABLE : PyBUF_SIMPLE) != 0) {
            throw py::error_already_set();
        }
        bytes_ = view_.buf;
        length_ = static_cast<std::size_t>(view_.len);
    }
    Export(const Export&) = delete;
    Export& operator=(const Export&) = delete;
    ~Export() { PyBuffer_Release(&view_); }

    void* bytes() const { return bytes_; }
    std::size_t length() const { return length_; }
    /// Somebody else keeps the bytes.
    void release() { PyBuffer_Release(&view_); }

private:
    Py_buffer view_{};
    void* bytes_ = nullptr;
    std::size_t length_ = 0;
};

class Endpoint {
public:
    static std::unique_ptr<Endpoint> open(const py::dict& options);
    static std::unique_ptr<Endpoint> join(const py::dict& options, std::int64_t limit_ms);
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;
    ~Endpoint();

    /// The object whose methods on_message, on_done, on_lost and on_refused are called.
    void set_owner(const py::object& owner) { owner_ = py::weakref(owner); }

    bool is_open() const;
    std::size_t self();
    std::size_t nodes();
    std::size_t message_max();
    std::string address();
    void set_peer_address(std::size_t peer, const std::string& address);

    void handle(std::uint16_t handler, bool runs);
    bool request(std::size_t peer, std::uint16_t handler, const py::object& bytes);
    void reply(std::uint16_t handler, const py::object& bytes);
    /// False: the limit passed first.
    bool flush(std::size_t peer, double seconds);

    // `token` is the number with which on_done is called. False: there is no room now.
    bool store(std::uint64_t token, std::size_t peer, std::uint64_t address,
               const py::object& bytes, std::uint16_t handler, std::uint32_t argument);
    bool get(std::uint64_t token, std::size_t peer, std::uint64_t address, const py::object& bytes);

    /// Returns the address. `peer` None: each peer.
    std::uint64_t register_memory(std::uint64_t id, const py::object& memory, bool may_get,
                                  bool may_store, std::optional<std::size_t> peer);
    /// False: a peer may still use it.
    bool unregister_memory(std::uint64_t id);

    /// Memory of the library, as an object of Python: an Allocation, which keeps this object.
    py::object allocate(std::size_t length);
    /// The object is gone. The memory is freed in a later call, because another thread may be in
    /// one now.
    void forget(const Allocation& allocation);

    std::size_t poll();
    bool wait(double seconds);
    int event_fd();
    bool arm();
    std::int64_t next_timeout();
    /// Any thread may call it.
    void wake();
    bool idle();
    bool leave();
    py::dict counters(std::size_t peer);

    /// False: the limit passed first. In both cases the endpoint is closed.
    bool close(double seconds);
    /// Closes without waiting.
    void end();

private:
    struct Transfer;
    struct Registration;
    class Use;

    explicit Endpoint(wireproof_endpoint* handle);

    static void on_message(wireproof_endpoint*, const wireproof_message* message, void* user);
    static void on_done(wireproof_endpoint*, wireproof_status status, void* user);
    static void on_lost(wireproof_endpoint*, const wireproof_peer_lost* lost, void* user);
    static void on_refused(wireproof_endpoint*, std::size_t peer, std::uint16_t handler,
                           void* user);

    template <class Call>
    auto released(Call&& call) -> decltype(call());
    template <class Run>
    void run_callback(Run&& run);
    template <class Start>
    bool transfer(std::uint64_t token, const py::object& bytes, bool writable, Start&& start);
    void check(wireproof_status status);
    py::object place_of(const void* memory, std::size_t length) const;
    bool wait_until_left(double seconds);
    void release_if_allocated(Export& bytes) const;
    void free_forgotten();
    void check_nothing_shows_allocations() const;
    void take_allocations();

    wireproof_endpoint* handle_;
    py::object owner_ = py::none();
    KeptError error_;           // of a handler or callback; the next poll or wait throws it
    bool ends_ = false;         // callbacks do not run Python any more
    std::uint64_t losses_ = 0;  // how many peers were lost that had not acknowledged all
    std::string loss_;          // the text about the last of them
    unsigned depth_ = 0;        // calls that are under way, of one thread
    unsigned long thread_ = 0;
    std::map<std::uint64_t, std::unique_ptr<Transfer>> transfers_;  // by token
    std::map<std::uint64_t, Registration> registrations_;           // by id
    std::vector<Allocation*> allocations_;
    std::vector<std::pair<void*, std::size_t>> forgotten_;  // to be freed
};

}  // namespace wireproof::python
