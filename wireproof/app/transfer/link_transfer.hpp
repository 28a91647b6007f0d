// A file over messages of any length: pieces in order, each hashed and written when it arrives. A
// link delivers in order and without duplicates, so slots and addresses are not needed.
//
//      sender                        receiver
//      BEGIN   size            ──►   makes room for the file
//                              ◄──   READY | FAILED line
//      PIECE   bytes           ──►   hash, write
//      END     SHA-256         ──►   compares
//                              ◄──   VERDICT 1 | 0
//      BYE                     ──►
//                              ◄──   BYE
//
// Instead of continuing, each side may send FAILED with a line of text. The first byte of a message
// is its kind.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wireproof/app/common/files.hpp"
#include "wireproof/app/transfer/digest.hpp"
#include "wireproof/app/transfer/transfer_side.hpp"
#include "wireproof/front/link/node.hpp"

namespace wireproof::app {

class LinkFileSender final : public TransferSide {
public:
    /// Node and file must outlive the sender.
    LinkFileSender(link::Node& node, const InputFile& file);

    void step(Instant now);
    bool may_leave(Instant now) const;
    std::uint64_t bytes_taken() const;

private:
    void on_message(ConstBytes message);
    void send_pieces();
    void tell_failed(const std::string& why) override;

    link::Node& node_;
    const InputFile& file_;
    Digest digest_;
    std::vector<std::byte> piece_;
    std::uint64_t sent_ = 0;  // bytes of the file
    bool connected_ = false;
    bool ready_ = false;
    bool asked_ = false;
    bool parted_ = false;
};

class LinkFileReceiver final : public TransferSide {
public:
    LinkFileReceiver(link::Node& node, OutputFile& file);

    void step(Instant now);
    bool may_leave(Instant now) const;
    std::uint64_t bytes_taken() const { return written_; }

private:
    void on_message(ConstBytes message);
    void begin(ConstBytes body);
    void take(ConstBytes piece);
    void compare(ConstBytes sha256);
    void tell_failed(const std::string& why) override;

    link::Node& node_;
    OutputFile& file_;
    Digest digest_;
    std::uint64_t size_ = 0;
    std::uint64_t written_ = 0;
    bool parted_ = false;
};

}  // namespace wireproof::app
