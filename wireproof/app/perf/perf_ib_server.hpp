// The end that answers a measurement of queue pairs: its own process, which is told what to do
// through a page of shared memory, so that nothing but what is measured is on the wire.
#pragma once

#include <atomic>
#include <memory>

#include "wireproof/app/perf/perf_ib_end.hpp"
#include "wireproof/app/perf/perf_limit.hpp"

namespace wireproof::cli {

/// Lies in that page. Written by the one who asks until `asked` counts up, then by the other until
/// `answered` does.
struct PerfIbBoard {
    enum class Command : std::uint8_t { begin, tell, limit, quit };
    enum class Answers : std::uint8_t { nothing, sends, writes };

    std::atomic<std::uint64_t> asked{0};
    std::atomic<std::uint64_t> answered{0};

    Command command = Command::tell;
    Answers answers = Answers::nothing;  // begin: what it does with what comes
    std::size_t size = 0;                // begin: of messages
    std::uint32_t number = 0;            // begin: of the first
    LimitKind kind = LimitKind::none;
    LimitShape shape;

    struct Told {
        std::uint64_t received = 0;  // messages that came
        std::uint64_t resent = 0;    // packets
        std::uint64_t cpu_nanoseconds = 0;
    };
    Told told;
    std::uint16_t limit_port = 0;
};

class PerfIbServer {
public:
    /// `arena` is where limits of shared memory are measured.
    PerfIbServer(PerfIbEnd& end, PerfIbBoard& board, SharedArena& arena);
    /// Until it is asked to quit.
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
    std::uint64_t answered_ = 0;  // of the messages that came
    std::byte last_tag_{};        // a Write shows by its last byte
    std::unique_ptr<LimitServer> limit_;
    bool quit_ = false;
};

}  // namespace wireproof::cli
