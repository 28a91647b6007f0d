#include "wireproof/cli/elf_file.hpp"

#include <elf.h>

#include <bit>
#include <cstring>

namespace wireproof::cli {
namespace {

#if defined(__x86_64__)
constexpr unsigned this_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned this_machine = EM_AARCH64;
#else
constexpr unsigned this_machine = EM_NONE;
#endif
constexpr unsigned char this_order =
    std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

template <class T>
std::optional<T> at(ConstBytes file, std::uint64_t offset) {
    if (offset > file.size() || file.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, file.data() + offset, sizeof value);
    return value;
}

std::string text_at(ConstBytes file, std::uint64_t offset) {
    std::string text;
    while (offset < file.size() && file[offset] != std::byte{}) {
        text += static_cast<char>(file[offset++]);
    }
    return text;
}

/// The offset in the file of an address of the program.
std::uint64_t place_of(const std::vector<Elf64_Phdr>& segments, std::uint64_t address) {
    for (const Elf64_Phdr& one : segments) {
        if (one.p_type == PT_LOAD && address >= one.p_vaddr &&
            address - one.p_vaddr < one.p_filesz) {
            return one.p_offset + (address - one.p_vaddr);
        }
    }
    return ~std::uint64_t{0};
}

void read_dynamic(ConstBytes file, const std::vector<Elf64_Phdr>& segments,
                  const Elf64_Phdr& dynamic, ElfFile& elf) {
    std::vector<Elf64_Dyn> entries;
    std::uint64_t strings = ~std::uint64_t{0};
    for (std::uint64_t done = 0; done < dynamic.p_filesz; done += sizeof(Elf64_Dyn)) {
        const auto entry = at<Elf64_Dyn>(file, dynamic.p_offset + done);
        if (!entry || entry->d_tag == DT_NULL) break;
        if (entry->d_tag == DT_STRTAB) strings = place_of(segments, entry->d_un.d_ptr);
        entries.push_back(*entry);
    }
    if (strings >= file.size()) return;
    for (const Elf64_Dyn& entry : entries) {
        const std::uint64_t place = strings + entry.d_un.d_val;
        if (entry.d_tag == DT_NEEDED) elf.needed.push_back(text_at(file, place));
        if (entry.d_tag == DT_RPATH) elf.rpath = text_at(file, place);
        if (entry.d_tag == DT_RUNPATH) {
            elf.has_run_path = true;
            elf.run_path = text_at(file, place);
        }
    }
}

}  // namespace

std::optional<ElfFile> read_elf(ConstBytes file) {
    const auto identity = at<std::array<unsigned char, EI_NIDENT>>(file, 0);
    if (!identity || std::memcmp(identity->data(), ELFMAG, SELFMAG) != 0) return std::nullopt;
    ElfFile elf;
    if ((*identity)[EI_CLASS] != ELFCLASS64 || (*identity)[EI_DATA] != this_order) return elf;
    const auto header = at<Elf64_Ehdr>(file, 0);
    if (!header) return std::nullopt;
    elf.of_this_machine = header->e_machine == this_machine;
    std::vector<Elf64_Phdr> segments;
    for (std::uint64_t i = 0; i < header->e_phnum; ++i) {
        const auto one = at<Elf64_Phdr>(file, header->e_phoff + i * sizeof(Elf64_Phdr));
        if (!one) return std::nullopt;
        segments.push_back(*one);
    }
    for (const Elf64_Phdr& one : segments) {
        if (one.p_type == PT_INTERP) elf.has_loader = true;
        if (one.p_type == PT_DYNAMIC) read_dynamic(file, segments, one, elf);
    }
    return elf;
}

}  // namespace wireproof::cli
