// What carry, send and recv print: a table for 80 columns, or one JSON object.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wireproof/app/transfer/carry_run.hpp"

namespace wireproof::cli {

/// What a verb has to say when it is over, however it went.
struct Report {
    std::string_view schema;  // of the JSON object
    std::string file;
    std::uint64_t file_bytes = 0;
    std::vector<CarryResult> runs = {};
    std::string error = {};  // one line; empty: none
};

std::string report_table(const CarryOptions& options, const Report& report);
std::string report_json(const CarryOptions& options, const Report& report);

/// Prints a report that ends with its verb: the text or JSON, and the error where errors go.
/// Returns the exit code.
int conclude(const CarryOptions& options, const Report& report);

}  // namespace wireproof::cli
