// Checks that say why a program may not reach the device of wireproof's libibverbs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace wireproof::cli {

enum class Health : std::uint8_t { ok, warning, failure };

struct Check {
    std::string about;  // a word
    Health health = Health::ok;
    std::string found;   // a sentence without its full stop
    std::string remedy;  // what the user can do; empty if nothing is wrong
};

inline Check healthy(std::string about, std::string found) {
    return {std::move(about), Health::ok, std::move(found), {}};
}
inline Check warned(std::string about, std::string found, std::string remedy) {
    return {std::move(about), Health::warning, std::move(found), std::move(remedy)};
}
inline Check failed(std::string about, std::string found, std::string remedy) {
    return {std::move(about), Health::failure, std::move(found), std::move(remedy)};
}

/// Checks of this host, this user and this environment.
std::vector<Check> check_host();

/// Checks of a program. `program` is a path, or a name that a shell would find.
std::vector<Check> check_program(const std::string& program);

struct ElfFile;

/// Adds checks of the libraries that the program in that file loads at its start, and of the
/// plug-ins that these load later. Returns the library or plug-in that loads libibverbs, the
/// nearest to the program if there are several. Empty: none does, or the program itself does.
std::string check_libraries(const std::string& program, const ElfFile& elf,
                            std::vector<Check>& checks);

}  // namespace wireproof::cli
