// A file with a search in each line. The searches run at the same time, on the processors of this
// host and on the ranks of a job. Their results are printed in the order of the lines.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "wireproof/app/task_pool/task_pool.hpp"

namespace wireproof::cli {

/// What a search of the list printed alone.
struct ListedResult {
    int code = 0;              // exit code
    std::string shown{};       // the text, or one JSON object
    std::string unfinished{};  // why it is not finished; empty: it is
};

/// Runs one search. Empty: it was stopped.
using ListedSearch = std::function<std::optional<ListedResult>(const std::stop_token& stop)>;
/// Reads a line. Throws std::exception with the reason if the line makes no sense.
using ReadSearch = std::function<ListedSearch(const std::string& line)>;

/// For rank 0: runs the searches of the file and prints their results. Returns the exit code.
/// Throws Failure: a line makes no sense, or a search was not finished.
int run_search_list(task_pool::TaskPool& pool, const std::string& file, bool json,
                    const ReadSearch& read);
/// For the other ranks.
void help_with_search_list(task_pool::TaskPool& pool, const ReadSearch& read);

}  // namespace wireproof::cli
