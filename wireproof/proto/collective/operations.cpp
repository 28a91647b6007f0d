// The messages of Operations: what arrives, what leaves, and how operations begin and end.
#include "wireproof/proto/collective/operations.hpp"

#include <algorithm>

#include "wireproof/base/check.hpp"

namespace wireproof::collective {
namespace {

constexpr std::size_t spare_max = 8;  // buffers that are kept for later messages
constexpr std::uint32_t half_circle = std::uint32_t{1} << 31;

}  // namespace

Operations::Operations(const Config& config)
    : config_(config), next_(config.first_sequence), members_(config.ranks) {
    WIREPROOF_CHECK(config.rank < config.ranks && config.message_max > Header::size);
    WIREPROOF_CHECK(config.ahead_max >= 2 && config.ahead_max < half_circle);
    begun_by_all_ = circle_.advance(next_, circle_.modulus() - 1);
}

bool Operations::at_or_after(Sequence later, Sequence earlier) const {
    return circle_.steps_after(later, earlier) < half_circle;
}

std::optional<Outcome> Operations::gone(Rank rank, Sequence sequence) const {
    const Member& member = members_[rank];
    if (member.lost) return member.lost;
    if (member.broken && at_or_after(sequence, member.broken->from)) return member.broken->why;
    return std::nullopt;
}

Operations::Operation* Operations::find(Sequence sequence) {
    for (Operation& operation : operations_) {
        if (operation.sequence == sequence) return &operation;
    }
    return nullptr;
}

Operations::In* Operations::find_in(Rank from, Sequence sequence) {
    for (In& in : ins_) {
        if (in.from == from && in.sequence == sequence) return &in;
    }
    return nullptr;
}

Operations::In& Operations::in_of(Rank from, Sequence sequence) {
    if (In* const in = find_in(from, sequence)) return *in;
    In& in = ins_.emplace_back();
    in.from = from;
    in.sequence = sequence;
    if (!spare_.empty()) {
        in.bytes = std::move(spare_.back());
        spare_.pop_back();
    }
    return in;
}

/// The bytes were used. The sender may still wait for bytes of this rank.
void Operations::drop(In& in) {
    if (!in.ready) return forget(in);
    in.begun = false;
    in.bytes.clear();
}

void Operations::forget(In& in) {
    if (spare_.size() < spare_max && in.bytes.capacity() <= config_.eager_max) {
        in.bytes.clear();
        spare_.push_back(std::move(in.bytes));
    }
    if (&in != &ins_.back()) in = std::move(ins_.back());
    ins_.pop_back();
}

std::size_t Operations::kept_bytes() const {
    std::size_t kept = 0;
    for (const In& in : ins_) {
        if (at_or_after(in.sequence, next_)) kept += in.bytes.size();
    }
    return kept;
}

// Operations begin and end.

/// A rank may be ahead of another by broadcasts only: each other operation ends after all ranks
/// have begun it. So after many broadcasts, each rank does a barrier.
Ticket Operations::start(Operation operation) {
    const Ticket ticket = operation.ticket = next_ticket_++;
    if (operation.what.call != Call::broadcast) {
        broadcasts_ = 0;
    } else if (++broadcasts_ > config_.ahead_max / 2) {
        broadcasts_ = 1;
        Operation barrier;
        barrier.hidden = true;
        barrier.what.root = 1;  // so it does not match a barrier of the caller
        add(std::move(barrier));
    }
    add(std::move(operation));
    advance_all();
    return ticket;
}

void Operations::add(Operation operation) {
    if (broken_) {
        if (!operation.hidden) ended_.push_back({operation.ticket, broken_->why});
        return;
    }
    operation.sequence = next_;
    next_ = circle_.advance(next_, 1);
    const Sequence sequence = operation.sequence;
    const Signature what = operation.what;
    operations_.push_back(std::move(operation));
    const auto differs = [&](const In& in) {
        return in.sequence == sequence && in.begun && in.what != what;
    };
    if (std::any_of(ins_.begin(), ins_.end(), differs)) fail(sequence, Outcome::mismatched);
}

std::optional<Operations::Ended> Operations::next_ended() {
    if (ended_.empty()) return std::nullopt;
    const Ended ended = ended_.front();
    ended_.erase(ended_.begin());
    return ended;
}

void Operations::end_all(Outcome why) {
    broken_ = Gone{next_, why};
    for (const Operation& operation : operations_) {
        if (!operation.hidden) ended_.push_back({operation.ticket, why});
    }
    operations_.clear();
    outs_.clear();
    ins_.clear();
}

void Operations::complete(std::size_t index) {
    const Operation& operation = operations_[index];
    const Sequence sequence = operation.sequence;
    if (!operation.hidden) ended_.push_back({operation.ticket, Outcome::ok});
    const bool by_all = operation.what.call != Call::broadcast;
    if (by_all && at_or_after(sequence, begun_by_all_)) begun_by_all_ = sequence;
    operations_.erase(operations_.begin() + static_cast<std::ptrdiff_t>(index));
    while (true) {
        const auto old = std::find_if(ins_.begin(), ins_.end(),
                                      [&](const In& in) { return in.sequence == sequence; });
        if (old == ins_.end()) return;
        forget(*old);
    }
}

void Operations::fail(Sequence sequence, Outcome why) {
    broken_ = Gone{sequence, why};
    std::erase_if(operations_, [&](const Operation& operation) {
        if (!at_or_after(operation.sequence, sequence)) return false;
        if (!operation.hidden) ended_.push_back({operation.ticket, why});
        return true;
    });
    std::erase_if(ins_, [&](const In& in) { return at_or_after(in.sequence, sequence); });
    std::erase_if(outs_, [&](const Out& out) {
        const Header::Kind kind = out.header.kind;
        return kind == Header::Kind::broken ||
               (kind != Header::Kind::probe &&
                at_or_after(Sequence(out.header.sequence), sequence));
    });
    Out out;
    out.header.kind = Header::Kind::broken;
    out.header.sequence = sequence.value();
    out.header.outcome = why;
    for (Rank to = 0; to < config_.ranks; ++to) {
        out.to = to;
        if (to != config_.rank) outs_.push_back(out);
    }
}

void Operations::advance_all() {
    for (std::size_t i = 0; i < operations_.size();) {
        const Step end = advance(operations_[i]);
        if (!end) {
            ++i;
            continue;
        }
        if (*end == Outcome::ok) {
            complete(i);
        } else {
            fail(operations_[i].sequence, *end);
        }
        i = 0;  // an operation that has ended may let others send
    }
}

// Messages arrive.

void Operations::on_lost(Rank rank, Outcome why) {
    if (members_[rank].lost) return;
    members_[rank].lost = why;
    advance_all();
}

void Operations::on_message(Rank from, ConstBytes message) {
    if (from >= config_.ranks || from == config_.rank || members_[from].lost) return;
    members_[from].met = true;
    const auto header = Header::decode(message);
    if (!header) return violate(from);
    if (header->kind == Header::Kind::probe) return;
    if (header->kind == Header::Kind::broken) return on_broken(from, *header);
    const Sequence sequence(header->sequence);
    if (broken_ && at_or_after(sequence, broken_->from)) return;
    if (at_or_after(sequence, next_)) {
        if (circle_.steps_after(sequence, next_) >= config_.ahead_max) return violate(from);
    } else if (find(sequence) == nullptr) {
        return;  // the operation has ended
    }
    const ConstBytes bytes = message.subspan(Header::size);
    bool good = true;
    if (header->kind == Header::Kind::ready) {
        on_ready(from, sequence);
    } else if (header->kind == Header::Kind::data) {
        good = take_data(from, *header, bytes);
    } else {
        good = take_more(from, *header, bytes);
    }
    if (!good) return violate(from);
    advance_all();
}

void Operations::on_broken(Rank from, const Header& header) {
    const Sequence sequence(header.sequence);
    auto& broken = members_[from].broken;
    if (broken && at_or_after(sequence, broken->from)) return;
    broken = Gone{sequence, header.outcome};
    advance_all();
}

void Operations::on_ready(Rank from, Sequence sequence) {
    for (Out& out : outs_) {
        const bool same = out.to == from && out.header.sequence == sequence.value();
        if (same && out.header.kind == Header::Kind::data) {
            out.ready = true;
            return;
        }
    }
    in_of(from, sequence).ready = true;
}

/// False: the sender broke the protocol.
bool Operations::take_data(Rank from, const Header& header, ConstBytes bytes) {
    const Sequence sequence(header.sequence);
    const Operation* const operation = find(sequence);
    if (operation != nullptr && operation->what != header.what) {
        fail(sequence, Outcome::mismatched);
        return true;
    }
    const std::size_t most = is_long(header.what) ? 0 : header.what.total;
    if (bytes.size() > most) return false;
    In& in = in_of(from, sequence);
    if (in.begun) return false;
    in.begun = true;
    in.what = header.what;
    in.bytes.reserve(most);
    in.bytes.assign(bytes.begin(), bytes.end());
    return true;
}

bool Operations::take_more(Rank from, const Header& header, ConstBytes bytes) {
    const Sequence sequence(header.sequence);
    In* const in = find_in(from, sequence);
    if (in == nullptr || !in->begun || in->what != header.what) return false;
    if (is_long(in->what) && find(sequence) == nullptr) return false;  // nobody said `ready`
    if (bytes.size() > in->what.total - in->bytes.size()) return false;
    if (in->bytes.empty()) in->bytes.reserve(in->what.total);
    in->bytes.insert(in->bytes.end(), bytes.begin(), bytes.end());
    return true;
}

// Messages leave.

void Operations::post(Operation& operation, Rank to, ConstBytes bytes) {
    Out out;
    out.to = to;
    out.header.kind = Header::Kind::data;
    out.header.sequence = operation.sequence.value();
    out.header.what = operation.what;
    out.bytes = bytes;
    const In* const in = find_in(to, operation.sequence);
    out.ready = in != nullptr && in->ready;
    outs_.push_back(out);
    ++operation.outs;
}

/// Called once before the operation waits for a message of the rank.
void Operations::expect(const Operation& operation, Rank from) {
    Out out;
    out.to = from;
    out.header.sequence = operation.sequence.value();
    out.header.what = operation.what;
    if (is_long(operation.what)) {
        out.header.kind = Header::Kind::ready;
        outs_.push_back(out);
    } else if (!std::exchange(members_[from].met, true)) {
        out.header.kind = Header::Kind::probe;
        outs_.push_back(out);
    }
}

void Operations::send(const Poster& poster) {
    full_.clear();
    while (true) {  // an operation whose messages have left may post others
        std::size_t kept = 0;
        for (std::size_t i = 0; i < outs_.size(); ++i) {
            Out& out = outs_[i];
            if (!push(out, poster)) {
                std::swap(outs_[kept++], out);
                continue;
            }
            Operation* const operation = find(Sequence(out.header.sequence));
            if (out.header.kind == Header::Kind::data && operation != nullptr) --operation->outs;
        }
        if (kept == outs_.size()) return;
        outs_.resize(kept);
        advance_all();
    }
}

/// True: the message has left, or nobody needs it any more.
bool Operations::push(Out& out, const Poster& poster) {
    const bool to_all = out.header.kind == Header::Kind::broken;
    if (members_[out.to].lost) return true;
    if (!to_all && gone(out.to, Sequence(out.header.sequence))) return true;
    if (std::find(full_.begin(), full_.end(), out.to) != full_.end()) return false;
    return push_parts(out, poster);
}

bool Operations::push_parts(Out& out, const Poster& poster) {
    const std::size_t room = config_.message_max - Header::size;
    while (true) {
        std::size_t size = 0;
        if (out.announced || !is_long(out.header.what)) {
            size = std::min(room, out.bytes.size() - out.sent);
        }
        if (out.announced && is_long(out.header.what) && !out.ready) return false;
        message_.resize(Header::size + size);
        Header header = out.header;
        if (out.announced) header.kind = Header::Kind::more;
        header.encode(Bytes(message_).first<Header::size>());
        std::copy_n(out.bytes.begin() + static_cast<std::ptrdiff_t>(out.sent), size,
                    message_.begin() + Header::size);
        const Post answer = poster(out.to, message_);
        if (answer == Post::full) {
            full_.push_back(out.to);
            return false;
        }
        if (answer == Post::no_address) {
            members_[out.to].lost = Outcome::no_address;
            return true;
        }
        members_[out.to].met = true;
        out.announced = true;
        out.sent += size;
        if (out.sent == out.bytes.size()) return true;
    }
}

}  // namespace wireproof::collective
