#include "wireproof/app/perf/perf_ib_server.hpp"

#include <algorithm>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/app/perf/perf_ends.hpp"
#include "wireproof/app/perf/perf_server.hpp"

namespace wireproof::app {

PerfIbServer::PerfIbServer(PerfIbEnd& end, PerfIbBoard& board, SharedArena& arena)
    : end_(end), board_(board), arena_(arena) {}

void PerfIbServer::serve() {
    std::uint64_t quiet = 0;
    for (std::uint32_t turns = 0; !quit_; ++turns) {
        quiet = end_.turn() == 0 ? quiet + 1 : 0;
        answer();
        // The answer must count all messages that arrived before the request. A wire may once
        // report that it is empty before it looks again, so two quiet turns are needed.
        if (quiet >= 2) obey();
        if (limit_ != nullptr && limit_->asked()) {
            limit_->run();
            limit_.reset();
        }
        if (turns % 16'384 == 0) end_.look();
    }
}

void PerfIbServer::answer() {
    switch (answers_) {
        case PerfIbBoard::Answers::nothing: return;
        case PerfIbBoard::Answers::sends: return answer_sends();
        case PerfIbBoard::Answers::writes: return answer_writes();
    }
}

void PerfIbServer::answer_sends() {
    if (end_.received() == answered_ || !end_.send(end_.last_number(), size_)) return;
    answered_ = end_.received();
    end_.transmit();
}

void PerfIbServer::answer_writes() {
    const std::byte tag = end_.destination()[size_ - 1];
    if (tag == last_tag_) return;
    end_.source()[size_ - 1] = tag;
    if (!end_.write(size_)) return;
    last_tag_ = tag;
    end_.transmit();
}

void PerfIbServer::obey() {
    const std::uint64_t asked = board_.asked.load(std::memory_order_acquire);
    if (asked == board_.answered.load(std::memory_order_relaxed)) return;
    switch (board_.command) {
        case PerfIbBoard::Command::begin: begin(); break;
        case PerfIbBoard::Command::tell: break;
        case PerfIbBoard::Command::limit: begin_limit(); break;
        case PerfIbBoard::Command::quit: quit_ = true; break;
    }
    board_.told = {end_.received(), end_.resent(), cpu_nanoseconds()};
    board_.answered.store(asked, std::memory_order_release);
}

void PerfIbServer::begin() {
    answers_ = board_.answers;
    size_ = board_.size;
    answered_ = end_.received();
    last_tag_ = std::byte{0};
    end_.destination()[size_ - 1] = last_tag_;
    std::ranges::fill(end_.destination().first(sizeof(std::uint64_t)), std::byte{0});
    end_.expect(board_.number, size_);
}

void PerfIbServer::begin_limit() {
    answers_ = PerfIbBoard::Answers::nothing;
    limit_ = std::make_unique<LimitServer>(board_.kind, board_.shape, &arena_,
                                           Address{.family = Address::Family::ipv4});
    board_.limit_port = limit_->port();
    if (!limit_->has_half()) limit_.reset();
}

}  // namespace wireproof::app
