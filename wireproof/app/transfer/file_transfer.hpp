// A file over active messages. The sender stores pieces into a few slots of the receiver's memory.
// The receiver writes the pieces in order and reports how many it has written. The owner of the
// node takes the turns of both.
//
//      sender                                     receiver
//      BEGIN  size, piece, slots        ──►       takes memory and room for the file
//                                       ◄──       READY  address of slot 0 | FAILED errno
//      store  piece k → slot k mod n    ──►       PIECE handler: hash, write
//                                       ◄──       TAKEN  pieces written so far
//      END    SHA-256                   ──►       compares
//                                       ◄──       VERDICT  1 | 0
//      BYE                              ──►
//                                       ◄──       BYE
//
// Instead of continuing, each side may send FAILED with a line of text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wireproof/app/common/files.hpp"
#include "wireproof/app/common/no_answer.hpp"
#include "wireproof/app/transfer/digest.hpp"
#include "wireproof/app/transfer/transfer_side.hpp"
#include "wireproof/front/am/node.hpp"

namespace wireproof::app {

class FileSender final : public TransferSide {
public:
    /// Node and file must outlive the sender. `framing` is the number of bytes that packets reserve
    /// for IP and UDP headers.
    FileSender(am::Node& node, std::size_t peer, const InputFile& file,
               std::size_t framing = ipv4_framing);

    /// Does everything that is possible now. Call it after every poll.
    void step(Instant now);

    /// True if the transfer has ended, and the other side knows it or had time to learn it. Then
    /// the process may end.
    bool may_leave(Instant now) const;
    std::uint64_t bytes_taken() const;

private:
    struct Slot {
        std::vector<std::byte> bytes;
        bool busy = false;  // the engine borrows its bytes
    };

    void begin(Instant now);
    void send_pieces();
    bool read_piece(Slot& slot);
    void ask_verdict(Instant now);
    void part(Instant now);
    bool request(Instant now, std::uint16_t handler, ConstBytes words);
    void tell_failed(const std::string&) override { failed_here_ = true; }
    std::uint64_t pieces() const;

    am::Node& node_;
    std::size_t peer_;
    const InputFile& file_;
    std::size_t framing_;
    Digest digest_;
    std::vector<Slot> slots_;
    std::uint64_t address_ = 0;
    std::uint64_t next_ = 0;   // piece to read next
    std::uint64_t taken_ = 0;  // pieces that the receiver has written
    bool connected_ = false;
    bool ready_ = false;
    bool filled_ = false;  // the next piece has been read and waits for the window
    bool asked_ = false;   // END was sent
    bool failed_here_ = false;
    bool parting_ = false;  // BYE or FAILED was sent
    bool parted_ = false;   // BYE was answered
};

class FileReceiver final : public TransferSide {
public:
    FileReceiver(am::Node& node, std::size_t peer, OutputFile& file,
                 std::size_t framing = ipv4_framing);

    void step(Instant now);

    /// Like FileSender::may_leave. Without BYE the receiver waits long, because the verdict may not
    /// have arrived.
    bool may_leave(Instant now) const;
    /// How often the sender was started again, so that the file began anew.
    std::size_t restarts() const { return restarts_; }
    std::uint64_t bytes_expected() const { return size_; }
    std::uint64_t bytes_taken() const { return written_; }

private:
    void on_begin(const am::Message& message);
    void on_piece(const am::Message& message);
    void on_end(const am::Message& message);
    void tell_failed(const std::string& why) override;
    void on_lost(const am::PeerLost& lost);
    bool begin_anew();
    std::string why_lost(const am::PeerLost& lost) const;

    am::Node& node_;
    std::size_t peer_;
    OutputFile& file_;
    std::size_t framing_;
    Digest digest_;
    std::vector<std::byte> memory_;
    std::vector<std::size_t> waiting_;  // by slot: bytes that are in place but not yet written
    std::uint64_t size_ = 0;
    std::uint64_t written_ = 0;
    std::uint64_t taken_ = 0;
    std::size_t restarts_ = 0;
    bool parted_ = false;  // the sender knows the end, or is lost
};

}  // namespace wireproof::app
