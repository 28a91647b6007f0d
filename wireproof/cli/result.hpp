// The result of a subcommand: text for a person, or one JSON object. Each run has one result.
#pragma once

#include <exception>
#include <string_view>

namespace wireproof::cli {

/// The reader of the result has closed the pipe, as `head` does. That is no failure of the run: the
/// command ends without a line, by SIGPIPE as other programs do.
class ReaderGone : public std::exception {};

/// Throws Failure with the reason in errno, or ReaderGone.
[[noreturn]] void fail_to_write_result();

/// Prints the result on standard output, or on standard error after results_to_standard_error().
/// Throws Failure if it cannot be written, and ReaderGone.
void print_result(std::string_view text);
/// The same for a run that failed: without a reader it returns, because the line that says why is
/// still due.
void print_result_of_failure(std::string_view text);

/// True if print_result() was called. If a run fails without a result, main prints the JSON object
/// that the reader expects.
bool result_printed();

/// A file goes to standard output, so the result must go to standard error.
void results_to_standard_error();

/// Prints the JSON object of a subcommand that has no result. It has the schema and the error.
void print_error_object(std::string_view subcommand, std::string_view error);

}  // namespace wireproof::cli
