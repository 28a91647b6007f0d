#include "wireproof/cli/result.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "wireproof/cli/subcommands.hpp"

namespace wireproof::cli {
namespace {

bool printed = false;
std::FILE* place = stdout;

}  // namespace

void fail_to_write_result() {
    if (errno == EPIPE) throw ReaderGone();
    throw app::Failure(fmt::format("cannot write the result: {}", std::strerror(errno)));
}

void print_result(std::string_view text) {
    printed = true;
    const bool written = std::fwrite(text.data(), 1, text.size(), place) == text.size();
    // Flush, so that messages that are printed later stand below, even if both go to one file.
    if (written && std::fflush(place) == 0) return;
    fail_to_write_result();
}

void print_result_of_failure(std::string_view text) try {
    print_result(text);
} catch (const ReaderGone&) {
}

bool result_printed() {
    return printed;
}

void results_to_standard_error() {
    place = stderr;
}

void print_error_object(std::string_view subcommand, std::string_view error) {
    using Json = nlohmann::ordered_json;
    const int version = subcommand == "stat" ? 2 : 1;
    const Json object = {{"schema", fmt::format("wireproof.{}/{}", subcommand, version)},
                         {"error", error}};
    // A file name in the error may contain bytes that are not valid text.
    print_result_of_failure(object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace wireproof::cli
