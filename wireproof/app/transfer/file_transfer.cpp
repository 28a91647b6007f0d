#include "wireproof/app/transfer/file_transfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "wireproof/app/common/text.hpp"

namespace wireproof::app {
namespace {

enum : std::uint16_t {
    begin_handler = 1,
    ready_handler,
    piece_handler,
    taken_handler,
    end_handler,
    verdict_handler,
    bye_handler,
    failed_handler,
};

constexpr std::uint64_t piece_max = 256 * 1024;
constexpr std::uint32_t slots_max = 8;
constexpr std::uint64_t base_address = 0x10000;
constexpr std::uint64_t size_max = std::uint64_t{1} << 62;  // so that sums do not overflow

// Packs 32-bit words as active messages carry them.
class Packer {
public:
    Packer& add(std::uint32_t word) {
        const std::size_t at = bytes_.size();
        bytes_.resize(at + 4);
        store_le<std::uint32_t>(Bytes(bytes_).subspan(at).first<4>(), word);
        return *this;
    }
    Packer& add_wide(std::uint64_t value) {
        return add(static_cast<std::uint32_t>(value)).add(static_cast<std::uint32_t>(value >> 32));
    }
    ConstBytes bytes() const { return bytes_; }

private:
    std::vector<std::byte> bytes_;
};

std::uint64_t wide_at(const am::Words& words, std::size_t index) {
    return words[index] | std::uint64_t{words[index + 1]} << 32;
}

// A line of text as whole words that fit one packet. Of a long line, keeps the end, because the
// reason is there.
std::vector<std::byte> text_words(std::string text, const am::Connection& connection) {
    constexpr std::size_t longest = 400;
    const std::size_t room = std::min<std::size_t>(connection.message_max(), longest);
    if (text.size() > room) text.replace(0, text.size() - room + 3, "...");
    text.resize((text.size() + 3) / 4 * 4, ' ');
    const ConstBytes bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

}  // namespace

FileSender::FileSender(am::Node& node, std::size_t peer, const InputFile& file, std::size_t framing)
    : node_(node), peer_(peer), file_(file), framing_(framing), slots_(slots_max) {
    node_.set_awaiting(true);
    node_.handle(ready_handler, [this](const am::Message& message) {
        if (message.words().size() != 2) return;
        address_ = wide_at(message.words(), 0);
        ready_ = true;
    });
    node_.handle(taken_handler, [this](const am::Message& message) {
        if (message.words().size() != 2) return;
        taken_ = std::max(taken_, std::min(wide_at(message.words(), 0), next_));
    });
    node_.handle(verdict_handler, [this](const am::Message& message) {
        const bool verified = message.words().size() == 1 && message.words()[0] == 1;
        end_as(verified, wrong_digest);
    });
    node_.handle(failed_handler, [this](const am::Message& message) {
        other_failed("the receiver", message.words().bytes());
    });
    node_.handle(bye_handler, [this](const am::Message&) { parted_ = true; });
    node_.on_peer_lost([this](const am::PeerLost& lost) {
        end_with(
            {false, describe_loss(lost, node_.connection(peer_).config(), framing_), lost.cause});
    });
}

std::uint64_t FileSender::pieces() const {
    return (file_.size() + piece_max - 1) / piece_max;
}

std::uint64_t FileSender::bytes_taken() const {
    return std::min(taken_ * piece_max, file_.size());
}

bool FileSender::request(Instant now, std::uint16_t handler, ConstBytes words) {
    return node_.request(now, peer_, handler, words) == am::Status::ok;
}

void FileSender::step(Instant now) {
    now_ = now;
    if (!end_) {
        if (!begun_) begin(now);
        // The time starts with the handshake: the wait for a receiver does not count.
        if (!connected_ && node_.connected(peer_)) started_ = now;
        connected_ = connected_ || node_.connected(peer_);
        if (ready_) send_pieces();
        if (ready_ && taken_ == pieces() && !asked_) ask_verdict(now);
    }
    finish_at(now);
    if (end_ && !parting_) part(now);
}

void FileSender::begin(Instant now) {
    Packer words;
    words.add_wide(file_.size()).add_wide(piece_max).add(slots_max);
    started_ = now;
    begun_ = request(now, begin_handler, words.bytes());
}

void FileSender::ask_verdict(Instant now) {
    asked_ = true;
    Packer words;
    const Sha256 digest = digest_.finish();
    for (std::size_t i = 0; i < digest.size(); i += 4) {
        words.add(load_le<std::uint32_t>(ConstBytes(digest).subspan(i).first<4>()));
    }
    // Nothing else is in flight, so the window has room.
    if (!request(now, end_handler, words.bytes())) end_with({false, "the request window is stuck"});
}

// Tells the receiver about an end that it cannot know.
void FileSender::part(Instant now) {
    if (end_->verified) {
        parting_ = request(now, bye_handler, {});
    } else if (failed_here_) {
        parting_ = request(now, failed_handler, text_words(end_->failure, node_.connection(peer_)));
    } else {
        parting_ = true;
    }
}

bool FileSender::read_piece(Slot& slot) {
    const std::uint64_t offset = next_ * piece_max;
    slot.bytes.resize(static_cast<std::size_t>(std::min(piece_max, file_.size() - offset)));
    if (!attempt([&] { file_.read(offset, slot.bytes); })) return false;
    digest_.add(slot.bytes);
    return true;
}

void FileSender::send_pieces() {
    while (next_ < pieces() && next_ < taken_ + slots_.size()) {
        Slot& slot = slots_[next_ % slots_.size()];
        if (slot.busy) return;
        if (!filled_ && !read_piece(slot)) return;
        filled_ = true;
        const std::uint64_t place = next_ % slots_.size();
        const auto status = node_.store_async(
            peer_, address_ + place * piece_max, slot.bytes, piece_handler,
            static_cast<std::uint32_t>(next_), [this, &slot](am::Status ended) {
                slot.busy = false;
                // The loss of a peer is reported by another function.
                if (ended != am::Status::ok && ended != am::Status::peer_lost) {
                    end_with({false, fmt::format("a store failed: {}", am::name_of(ended))});
                }
            });
        if (status != am::Status::ok) return;
        slot.busy = true;
        filled_ = false;
        ++next_;
    }
}

bool FileSender::may_leave(Instant now) const {
    if (!finished_) return false;
    if (now >= *finished_ + linger) return true;
    if (!end_->verified) return !failed_here_ || (parting_ && node_.idle());
    return parted_;
}

FileReceiver::FileReceiver(am::Node& node, std::size_t peer, OutputFile& file, std::size_t framing)
    : node_(node), peer_(peer), file_(file), framing_(framing), waiting_(slots_max) {
    node_.handle(begin_handler, [this](const am::Message& message) { on_begin(message); });
    node_.handle(piece_handler, [this](const am::Message& message) { on_piece(message); });
    node_.handle(end_handler, [this](const am::Message& message) { on_end(message); });
    node_.handle(bye_handler, [this](const am::Message& message) {
        parted_ = true;
        message.reply(bye_handler);
    });
    node_.handle(failed_handler, [this](const am::Message& message) {
        other_failed("the sender", message.words().bytes());
        parted_ = true;
    });
    // Waits for the sender from the first frame on: a sender that dies before BEGIN must not keep
    // its place in this node.
    node_.set_awaiting(true);
    node_.on_peer_lost([this](const am::PeerLost& lost) { on_lost(lost); });
}

void FileReceiver::on_lost(const am::PeerLost& lost) {
    if (!end_ && begun_) {
        if (lost.why != am::PeerLost::Why::restarted) {
            end_with({false, why_lost(lost)});
        } else if (!begin_anew()) {
            end_with(
                {false,
                 "the sender was started again, but what is already written cannot be removed"});
        }
    }
    parted_ = end_.has_value();
}

/// The sender that was started again sends its BEGIN next.
bool FileReceiver::begin_anew() {
    if (!file_.begin_anew()) return false;
    const am::Status unregistered = node_.unregister_memory(peer_, base_address);
    if (unregistered == am::Status::would_block) return false;
    begun_ = false;
    digest_ = Digest();
    memory_.clear();
    waiting_.assign(slots_max, 0);
    size_ = written_ = taken_ = 0;
    ++restarts_;
    return true;
}

std::string FileReceiver::why_lost(const am::PeerLost& lost) const {
    return describe_loss(lost, node_.connection(peer_).config(), framing_);
}

void FileReceiver::tell_failed(const std::string& why) {
    node_.reply(failed_handler, text_words(why, node_.connection(peer_)));
}

void FileReceiver::on_begin(const am::Message& message) {
    if (begun_ || message.words().size() != 5) return;
    begun_ = true;
    started_ = now_;
    if (wide_at(message.words(), 2) != piece_max || message.words()[4] != slots_max) {
        return fail("the sender cuts files into other pieces");
    }
    size_ = wide_at(message.words(), 0);
    if (size_ > size_max) return fail("the sender gives an impossible length of the file");
    if (!attempt([&] { file_.reserve(size_); })) return;
    memory_.resize(static_cast<std::size_t>(
        std::min(slots_max * piece_max, (size_ + piece_max - 1) / piece_max * piece_max)));
    if (!node_.register_memory(peer_, base_address, memory_, {.store = true})) {
        return fail("memory for the file is registered already");
    }
    node_.reply(ready_handler, Packer().add_wide(base_address).bytes());
}

// Stores alternate, so a short last piece may be complete before the piece in front of it.
void FileReceiver::on_piece(const am::Message& message) {
    const std::uint32_t piece = message.argument();
    const std::uint64_t place = piece % slots_max;
    if (end_ || piece < taken_ || piece >= taken_ + slots_max || message.memory().empty() ||
        message.memory().data() != memory_.data() + place * piece_max) {
        return;
    }
    waiting_[place] = message.memory().size();
    const bool written = attempt([&] {
        while (waiting_[taken_ % slots_max] > 0 && written_ < size_) {
            const std::uint64_t next = taken_ % slots_max;
            const ConstBytes bytes = ConstBytes(memory_).subspan(next * piece_max, waiting_[next]);
            digest_.add(bytes);
            file_.write(written_, bytes);
            written_ += bytes.size();
            waiting_[next] = 0;
            ++taken_;
        }
    });
    if (!written) return;
    node_.reply(taken_handler, Packer().add_wide(taken_).bytes());
}

void FileReceiver::on_end(const am::Message& message) {
    if (end_ || message.words().size() != 8) return;
    const Sha256 digest = digest_.finish();
    const bool same = std::equal(digest.begin(), digest.end(), message.words().bytes().begin());
    const bool whole = same && written_ == size_;
    if (whole && !attempt([&] { file_.finish(); })) return;
    message.reply(verdict_handler, {whole ? 1U : 0U});
    end_as(whole, wrong_digest);
}

void FileReceiver::step(Instant now) {
    now_ = now;
    finish_at(now);
}

bool FileReceiver::may_leave(Instant now) const {
    if (!finished_) return false;
    if (parted_) return true;
    if (end_->verified) return now >= *finished_ + node_.connection(peer_).config().peer_timeout;
    return node_.idle() || now >= *finished_ + linger;
}

}  // namespace wireproof::app
