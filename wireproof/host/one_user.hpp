// Finds two mistakes of a program that uses an object from a library: two threads in it at once,
// and its end while one of its own calls runs. Both would be a crash somewhere else, later.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace wireproof::host {

/// Prints one line on standard error, "wireproof: " and then `what`, and aborts. For mistakes of
/// the calling program after which nothing can go on.
[[noreturn]] void misused(const char* what) noexcept;

/// Counts the calls that run in an object. Where assertions are on (no NDEBUG) it also ends the
/// program if a second thread comes while one is inside.
class OneUser {
public:
    /// `name` is a literal that begins a sentence: "an Endpoint".
    explicit OneUser(const char* name) : name_(name) {}

    /// A call that runs, from its beginning to its end. Calls of one thread may nest.
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
    std::atomic<std::thread::id> thread_{};  // of the calls that run
};

}  // namespace wireproof::host
