#include "wireproof/host/job/pmi_board.hpp"

#include "wireproof/host/job/pmi_parts.hpp"

namespace wireproof::host {
namespace {

std::string key_of(std::size_t exchange, std::size_t rank, std::size_t part) {
    return "wireproof-" + std::to_string(exchange) + "-" + std::to_string(rank) + "-" +
           std::to_string(part);
}

}  // namespace

Expected<std::vector<std::string>> PmiBoard::exchange(std::string_view entry,
                                                      std::chrono::milliseconds patience) {
    if (entry.size() > entry_max) return unexpected("the entry has more than 65536 bytes");
    const Deadline deadline(patience);
    const std::size_t number = exchange_++;
    std::size_t index = 0;
    for (const std::string& part : pmi_parts(entry)) {
        const auto done = put(key_of(number, place_.rank, index++), part, deadline);
        if (!done) return tl::unexpected(done.error());
    }
    if (const auto met = fence(deadline); !met) return tl::unexpected(met.error());
    std::vector<std::string> entries;
    for (std::size_t rank = 0; rank < place_.size; ++rank) {
        auto got = entry_of(number, rank, deadline);
        if (!got) return unexpected("rank " + std::to_string(rank) + ": " + got.error().message);
        entries.push_back(std::move(*got));
    }
    return entries;
}

Expected<std::string> PmiBoard::entry_of(std::size_t exchange, std::size_t rank,
                                         const Deadline& deadline) {
    PmiEntry entry;
    for (std::size_t part = 0; !entry.complete(); ++part) {
        const auto value = get(key_of(exchange, rank, part), deadline);
        if (!value) return tl::unexpected(value.error());
        const auto added = entry.add(*value);
        if (!added) return tl::unexpected(added.error());
    }
    return entry.take();
}

}  // namespace wireproof::host
