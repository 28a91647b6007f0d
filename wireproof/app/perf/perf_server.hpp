// The answering end: counts and echoes messages, lends memory, and runs the other half of the bare
// limits.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "wireproof/app/perf/page_bytes.hpp"
#include "wireproof/app/perf/perf_ends.hpp"
#include "wireproof/app/perf/perf_limit.hpp"

namespace wireproof::app {

/// Handlers of the two ends. A number takes two words, the lower one first.
enum PerfHandler : std::uint16_t {
    // at the server
    perf_echo = 1,  // → perf_answer with the same words
    perf_count,     // a message of a stream
    perf_stored,    // the handler of a store
    perf_prepare,   // size, private or not → perf_prepared: address
    perf_ask,       // → perf_told: counted, stored, cpu nanoseconds, resent
    perf_check,     // size → perf_told: CRC-32C of this many bytes of the memory
    perf_limit,     // kind, size → perf_told: port, if the limit has one; then the bare half runs
    perf_quit,
    // at the client
    perf_answer = 1,
    perf_told = 2,
};

inline void put_number(std::vector<std::uint32_t>& words, std::uint64_t number) {
    words.push_back(static_cast<std::uint32_t>(number));
    words.push_back(static_cast<std::uint32_t>(number >> 32));
}
inline std::uint64_t number_at(const am::Words& words, std::size_t at) {
    return words[at] | std::uint64_t{words[at + 1]} << 32;
}

class PerfServer {
public:
    PerfServer(PerfEnd& end, SharedArena* arena);

    /// One turn; also runs the bare half of a limit if a client asked for it. Returns how much it
    /// did.
    std::size_t turn(Instant now);
    /// Takes turns until it is asked to quit.
    void serve();
    bool asked_to_quit() const { return quit_; }
    /// The measuring half of a limit may begin at any moment, without a message on the wire.
    bool expects_limit() const { return limit_due_; }
    /// Prepares for the next client.
    void begin_anew() { quit_ = limit_due_ = false; }

private:
    void prepare(const am::Message& message);
    void tell(const am::Message& message);
    void check(const am::Message& message);
    void begin_limit(const am::Message& message);
    Address asked_at(std::size_t client);

    PerfEnd& end_;
    SharedArena* arena_;
    std::uint64_t counted_ = 0;
    std::uint64_t stored_ = 0;
    std::uint32_t last_word_ = 0;
    std::deque<PageBytes> own_memory_;
    Bytes memory_;
    std::uint64_t address_ = 0;
    std::unique_ptr<LimitServer> limit_;
    bool limit_due_ = false;
    bool quit_ = false;
};

/// CPU time of this process in nanoseconds.
std::uint64_t cpu_nanoseconds();

}  // namespace wireproof::app
