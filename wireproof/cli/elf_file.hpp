// What the loader will do with a program: as far as its file says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wireproof/base/bytes.hpp"

namespace wireproof::cli {

struct ElfFile {
    bool of_this_machine = false;  // its class, byte order and processor
    bool has_loader = false;       // else it is statically linked
    std::vector<std::string> needed = {};
    std::string rpath = {};  // wins over LD_LIBRARY_PATH, unless there is a run path as well
    bool has_run_path = false;
    std::string run_path = {};  // LD_LIBRARY_PATH wins over it
};

/// Nothing: it is no ELF file, or damaged. Of the beginning of a file, at least its headers.
std::optional<ElfFile> read_elf(ConstBytes file);

}  // namespace wireproof::cli
