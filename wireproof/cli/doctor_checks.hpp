// What stands between a program and the device of wireproof's libibverbs, one check after another.
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
    std::string remedy;  // what to do; empty where nothing is wrong
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

/// Of this host, this user and this environment.
std::vector<Check> check_host();

/// Of a program, by its path or as a shell finds it.
std::vector<Check> check_program(const std::string& program);

struct ElfFile;

/// Of the libraries that the program of that file loads with itself, and of plug-ins that these
/// load later.
void check_libraries(const std::string& program, const ElfFile& elf, std::vector<Check>& checks);

}  // namespace wireproof::cli
