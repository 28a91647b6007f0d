#include "wireproof/host/job/job_number.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <charconv>
#include <chrono>

#include "wireproof/base/random.hpp"

namespace wireproof::host {
namespace {

constexpr std::size_t number_length = 16;

}  // namespace

std::uint64_t random_job_number() {
    std::uint64_t number = 0;
    if (::getrandom(&number, sizeof number, 0) == ssize_t{sizeof number}) return number;
    const auto now = std::chrono::system_clock::now().time_since_epoch().count();
    return mix64(static_cast<std::uint64_t>(now) ^ mix64(static_cast<std::uint64_t>(::getpid())));
}

// FNV-1a, and a mixer because similar texts give similar sums.
std::uint64_t hash_of(std::string_view text) {
    std::uint64_t sum = 0xCBF29CE484222325;
    for (const char c : text) {
        sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001B3;
    }
    return mix64(sum);
}

std::string job_text(std::uint64_t job) {
    std::string text(number_length, '0');
    for (std::size_t i = number_length; i-- > 0; job >>= 4) text[i] = "0123456789abcdef"[job & 0xF];
    return text;
}

std::optional<std::uint64_t> parse_job(std::string_view text) {
    if (text.size() != number_length || text.front() == '-') return {};
    std::uint64_t job = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, job, 16);
    if (error != std::errc() || stop != end) return {};
    return job;
}

}  // namespace wireproof::host
