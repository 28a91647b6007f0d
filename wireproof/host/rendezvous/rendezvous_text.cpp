#include "wireproof/host/rendezvous/rendezvous_text.hpp"

#include <charconv>
#include <utility>

namespace wireproof::host {
namespace {

constexpr std::string_view request_greeting = "wireproof-rendezvous 1 ";
constexpr std::string_view no_request = "this is no request of version 1";
constexpr std::string_view no_answer = "this is no answer of a rendezvous service";
constexpr std::size_t refusal_max = 512;

/// Takes the text up to the next space off the front, and the space.
std::string_view take_word(std::string_view& text) {
    const std::size_t end = text.find(' ');
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    return word;
}

std::string printable(std::string_view text) {
    std::string shown(text.substr(0, refusal_max));
    for (char& c : shown) {
        if (c < ' ' || c > '~') c = '?';
    }
    return shown;
}

}  // namespace

std::optional<std::uint64_t> number_of(std::string_view text, std::uint64_t most) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value > most) return {};
    if (text.size() > 1 && text.front() == '0') return {};
    return value;
}

std::string request_line(const RendezvousRequest& request) {
    return std::string(request_greeting) + std::string(request.token) + " " +
           std::to_string(request.rank) + " " + std::to_string(request.exchange) + " " +
           std::to_string(request.length) + "\n";
}

Expected<RendezvousRequest> parse_request_line(std::string_view line) {
    if (!line.starts_with(request_greeting)) return unexpected(std::string(no_request));
    line.remove_prefix(request_greeting.size());
    const std::string_view token = take_word(line);
    const auto rank = number_of(take_word(line), rendezvous_ranks_max - 1);
    const auto exchange = number_of(take_word(line), UINT32_MAX);
    if (token.empty() || !rank || !exchange) return unexpected(std::string(no_request));
    const auto length = number_of(line, SIZE_MAX);
    if (!length) return unexpected(std::string(no_request));
    if (*length > rendezvous_entry_max) {
        return unexpected("the entry has more than " + std::to_string(rendezvous_entry_max) +
                          " bytes");
    }
    return RendezvousRequest{token, static_cast<std::uint32_t>(*rank), *length,
                             static_cast<std::uint32_t>(*exchange)};
}

std::string answer_of(const std::vector<std::string>& entries) {
    std::string text = "ok";
    for (const std::string& entry : entries) text += " " + std::to_string(entry.size());
    text += "\n";
    for (const std::string& entry : entries) text += entry;
    return text;
}

std::string refusal_of(std::string_view reason) {
    return "no " + printable(reason) + "\n";
}

Expected<std::optional<std::vector<std::string>>> parse_answer(std::string_view text,
                                                               std::uint32_t size) {
    const std::size_t end = text.find('\n');
    const std::size_t line_max = refusal_max + 3 + std::size_t{6} * size;
    if (end == text.npos) {
        if (text.size() > line_max) return unexpected(std::string(no_answer));
        return std::nullopt;
    }
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    const std::string_view verdict = take_word(line);
    if (verdict == "no") return unexpected(printable(line));
    if (verdict != "ok") return unexpected(std::string(no_answer));
    std::vector<std::size_t> lengths;
    std::size_t sum = 0;
    while (!line.empty() && lengths.size() <= size) {
        const auto length = number_of(take_word(line), rendezvous_entry_max);
        if (!length) return unexpected(std::string(no_answer));
        lengths.push_back(*length);
        sum += *length;
    }
    if (lengths.size() != size || sum < text.size()) return unexpected(std::string(no_answer));
    if (sum > text.size()) return std::nullopt;
    std::vector<std::string> entries;
    for (const std::size_t length : lengths) {
        entries.emplace_back(text.substr(0, length));
        text.remove_prefix(length);
    }
    return entries;
}

}  // namespace wireproof::host
