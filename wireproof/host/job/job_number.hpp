// The number of a job, and the texts that carry it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wireproof::host {

std::uint64_t random_job_number();
/// The same text gives the same number, on all machines.
std::uint64_t hash_of(std::string_view text);

/// 16 hexadecimal digits.
std::string job_text(std::uint64_t job);
std::optional<std::uint64_t> parse_job(std::string_view text);

}  // namespace wireproof::host
