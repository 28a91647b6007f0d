// The result of a verb: text for a person, or one JSON object. There is one result a run.
#pragma once

#include <string_view>

namespace wireproof::cli {

/// Prints the result on standard output, or on standard error after results_to_standard_error().
/// Throws Failure if it cannot be written.
void print_result(std::string_view text);

/// Whether print_result() was called. A run that fails without a result still owes the reader of
/// its JSON an object, which main prints.
bool result_printed();

/// A file takes standard output: the result goes to standard error.
void results_to_standard_error();

/// The object that a verb without a result prints: its schema, and why it failed.
void print_error_object(std::string_view verb, std::string_view error);

}  // namespace wireproof::cli
