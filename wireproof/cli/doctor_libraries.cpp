// Checks whether a library of the program leads to another libibverbs.so.1 than ours. This can
// happen if a library has an RPATH, which the loader searches before LD_LIBRARY_PATH, or if a
// library contains its own copy of libibverbs. The search for libraries is that of the loader.
// Libraries that a program loads by dlopen are not named in its file. Of these the check knows only
// the plug-ins of UCX and libfabric.
#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

#include "wireproof/cli/doctor_checks.hpp"
#include "wireproof/cli/drop_in.hpp"
#include "wireproof/cli/elf_file.hpp"
#include "wireproof/cli/mapped_file.hpp"

namespace wireproof::cli {
namespace {

using FolderList = std::vector<std::string>;

struct Library {
    std::string path;
    ElfFile elf;
    FolderList rpath;  // its own RPATH, then those of the files that load it
};

std::string folder_with(const std::string& path) {
    const auto end = path.rfind('/');
    return end == path.npos ? "." : path.substr(0, end);
}

/// The folders in a list with colons. $ORIGIN stands for the folder of the file that has the list.
FolderList folders_of(const std::string& list, const std::string& origin) {
    FolderList folders;
    std::istringstream words(list);
    for (std::string one; std::getline(words, one, ':');) {
        for (const std::string_view name : {"$ORIGIN", "${ORIGIN}"}) {
            const auto at = one.find(name);
            if (at != one.npos) one.replace(at, name.size(), origin);
        }
        if (!one.empty()) folders.push_back(one);
    }
    return folders;
}

/// The files that match a pattern.
FolderList matching(const std::string& pattern) {
    FolderList found;
    glob_t all{};
    if (::glob(pattern.c_str(), 0, nullptr, &all) == 0) {
        found.assign(all.gl_pathv, all.gl_pathv + all.gl_pathc);
    }
    ::globfree(&all);
    return found;
}

/// Adds the folders that ldconfig reads, in its order.
void add_configured(const std::string& file, FolderList& folders, int depth) {
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string word;
        if (!(words >> word) || word.front() == '#') continue;
        if (word != "include") {
            folders.push_back(word);
        } else if (words >> word && depth > 0) {
            const std::string pattern = word.front() == '/' ? word : "/etc/" + word;
            for (const std::string& one : matching(pattern)) {
                add_configured(one, folders, depth - 1);
            }
        }
    }
}

FolderList system_folders() {
    FolderList folders;
    add_configured("/etc/ld.so.conf", folders, 4);
    folders.insert(folders.end(), {"/lib64", "/usr/lib64", "/lib", "/usr/lib"});
    return folders;
}

std::string found_in(const FolderList& folders, const std::string& name) {
    for (const std::string& folder : folders) {
        std::string path = folder + "/" + name;
        if (is_file(path)) return path;
    }
    return {};
}

/// True if the file contains a text that is in libibverbs but not in the device's libraries.
bool has_verbs_inside(ConstBytes file) {
    constexpr std::string_view text =
        "libibverbs: Warning: no userspace device-specific driver found";
    const auto* const begin = reinterpret_cast<const char*>(file.data());
    return std::string_view(begin, file.size()).find(text) != std::string_view::npos;
}

class Walk {
public:
    explicit Walk(std::vector<Check>& checks) : checks_(checks) {
        const char* const path = std::getenv("LD_LIBRARY_PATH");
        chosen_ = folders_of(path != nullptr ? path : "", ".");
    }

    void start(const std::string& program, const ElfFile& elf) {
        if (has_verbs_inside(MappedFile(program).bytes())) {
            checks_.push_back(failed(
                "links", "it contains its own copy of libibverbs, which the device cannot replace",
                "link it with libibverbs.so.1"));
        }
        program_ = program;
        add({program, elf, {}});
    }
    /// Returns the first library that loads libibverbs.
    std::string run() {
        for (; !left_.empty(); left_.pop_front()) {
            const Library library = left_.front();
            for (const std::string& name : library.elf.needed) need(library, name);
        }
        return through_;
    }

private:
    void add(Library library) {
        if (library.elf.has_run_path) {
            library.rpath.clear();
        } else {
            const FolderList own = folders_of(library.elf.rpath, folder_with(library.path));
            library.rpath.insert(library.rpath.begin(), own.begin(), own.end());
        }
        left_.push_back(std::move(library));
    }

    void need(const Library& by, const std::string& name) {
        const std::string fixed = found_in(by.rpath, name);
        if (name == drop_in_library) {
            if (through_.empty() && by.path != program_) through_ = by.path;
            if (fixed.empty() || !told_.insert(by.path).second) return;
            checks_.push_back(failed("links",
                                     fmt::format("an RPATH makes {} load {} first", by.path, fixed),
                                     "set a RUNPATH instead: patchelf --set-rpath"));
            return;
        }
        if (!seen_.insert(name).second) return;
        std::string path = !fixed.empty() ? fixed : found_in(chosen_, name);
        if (path.empty()) path = found_in(folders_of(by.elf.run_path, folder_with(by.path)), name);
        if (path.empty()) path = found_in(system_, name);
        if (path.empty()) return;
        read(path, by.rpath);
        const std::string beside = folder_with(path);
        if (name.starts_with("libuct.so")) plug_ins(beside + "/ucx/libuct_*.so.*", by.rpath);
        if (name.starts_with("libfabric.so")) plug_ins(beside + "/libfabric/*.so", by.rpath);
    }

    void plug_ins(const std::string& pattern, const FolderList& rpath) {
        std::set<std::string> files;
        for (const std::string& one : matching(pattern)) {
            char* const real = ::realpath(one.c_str(), nullptr);
            if (real != nullptr) files.insert(real);
            std::free(real);
        }
        for (const std::string& one : files) read(one, rpath);
    }

    void read(const std::string& path, const FolderList& rpath) {
        const MappedFile file(path);
        const auto elf = read_elf(file.bytes());
        if (!elf || !elf->of_this_machine) return;
        if (has_verbs_inside(file.bytes())) {
            checks_.push_back(warned(
                "links",
                path + " contains its own copy of libibverbs, which the device cannot replace",
                "take one that is linked with libibverbs.so.1"));
        }
        add({path, *elf, rpath});
    }

    std::vector<Check>& checks_;
    FolderList chosen_;
    FolderList system_ = system_folders();
    std::deque<Library> left_;
    std::set<std::string> seen_;
    std::set<std::string> told_;
    std::string program_;
    std::string through_;
};

}  // namespace

std::string check_libraries(const std::string& program, const ElfFile& elf,
                            std::vector<Check>& checks) {
    Walk walk(checks);
    walk.start(program, elf);
    return walk.run();
}

}  // namespace wireproof::cli
