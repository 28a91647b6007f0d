// The facts in a program's file that tell what the loader will do with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wireproof/base/bytes.hpp"

namespace wireproof::cli {

struct ElfFile {
    bool of_this_machine = false;  // its class, byte order and processor
    bool has_loader = false;       // if not, it is statically linked
    std::vector<std::string> needed = {};
    std::string rpath = {};  // overrides LD_LIBRARY_PATH, unless there is a run path as well
    bool has_run_path = false;
    std::string run_path = {};  // LD_LIBRARY_PATH overrides it
};

/// Reads the headers of an ELF file. `file` must contain at least these. The result is empty if it
/// is no ELF file, or if it is damaged.
std::optional<ElfFile> read_elf(ConstBytes file);

}  // namespace wireproof::cli
