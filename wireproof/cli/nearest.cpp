#include "wireproof/cli/nearest.hpp"

#include <algorithm>
#include <cstddef>

namespace wireproof::cli {
namespace {

// The number of letters that must be inserted, removed, replaced or swapped with the next one.
std::size_t distance(std::string_view from, std::string_view to) {
    std::vector<std::size_t> before(to.size() + 1);
    std::vector<std::size_t> last(to.size() + 1);
    std::vector<std::size_t> row(to.size() + 1);
    for (std::size_t j = 0; j <= to.size(); ++j) last[j] = j;
    for (std::size_t i = 1; i <= from.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= to.size(); ++j) {
            const std::size_t replaced = last[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
            row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
            if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]) {
                row[j] = std::min(row[j], before[j - 2] + 1);
            }
        }
        before.swap(last);
        last.swap(row);
    }
    return last[to.size()];
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& names) {
    // Longer words are no misspelt names, and comparing them would take long.
    if (word.size() > 64) return {};
    std::string best;
    std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const std::string& name : names) {
        const std::size_t away = distance(word, name);
        if (away >= best_distance) continue;
        best_distance = away;
        best = name;
    }
    return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
    const std::string name = nearest(word, names);
    return name.empty() ? name : "; did you mean " + name + "?";
}

}  // namespace wireproof::cli
