// A file over queue pairs. A piece is a Send; its immediate data is its number, and it ends with
// the SHA-256 of its bytes. Control messages are reliable, so over an unreliable connection only
// pieces can be missing. Then the file is not complete, but the pieces that arrived are correct.
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
// UC has no flow control, so the sender limits itself. An acknowledged MARK shows that the receiver
// has processed everything before it, even if pieces were lost. The sender sends only a few pieces
// after the last acknowledged MARK. If the user asks for a rate, the rate replaces the MARKs.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "wireproof/app/transfer/carry_run.hpp"
#include "wireproof/app/transfer/ib_session.hpp"
#include "wireproof/app/transfer/transfer_side.hpp"

namespace wireproof::app {

/// Bytes of the file in one piece. With its SHA-256, the piece fills whole packets.
constexpr std::size_t ib_piece_bytes(std::size_t path_mtu) {
    return 16 * path_mtu - 32;
}

struct IbTransferTerms {
    std::size_t path_mtu = 1024;
    bool reliable = true;
    double rate = 0;  // bytes per second of unreliable pieces; 0: as fast as the receiver takes
};

class IbFileSender final : public TransferSide {
public:
    /// Session and file must outlive the sender.
    IbFileSender(IbSession& session, const InputFile& file, const IbTransferTerms& terms);

    void step(Instant now);
    bool may_leave(Instant now) const;
    std::uint64_t bytes_taken() const;
    MessageCounts messages() const { return {.sent = next_, .delivered = delivered_}; }
    /// The time at which step() has something to do, even if nothing arrives.
    Instant next_deadline() const { return pace_at_; }

private:
    void on_control(ConstBytes message);
    void on_verdict(ConstBytes body);
    void send_pieces();
    bool may_send();
    bool send_piece(std::size_t slot);
    void tell_failed(const std::string& why) override;
    std::uint64_t pieces() const;

    IbSession& session_;
    const InputFile& file_;
    IbTransferTerms terms_;
    std::uint64_t next_ = 0;             // piece to send next
    std::deque<std::uint64_t> marks_;    // of unacknowledged marks: control messages by number
    std::uint64_t delivered_ = 0;        // pieces
    std::uint64_t delivered_bytes_ = 0;  // from the verdict
    bool connected_ = false;
    bool ready_ = false;
    bool asked_ = false;
    Instant pace_at_ = never;
    std::optional<Instant> paced_from_;
};

class IbFileReceiver final : public TransferSide {
public:
    IbFileReceiver(IbSession& session, OutputFile& file, const IbTransferTerms& terms);

    void step(Instant now);
    bool may_leave(Instant now) const;
    std::uint64_t bytes_taken() const { return written_; }
    MessageCounts messages() const { return {.sent = total_, .delivered = delivered_}; }
    Instant next_deadline() const { return compare_at_; }

private:
    void on_control(ConstBytes message);
    void on_piece(ConstBytes piece, std::uint32_t number);
    void begin(ConstBytes body);
    void compare();
    void tell_failed(const std::string& why) override;

    IbSession& session_;
    OutputFile& file_;
    IbTransferTerms terms_;
    std::uint64_t size_ = 0;
    std::uint64_t written_ = 0;
    std::uint64_t next_ = 0;  // the smallest number that the next piece may have
    std::uint64_t total_ = 0;
    std::uint64_t delivered_ = 0;
    bool intact_ = true;
    bool parted_ = false;
    Instant compare_at_ = never;
};

}  // namespace wireproof::app
