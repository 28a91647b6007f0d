// The answering end of a measurement of queue pairs, in its own process. It gets its commands
// through a page of shared memory, so that only the measured messages are on the wire.
#pragma once

#include <atomic>
#include <memory>

#include "wireproof/app/perf/perf_ib_end.hpp"
#include "wireproof/app/perf/perf_limit.hpp"

namespace wireproof::app {

/// The content of that page. The measuring end writes it until it increments `asked`; then the
/// answering end writes it until it increments `answered`.
struct PerfIbBoard {
    enum class Command : std::uint8_t { begin, tell, limit, quit };
    enum class Answers : std::uint8_t { nothing, sends, writes };

    std::atomic<std::uint64_t> asked{0};
    std::atomic<std::uint64_t> answered{0};

    Command command = Command::tell;
    Answers answers = Answers::nothing;  // begin: how to answer each message
    std::size_t size = 0;                // begin: length of the messages
    std::uint32_t number = 0;            // begin: number of the first message
    LimitKind kind = LimitKind::none;
    LimitShape shape;

    struct Told {
        std::uint64_t received = 0;  // messages that arrived
        std::uint64_t resent = 0;    // packets
        std::uint64_t cpu_nanoseconds = 0;
    };
    Told told;
    std::uint16_t limit_port = 0;
};

class PerfIbServer {
public:
    /// `arena` is the memory for the limits of shared memory.
    PerfIbServer(PerfIbEnd& end, PerfIbBoard& board, SharedArena& arena);
    /// Runs until it gets the command to quit.
    void serve();

private:
    void answer();
    void answer_sends();
    void answer_writes();
    void obey();
    void begin();
    void begin_limit();

    PerfIbEnd& end_;
    PerfIbBoard& board_;
    SharedArena& arena_;
    PerfIbBoard::Answers answers_ = PerfIbBoard::Answers::nothing;
    std::size_t size_ = 0;
    std::uint64_t answered_ = 0;  // messages that were answered
    std::byte last_tag_{};        // a Write is recognised by its last byte
    std::unique_ptr<LimitServer> limit_;
    bool quit_ = false;
};

}  // namespace wireproof::app
