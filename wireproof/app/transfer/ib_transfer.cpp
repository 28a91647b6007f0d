#include "wireproof/app/transfer/ib_transfer.hpp"

#include <algorithm>
#include <array>

#include "wireproof/app/transfer/digest.hpp"
#include "wireproof/base/bytes.hpp"

namespace wireproof::app {
namespace {

// 0 is the keep-alive of the session; it has no content.
constexpr std::size_t digest_size = std::tuple_size_v<Sha256>;
constexpr std::uint64_t queue_pair_size_max = std::uint64_t{1}
                                              << 44;  // the numbers of pieces have 32 bits
constexpr std::size_t text_max = 200;
constexpr const char* not_as_sent = "a message arrived that is not as it was sent";

// For unreliable pieces: a mark follows every two pieces, and at most three marks may be
// unacknowledged. So a socket's receive buffer can hold the pieces for a receiver that sleeps.
constexpr std::uint64_t pieces_per_mark = 2;
constexpr std::size_t marks_max = 3;

// For pieces that END overtook: longer than any wire here delays a frame.
constexpr Duration overtaken = Duration::milliseconds(20);

constexpr TransferWord mark = TransferWord::piece;  // pieces have no kind here: they are Sends

void send(IbSession& session, TransferWord what, ConstBytes body = {}) {
    session.send_control(transfer_message(what, body));
}

Sha256 digest_of(ConstBytes bytes) {
    Digest digest;
    digest.add(bytes);
    return digest.finish();
}

std::uint64_t pieces_of(std::uint64_t size, std::size_t path_mtu) {
    const std::size_t piece = ib_piece_bytes(path_mtu);
    return (size + piece - 1) / piece;
}

}  // namespace

IbFileSender::IbFileSender(IbSession& session, const InputFile& file, const IbTransferTerms& terms)
    : session_(session), file_(file), terms_(terms) {
    session_.on_control([this](ConstBytes message) { on_control(message); });
}

std::uint64_t IbFileSender::pieces() const {
    return pieces_of(file_.size(), terms_.path_mtu);
}

std::uint64_t IbFileSender::bytes_taken() const {
    if (!terms_.reliable) return delivered_bytes_;
    return std::min(session_.pieces_completed() * ib_piece_bytes(terms_.path_mtu), file_.size());
}

void IbFileSender::on_control(ConstBytes message) {
    const ConstBytes body = message.subspan(1);
    switch (static_cast<TransferWord>(message[0])) {
        case TransferWord::ready: ready_ = true; return;
        case TransferWord::verdict: return on_verdict(body);
        case TransferWord::failed: return other_failed("the receiver", body);
        default: return;
    }
}

void IbFileSender::on_verdict(ConstBytes body) {
    if (body.size() != 17) return;
    delivered_ = load_le<std::uint64_t>(body.subspan<1, 8>());
    delivered_bytes_ = load_le<std::uint64_t>(body.subspan<9, 8>());
    end_as(body[0] == std::byte{1}, not_as_sent);
}

void IbFileSender::tell_failed(const std::string& why) {
    session_.send_control(failed_message(why, text_max));
}

/// Whether the pace allows one more piece.
bool IbFileSender::may_send() {
    pace_at_ = never;
    if (terms_.reliable) return true;
    if (terms_.rate > 0) {
        if (!paced_from_) paced_from_ = now_;
        const double due = static_cast<double>(next_ * ib_piece_bytes(terms_.path_mtu));
        const Instant at = *paced_from_ + Duration::from_seconds(due / terms_.rate);
        if (at <= now_) return true;
        pace_at_ = at;
        return false;
    }
    while (!marks_.empty() && marks_.front() <= session_.control_acknowledged()) {
        marks_.pop_front();
    }
    return marks_.size() < marks_max;
}

bool IbFileSender::send_piece(std::size_t slot) {
    const std::size_t most = ib_piece_bytes(terms_.path_mtu);
    const std::uint64_t offset = next_ * most;
    const auto length =
        static_cast<std::size_t>(std::min<std::uint64_t>(most, file_.size() - offset));
    const Bytes room = session_.slot(slot).first(length + digest_size);
    if (!attempt([&] { file_.read(offset, room.first(length)); })) return false;
    const Sha256 digest = digest_of(room.first(length));
    std::copy(digest.begin(), digest.end(), room.last(digest_size).begin());
    session_.send_piece(slot, room.size(), static_cast<std::uint32_t>(next_));
    return true;
}

void IbFileSender::send_pieces() {
    while (next_ < pieces() && may_send()) {
        const auto slot = session_.free_slot();
        if (!slot || !send_piece(*slot)) return;
        ++next_;
        if (terms_.reliable || terms_.rate > 0 || next_ % pieces_per_mark != 0) continue;
        send(session_, mark);
        marks_.push_back(session_.control_queued());
    }
    // Reliable pieces must have arrived before END leaves; unreliable ones must have left.
    if (next_ < pieces() || asked_ || session_.pieces_completed() < next_) return;
    asked_ = true;
    send(session_, TransferWord::end, eight_bytes(next_));
}

void IbFileSender::step(Instant now) {
    now_ = now;
    if (!session_.failure().empty()) end_with({false, session_.failure()});
    if (!end_) {
        if (!begun_) {
            begun_ = true;
            send(session_, TransferWord::begin, eight_bytes(file_.size()));
        }
        // The time starts with the first contact: the wait for a receiver does not count.
        if (!connected_) started_ = now;
        connected_ = connected_ || session_.connected();
        if (ready_) send_pieces();
    }
    if (!finish_at(now)) return;
    pace_at_ = never;
    if (session_.failure().empty()) send(session_, TransferWord::bye);
}

bool IbFileSender::may_leave(Instant now) const {
    if (!finished_) return false;
    return session_.control_idle() || !session_.failure().empty() || now >= *finished_ + linger;
}

IbFileReceiver::IbFileReceiver(IbSession& session, OutputFile& file, const IbTransferTerms& terms)
    : session_(session), file_(file), terms_(terms) {
    session_.on_control([this](ConstBytes message) { on_control(message); });
    session_.on_piece([this](ConstBytes piece, std::uint32_t number) { on_piece(piece, number); });
}

void IbFileReceiver::on_control(ConstBytes message) {
    const ConstBytes body = message.subspan(1);
    switch (static_cast<TransferWord>(message[0])) {
        case TransferWord::begin: return begin(body);
        case TransferWord::end:
            if (!begun_ || end_ || compare_at_ != never || body.size() != 8) return;
            total_ = load_le<std::uint64_t>(body.first<8>());
            compare_at_ = delivered_ == total_ ? now_ : now_ + overtaken;
            return;
        case TransferWord::bye: parted_ = true; return;
        case TransferWord::failed:
            other_failed("the sender", body);
            parted_ = true;
            return;
        default: return;
    }
}

void IbFileReceiver::tell_failed(const std::string& why) {
    session_.send_control(failed_message(why, text_max));
}

void IbFileReceiver::begin(ConstBytes body) {
    if (begun_ || end_ || body.size() != 8) return;
    begun_ = true;
    started_ = now_;
    size_ = load_le<std::uint64_t>(body.first<8>());
    if (size_ > queue_pair_size_max)
        return fail("the file is too long: there are not enough numbers for its pieces");
    if (!attempt([&] { file_.reserve(size_); })) return;
    send(session_, TransferWord::ready);
}

// The number of a piece gives its place in the file, so it must be right. Reliable pieces arrive in
// order.
void IbFileReceiver::on_piece(ConstBytes piece, std::uint32_t number) {
    if (end_ || !begun_) return;
    const std::uint64_t offset = std::uint64_t{number} * ib_piece_bytes(terms_.path_mtu);
    const bool in_order = terms_.reliable ? number == next_ : number >= next_;
    const bool digested = piece.size() > digest_size;
    const ConstBytes bytes = digested ? piece.first(piece.size() - digest_size) : ConstBytes();
    const std::size_t due = static_cast<std::size_t>(
        std::min<std::uint64_t>(ib_piece_bytes(terms_.path_mtu), size_ - std::min(size_, offset)));
    if (!in_order || !digested || bytes.size() != due ||
        !std::ranges::equal(digest_of(bytes), piece.last(digest_size))) {
        intact_ = false;
        return;
    }
    next_ = std::uint64_t{number} + 1;
    if (!attempt([&] { file_.write(offset, bytes); })) return;
    ++delivered_;
    written_ += bytes.size();
}

void IbFileReceiver::compare() {
    compare_at_ = never;
    const bool whole = intact_ && delivered_ == total_ && written_ == size_;
    if (terms_.reliable && !whole) intact_ = false;
    if (whole && !attempt([&] { file_.finish(); })) return;
    std::array<std::byte, 17> verdict{};
    verdict[0] = static_cast<std::byte>(intact_ ? 1 : 0);
    store_le<std::uint64_t>(std::span(verdict).subspan<1, 8>(), delivered_);
    store_le<std::uint64_t>(std::span(verdict).subspan<9, 8>(), written_);
    send(session_, TransferWord::verdict, verdict);
    end_as(intact_, not_as_sent);
}

void IbFileReceiver::step(Instant now) {
    now_ = now;
    if (!end_ && compare_at_ <= now) compare();
    if (!session_.failure().empty()) {
        end_with({false, session_.failure()});
        parted_ = true;
    }
    finish_at(now);
}

bool IbFileReceiver::may_leave(Instant now) const {
    if (!finished_) return false;
    if (parted_) return true;
    if (end_->verified) return now >= *finished_ + session_.peer_timeout();
    return session_.control_idle() || now >= *finished_ + linger;
}

}  // namespace wireproof::app
