// Detects two mistakes of a program that uses an object of the library: two threads are in the
// object at once, or the program destroys it while one of its own calls runs. Without this check,
// the program would crash later, in another place.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace wireproof::host {

/// Prints one line on standard error, "wireproof: " and then `what`, and aborts. For mistakes of
/// the calling program after which the library cannot continue.
[[noreturn]] void misused(const char* what) noexcept;

/// Counts the calls that run in an object. If assertions are on (no NDEBUG), it also ends the
/// program when a second thread enters while one is inside.
class OneUser {
public:
    /// `name` is a literal that begins a sentence: "an Endpoint".
    explicit OneUser(const char* name) : name_(name) {}

    /// Marks a running call, from its beginning to its end. Calls of one thread may nest.
    class Call {
    public:
        explicit Call(OneUser& user) : user_(user) { user_.enter(); }
        Call(const Call&) = delete;
        Call& operator=(const Call&) = delete;
        ~Call() { user_.leave(); }

    private:
        OneUser& user_;
    };

    bool inside() const { return calls_ > 0; }

private:
#ifdef NDEBUG
    void enter() {
        ++calls_;
    }
    void leave() {
        --calls_;
    }
#else
    void enter();
    void leave();
#endif

    const char* name_;
    std::uint32_t calls_ = 0;
    std::atomic<std::thread::id> thread_{};  // the thread of the running calls
};

}  // namespace wireproof::host
