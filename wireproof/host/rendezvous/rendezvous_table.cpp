#include "wireproof/host/rendezvous/rendezvous_table.hpp"

#include <algorithm>
#include <utility>

#include "wireproof/base/check.hpp"

namespace wireproof::host {
namespace {

// The time must not tell how many characters are right.
bool same_secret(std::string_view left, std::string_view right) {
    if (left.size() != right.size()) return false;
    unsigned differences = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
        differences |= static_cast<unsigned>(left[i] ^ right[i]);
    }
    return differences == 0;
}

}  // namespace

RendezvousTable::RendezvousTable(Config config) : config_(std::move(config)) {
    WIREPROOF_CHECK(config_.size > 0 && config_.size <= rendezvous_ranks_max);
    WIREPROOF_CHECK(!config_.token.empty());
}

void RendezvousTable::on_open(Connection connection, Instant now) {
    unfinished_.emplace(connection, Unfinished{now + patience, {}});
    if (unfinished_.size() > config_.size + strangers_max) {
        refuse(unfinished_.begin()->first, "too many connections are open");
    }
}

void RendezvousTable::on_bytes(Connection connection, ConstBytes bytes) {
    const auto found = unfinished_.find(connection);
    if (found == unfinished_.end()) return;
    std::string& text = found->second.text;
    // A longer text than this holds a complete entry, or is refused.
    const std::size_t room = rendezvous_line_max + rendezvous_entry_max - text.size();
    for (const std::byte byte : bytes.first(std::min(room, bytes.size()))) {
        text += std::to_integer<char>(byte);
    }
    read(connection, text);
}

void RendezvousTable::read(Connection connection, const std::string& text) {
    const std::size_t end = std::string_view(text).substr(0, rendezvous_line_max).find('\n');
    if (end == text.npos) {
        if (text.size() >= rendezvous_line_max) refuse(connection, "the first line is too long");
        return;
    }
    const auto request = parse_request_line(std::string_view(text).substr(0, end));
    if (!request) return refuse(connection, request.error().message);
    const std::string reason = why_refused(*request);
    if (!reason.empty()) return refuse(connection, reason);
    const std::string_view rest = std::string_view(text).substr(end + 1);
    if (rest.size() >= request->length) {
        admit(connection, *request, rest.substr(0, request->length));
    }
}

std::string RendezvousTable::why_refused(const RendezvousRequest& request) const {
    if (!same_secret(request.token, config_.token)) return "the token is that of another job";
    const std::string rank = "rank " + std::to_string(request.rank);
    if (request.rank >= config_.size) {
        return rank + ": the job has only " + std::to_string(config_.size) + " ranks";
    }
    if (request.exchange < exchange_) return rank + " has got the entries already";
    if (request.exchange > exchange_) {
        return rank + " has missed exchange " + std::to_string(exchange_);
    }
    if (!failure_.empty()) return failure_;
    if (arrived_.contains(request.rank)) return rank + " is here already";
    return {};
}

void RendezvousTable::admit(Connection connection, const RendezvousRequest& request,
                            std::string_view entry) {
    arrived_.emplace(request.rank, Arrived{connection, std::string(entry)});
    unfinished_.erase(connection);
    if (arrived_.size() == config_.size) finish();
}

void RendezvousTable::finish() {
    std::vector<std::string> entries;
    for (auto& [rank, one] : arrived_) entries.push_back(std::move(one.entry));
    const auto answer = std::make_shared<const std::string>(answer_of(entries));
    for (const auto& [rank, one] : arrived_) replies_.push_back({one.connection, answer});
    arrived_.clear();
    ++exchange_;
}

void RendezvousTable::on_close(Connection connection) {
    unfinished_.erase(connection);
    std::erase_if(arrived_, [&](const auto& one) { return one.second.connection == connection; });
    std::erase_if(replies_, [&](const Reply& reply) { return reply.to == connection; });
}

void RendezvousTable::on_deadline(Instant now) {
    while (next_deadline() <= now) {
        refuse(unfinished_.begin()->first,
               "no complete entry within " +
                   std::to_string(patience.nanoseconds() / 1'000'000'000) + " s");
    }
}

// All have the same patience, so the oldest has the earliest deadline.
Instant RendezvousTable::next_deadline() const {
    return unfinished_.empty() ? never : unfinished_.begin()->second.deadline;
}

void RendezvousTable::on_rank_ended(std::uint32_t rank) {
    if (!failure_.empty()) return;
    failure_ = "rank " + std::to_string(rank) + " has ended before all ranks had arrived";
    for (const auto& [other, one] : arrived_) {
        replies_.push_back(
            {one.connection, std::make_shared<const std::string>(refusal_of(failure_))});
    }
    arrived_.clear();
}

void RendezvousTable::refuse(Connection connection, std::string_view reason) {
    unfinished_.erase(connection);
    replies_.push_back({connection, std::make_shared<const std::string>(refusal_of(reason))});
}

std::optional<RendezvousTable::Reply> RendezvousTable::next_reply() {
    if (replies_.empty()) return {};
    Reply reply = std::move(replies_.front());
    replies_.pop_front();
    return reply;
}

}  // namespace wireproof::host
