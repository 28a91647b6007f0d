// The result of a search in JSON: schemas/search-1.json.
#pragma once

#include <nlohmann/json.hpp>

#include <string_view>

#include "wireproof/lab/search/search_story.hpp"

namespace wireproof::lab {

/// "holds", for example.
std::string_view name_of(SearchVerdict verdict);

/// A move of the path.
nlohmann::ordered_json search_json(const SearchStep& step);

}  // namespace wireproof::lab
