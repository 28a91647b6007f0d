#include "wireproof/app/transfer/link_transfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "wireproof/app/common/no_answer.hpp"
#include "wireproof/wire/sequenced/datagram_header.hpp"

namespace wireproof::app {
namespace {

constexpr std::size_t link_piece_max = std::size_t{64} * 1024;
constexpr std::uint64_t link_size_max = std::uint64_t{1} << 62;
constexpr std::size_t link_text_max = 400;

void send_on_link(link::Node& node, TransferWord what, ConstBytes body = {}) {
    node.send(transfer_message(what, body));
}

// The bytes around a frame that travels alone: IP, UDP and the header of the sequenced wire.
constexpr std::size_t framing = 28 + DatagramHeader::size(1);

std::string why_lost(link::Lost lost, link::Node& node) {
    switch (lost) {
        case link::Lost::silent: return silence(node.peer_timeout(), node.trouble().cause);
        case link::Lost::unanswered:
            return no_answer(node.engine().unanswered(), node.peer_timeout(), framing,
                             node.frame_max() + framing, node.trouble().cause);
        case link::Lost::restarted: return "the other side was restarted";
        case link::Lost::broken: return "the other side sent a malformed message";
    }
    return {};
}

}  // namespace

LinkFileSender::LinkFileSender(link::Node& node, const InputFile& file) : node_(node), file_(file) {
    node_.set_awaiting(true);
    node_.on_message([this](ConstBytes message) { on_message(message); });
    node_.on_lost([this](link::Lost lost) { end_with({false, why_lost(lost, node_)}); });
}

void LinkFileSender::on_message(ConstBytes message) {
    if (message.empty()) return;
    const ConstBytes body = message.subspan(1);
    switch (static_cast<TransferWord>(message[0])) {
        case TransferWord::ready: ready_ = true; return;
        case TransferWord::verdict:
            return end_as(body.size() == 1 && body[0] == std::byte{1}, wrong_digest);
        case TransferWord::bye: parted_ = true; return;
        case TransferWord::failed: return other_failed("the receiver", body);
        default: return;
    }
}

void LinkFileSender::tell_failed(const std::string& why) {
    node_.send(failed_message(why, link_text_max));
}

// BEGIN and READY are also messages. The receiver has the bytes of the messages after them.
std::uint64_t LinkFileSender::bytes_taken() const {
    const std::uint64_t messages = node_.messages_delivered();
    return messages < 2 ? 0 : std::min<std::uint64_t>((messages - 1) * link_piece_max, sent_);
}

void LinkFileSender::send_pieces() {
    while (sent_ < file_.size() && node_.has_room()) {
        piece_.resize(static_cast<std::size_t>(
            std::min<std::uint64_t>(link_piece_max, file_.size() - sent_)));
        if (!attempt([&] { file_.read(sent_, piece_); })) return;
        digest_.add(piece_);
        send_on_link(node_, TransferWord::piece, piece_);
        sent_ += piece_.size();
    }
    if (sent_ < file_.size() || asked_) return;
    asked_ = true;
    send_on_link(node_, TransferWord::end, digest_.finish());
}

void LinkFileSender::step(Instant now) {
    now_ = now;
    if (!end_) {
        if (!begun_) {
            begun_ = true;
            send_on_link(node_, TransferWord::begin, eight_bytes(file_.size()));
        }
        // The time starts with the first contact: the wait for a receiver does not count.
        if (!connected_) started_ = now;
        connected_ = connected_ || node_.connected();
        if (ready_) send_pieces();
    }
    if (finish_at(now) && end_->verified) send_on_link(node_, TransferWord::bye);
}

bool LinkFileSender::may_leave(Instant now) const {
    if (!finished_) return false;
    if (now >= *finished_ + linger) return true;
    return end_->verified ? parted_ : node_.idle();
}

LinkFileReceiver::LinkFileReceiver(link::Node& node, OutputFile& file) : node_(node), file_(file) {
    // Waits for the sender from the first frame on: a sender that dies before BEGIN must not keep
    // its place in this node.
    node_.set_awaiting(true);
    node_.on_message([this](ConstBytes message) { on_message(message); });
    node_.on_lost([this](link::Lost lost) {
        end_with({false, why_lost(lost, node_)});
        parted_ = true;
    });
}

void LinkFileReceiver::on_message(ConstBytes message) {
    if (message.empty()) return;
    const ConstBytes body = message.subspan(1);
    switch (static_cast<TransferWord>(message[0])) {
        case TransferWord::begin: return begin(body);
        case TransferWord::piece: return take(body);
        case TransferWord::end: return compare(body);
        case TransferWord::bye: parted_ = true; return send_on_link(node_, TransferWord::bye);
        case TransferWord::failed:
            other_failed("the sender", body);
            parted_ = true;
            return;
        default: return;
    }
}

void LinkFileReceiver::tell_failed(const std::string& why) {
    node_.send(failed_message(why, link_text_max));
}

void LinkFileReceiver::begin(ConstBytes body) {
    if (begun_ || end_ || body.size() != 8) return;
    begun_ = true;
    started_ = now_;
    size_ = load_le<std::uint64_t>(body.first<8>());
    if (size_ > link_size_max) return fail("the sender gives an impossible length of the file");
    if (!attempt([&] { file_.reserve(size_); })) return;
    send_on_link(node_, TransferWord::ready);
}

void LinkFileReceiver::take(ConstBytes piece) {
    if (end_ || !begun_) return;
    if (piece.size() > size_ - written_) return fail("the file is longer than its sender said");
    digest_.add(piece);
    if (!attempt([&] { file_.write(written_, piece); })) return;
    written_ += piece.size();
}

void LinkFileReceiver::compare(ConstBytes sha256) {
    if (end_ || !begun_) return;
    const Sha256 digest = digest_.finish();
    const bool whole =
        written_ == size_ && std::equal(digest.begin(), digest.end(), sha256.begin(), sha256.end());
    if (whole && !attempt([&] { file_.finish(); })) return;
    send_on_link(node_, TransferWord::verdict, std::array{static_cast<std::byte>(whole ? 1 : 0)});
    end_as(whole, wrong_digest);
}

void LinkFileReceiver::step(Instant now) {
    now_ = now;
    finish_at(now);
}

bool LinkFileReceiver::may_leave(Instant now) const {
    if (!finished_) return false;
    // The last message (BYE or FAILED) has arrived.
    if (parted_ && (node_.idle() || now >= *finished_ + linger)) return true;
    if (end_->verified) return now >= *finished_ + node_.peer_timeout();
    return node_.idle() || now >= *finished_ + linger;
}

}  // namespace wireproof::app
