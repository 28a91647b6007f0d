// A file over queue pairs: pieces as Sends whose immediate data is their number, each ending in the
// SHA-256 of its bytes. Control messages are reliable, so over an unreliable connection only pieces
// can be missing; a file of which some are is not whole, but what came of it is as it was sent.
//
//      sender                          receiver
//      BEGIN   size               ──►  makes room for the file
//                                 ◄──  READY | FAILED line
//      piece k bytes, SHA-256     ──►  checks, writes
//      MARK                       ──►                       (unreliable pieces only)
//      END     pieces             ──►  waits for what was overtaken
//                                 ◄──  VERDICT intact, pieces, bytes
//      BYE                        ──►
//
// Nothing holds back who sends unreliably, so the sender does it itself: a MARK that has been
// acknowledged shows that the receiver is done with everything before it, lost or not, and only so
// much leaves beyond the last one. A rate asked for takes its place.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "wireproof/app/transfer/carry_run.hpp"
#include "wireproof/app/transfer/file_transfer.hpp"
#include "wireproof/app/transfer/ib_session.hpp"

namespace wireproof::cli {

/// Bytes of the file in one piece: it fills so many packets, its SHA-256 included.
constexpr std::size_t ib_piece_bytes(std::size_t path_mtu) {
    return 16 * path_mtu - 32;
}

struct IbTransferTerms {
    std::size_t path_mtu = 1024;
    bool reliable = true;
    double rate = 0;  // bytes per second of unreliable pieces; 0: as the receiver takes them
};

class IbFileSender {
public:
    /// Session and file outlive the sender.
    IbFileSender(IbSession& session, const InputFile& file, const IbTransferTerms& terms);

    void step(Instant now);
    const std::optional<TransferEnd>& end() const { return end_; }
    bool may_leave(Instant now) const;
    Duration duration() const { return finished_.value_or(now_) - started_; }
    std::uint64_t bytes_taken() const;
    MessageCounts messages() const { return {.sent = next_, .delivered = delivered_}; }
    /// When step() has something to do though nothing came.
    Instant next_deadline() const { return pace_at_; }

private:
    void on_control(ConstBytes message);
    void on_verdict(ConstBytes body);
    void send_pieces();
    bool may_send();
    bool send_piece(std::size_t slot);
    void end_with(TransferEnd end);
    std::uint64_t pieces() const;

    IbSession& session_;
    const InputFile& file_;
    IbTransferTerms terms_;
    std::uint64_t next_ = 0;             // piece to send next
    std::deque<std::uint64_t> marks_;    // for each not yet acknowledged, its control message
    std::uint64_t delivered_ = 0;        // pieces
    std::uint64_t delivered_bytes_ = 0;  // as the verdict says
    bool begun_ = false;
    bool connected_ = false;
    bool ready_ = false;
    bool asked_ = false;
    Instant now_;
    Instant started_;
    Instant pace_at_ = never;
    std::optional<Instant> paced_from_;
    std::optional<Instant> finished_;
    std::optional<TransferEnd> end_;
};

class IbFileReceiver {
public:
    IbFileReceiver(IbSession& session, OutputFile& file, const IbTransferTerms& terms);

    void step(Instant now);
    const std::optional<TransferEnd>& end() const { return end_; }
    bool may_leave(Instant now) const;
    Duration duration() const { return finished_.value_or(now_) - started_; }
    std::uint64_t bytes_taken() const { return written_; }
    MessageCounts messages() const { return {.sent = total_, .delivered = delivered_}; }
    Instant next_deadline() const { return compare_at_; }

private:
    void on_control(ConstBytes message);
    void on_piece(ConstBytes piece, std::uint32_t number);
    void begin(ConstBytes body);
    void compare();
    void fail(const std::string& why);

    IbSession& session_;
    OutputFile& file_;
    IbTransferTerms terms_;
    std::uint64_t size_ = 0;
    std::uint64_t written_ = 0;
    std::uint64_t next_ = 0;  // the least number that a piece may have now
    std::uint64_t total_ = 0;
    std::uint64_t delivered_ = 0;
    bool begun_ = false;
    bool intact_ = true;
    bool parted_ = false;
    Instant now_;
    Instant started_;
    Instant compare_at_ = never;
    std::optional<Instant> finished_;
    std::optional<TransferEnd> end_;
};

}  // namespace wireproof::cli
