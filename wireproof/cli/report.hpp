// The output of carry, send and recv: a table of 80 columns, or one JSON object.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wireproof/app/transfer/carry_run.hpp"

namespace wireproof::cli {

/// The results of a subcommand, whether it succeeded or failed.
struct Report {
    std::string_view schema;  // of the JSON object
    std::string file;
    std::uint64_t file_bytes = 0;
    std::vector<app::CarryResult> runs = {};
    std::string error = {};  // one line; empty: none
};

std::string report_table(const app::CarryOptions& options, const Report& report);
std::string report_json(const app::CarryOptions& options, const Report& report);

/// Prints the report at the end of a subcommand: the text or JSON on the output, the error on
/// standard error. Returns the exit code.
int conclude(const app::CarryOptions& options, const Report& report);

}  // namespace wireproof::cli
