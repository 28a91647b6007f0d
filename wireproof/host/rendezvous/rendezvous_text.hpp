// What the rendezvous service and a rank send to each other over one TCP connection. The rank sends
//
//     wireproof-rendezvous 1 TOKEN RANK EXCHANGE LENGTH\n   then LENGTH bytes: its entry
//
// and the service sends one of
//
//     ok LENGTH LENGTH …\n   then the entries of all ranks, in the order of the ranks
//     no REASON\n
//
// and closes the connection. EXCHANGE counts the exchanges of the job from 0. Numbers are decimal,
// and TOKEN is a word without spaces. Each side may get any bytes from the other, so both parsers
// check everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/base/expected.hpp"

namespace wireproof::host {

inline constexpr std::size_t rendezvous_line_max = 256;      // of a request, with its line feed
inline constexpr std::size_t rendezvous_entry_max = 65'536;  // bytes
inline constexpr std::uint32_t rendezvous_ranks_max = 65'536;

struct RendezvousRequest {
    std::string_view token;
    std::uint32_t rank = 0;
    std::size_t length = 0;
    std::uint32_t exchange = 0;
};

std::string request_line(const RendezvousRequest& request);
/// Reads the line without its line feed. The error is a reason for the peer. It repeats no bytes of
/// the line, because they could be the token of another job.
Expected<RendezvousRequest> parse_request_line(std::string_view line);

std::string answer_of(const std::vector<std::string>& entries);
std::string refusal_of(std::string_view reason);
/// Reads what has arrived so far. No value: the answer is not complete. The error is the reason of
/// a refusal, or says that this is no answer for a job of `size` ranks.
Expected<std::optional<std::vector<std::string>>> parse_answer(std::string_view text,
                                                               std::uint32_t size);

/// A decimal number with no sign, no space and no zero in front. No value: it is none, or above
/// `most`.
std::optional<std::uint64_t> number_of(std::string_view text, std::uint64_t most);

}  // namespace wireproof::host
