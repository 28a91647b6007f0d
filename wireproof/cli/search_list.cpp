#include "wireproof/cli/search_list.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <exception>
#include <sstream>
#include <vector>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/app/common/files.hpp"
#include "wireproof/app/common/progress.hpp"
#include "wireproof/cli/result.hpp"

namespace wireproof::cli {
namespace {

using ListJson = nlohmann::ordered_json;

struct ListedLine {
    std::string place;  // "list.txt:3"
    ListedSearch search;
};

/// The searches of a list. An error names the line.
std::vector<ListedLine> read_list(const std::string& text, const std::string& file,
                                  const ReadSearch& read) {
    std::vector<ListedLine> list;
    std::istringstream lines(text);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
        const std::string words = line.substr(0, line.find('#'));
        if (words.find_first_not_of(" \t\r") == words.npos) continue;
        std::string where = fmt::format("{}:{}", file, number);
        try {
            list.push_back({where, read(words)});
        } catch (const std::exception& wrong) {
            throw app::Failure(fmt::format("{}: {}", where, wrong.what()));
        }
    }
    if (list.empty()) throw app::Failure(fmt::format("{} has no search", file));
    return list;
}

task_pool::Work work_on(const std::vector<ListedLine>& list) {
    return [&list](std::uint64_t task, const std::stop_token& stop) -> std::optional<std::string> {
        const auto result = list.at(task).search(stop);
        if (!result) return std::nullopt;
        return ListJson::array({result->code, result->shown, result->unfinished}).dump();
    };
}

}  // namespace

int run_search_list(task_pool::TaskPool& pool, const std::string& file, bool json,
                    const ReadSearch& read) {
    const std::string text = app::text_of_file(file);
    const auto list = read_list(text, file, read);
    std::vector<ListedResult> results(list.size());
    {
        app::Progress progress("searches", list.size());
        pool.run({.setup = text,
                  .tasks = list.size(),
                  .work = work_on(list),
                  .take =
                      [&results](task_pool::TaskAssignment&, std::uint64_t task,
                                 const std::string& bytes) {
                          const ListJson one = ListJson::parse(bytes);
                          results[task] = {one.at(0), one.at(1), one.at(2)};
                      },
                  .turn =
                      [&](const task_pool::TaskAssignment& assignment) {
                          if (pool.size() > 1) {
                              progress.set_note(fmt::format("{} ranks", assignment.ranks()));
                          }
                          progress.show(assignment.results());
                      }});
    }
    int code = 0;
    std::string unfinished;
    std::string shown;
    ListJson all = {{"schema", "wireproof.search_list/1"}, {"searches", ListJson::array()}};
    for (std::size_t i = 0; i < list.size(); ++i) {
        const ListedResult& one = results[i];
        code = std::max(code, one.code);
        if (unfinished.empty() && !one.unfinished.empty()) {
            unfinished = fmt::format("{}: {}", list[i].place, one.unfinished);
        }
        shown += (i == 0 ? "" : "\n") + one.shown;
        if (json) all["searches"].push_back(ListJson::parse(one.shown));
    }
    if (!unfinished.empty()) all["error"] = unfinished;
    print_result(json ? all.dump() + "\n" : shown);
    if (!unfinished.empty()) throw app::Failure(unfinished);
    return code;
}

void help_with_search_list(task_pool::TaskPool& pool, const ReadSearch& read) {
    const auto setup = pool.await_setup();
    if (!setup) return;
    const auto list = read_list(*setup, "the list", read);
    pool.work(work_on(list));
}

}  // namespace wireproof::cli
