#include "wireproof/host/counters/counter_reader.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <string_view>

#include "wireproof/host/counters/section_parser.hpp"
#include "wireproof/os/descriptor.hpp"

namespace wireproof::host {
namespace {

constexpr std::size_t files_max = 8;  // of a process; a library that is loaded twice has two

bool is_counter_file(const std::string& path) {
    static const std::string wanted = "/memfd:" + std::string(counter_file_name) + " (deleted)";
    std::array<char, 64> target{};
    const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
    return length > 0 &&
           std::string_view(target.data(), static_cast<std::size_t>(length)) == wanted;
}

/// The names in a folder that are numbers, in ascending order. Nothing: it cannot be read.
std::optional<std::vector<long>> numbers_in(const std::string& folder) {
    const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), &::closedir);
    if (!open) return std::nullopt;
    std::vector<long> numbers;
    while (const dirent* entry = ::readdir(open.get())) {
        const std::string_view name = entry->d_name;
        long number = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
        if (error == std::errc() && end == name.data() + name.size()) numbers.push_back(number);
    }
    std::ranges::sort(numbers);
    return numbers;
}

/// The number that the process has in its own namespace of processes: a container counts from 1.
std::int64_t own_number_of(pid_t process) {
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(status, line);) {
        if (!line.starts_with("NSpid:")) continue;
        std::int64_t number = process;
        const std::size_t last = line.find_last_of(" \t") + 1;
        std::from_chars(line.data() + last, line.data() + line.size(), number);
        return number;
    }
    return process;
}

std::string program_of(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/comm");
    std::string name;
    std::getline(file, name);
    return name.empty() ? "?" : name;
}

template <class Value>
bool read_at(int file, Value& value, std::uint64_t offset) {
    return ::pread(file, &value, sizeof value, static_cast<off_t>(offset)) ==
           static_cast<ssize_t>(sizeof value);
}

bool read_bytes(int file, std::vector<std::byte>& bytes, std::uint64_t offset) {
    return ::pread(file, bytes.data(), bytes.size(), static_cast<off_t>(offset)) ==
           static_cast<ssize_t>(bytes.size());
}

class FileReader {
public:
    FileReader(PublishedProcess& into, int file, long number)
        : into_(into), file_(file), number_(number) {}

    void read() {
        CounterFileHeader header{};
        struct stat facts {};
        if (::fstat(file_, &facts) != 0 || !S_ISREG(facts.st_mode)) return skip("not a file");
        if (!read_at(file_, header.magic, 0) || header.magic == 0) return;  // it is made just now
        if (!read_at(file_, header, 0) || header.magic != counter_file_magic) {
            return skip("not a file of counters");
        }
        if (header.version != counter_file_version) {
            return skip("version " + std::to_string(header.version) +
                        " of the file of counters, and this program reads version " +
                        std::to_string(counter_file_version));
        }
        // A child that was made by a bare clone has the file open, too.
        if (header.process != own_number_of(into_.process)) return;
        const auto size = static_cast<std::uint64_t>(facts.st_size);
        if (header.size != size || size > counter_file_size_max || header.places > counter_places) {
            return skip("its header has impossible sizes");
        }
        into_.unpublished += header.unpublished;
        std::uint64_t left = size;  // so that places that overlap do not make a long read
        for (std::size_t i = 0; i < header.places; ++i) {
            const std::uint64_t at = sizeof header + i * sizeof(CounterPlace);
            CounterPlace place{};
            if (!read_at(file_, place, at)) return skip("it ends within its table");
            if (place.offset == 0) continue;
            if (place.offset > size || place.size > size - place.offset || place.size > left) {
                return skip("section " + std::to_string(i) + " is not within the file");
            }
            left -= place.size;
            read_section(i, place, at);
        }
    }

private:
    void skip(const std::string& why) {
        into_.skipped.push_back("descriptor " + std::to_string(number_) + ": " + why);
    }

    void read_section(std::size_t index, const CounterPlace& place, std::uint64_t place_at) {
        std::string why;
        bool consistent = false;
        std::optional<PublishedSection> section;
        constexpr int tries = 50;
        for (int i = 0; i < tries && !consistent; ++i) {
            if (i > 0) ::usleep(200);
            std::vector<std::byte> bytes;
            why = copy(place, bytes, consistent);
            if (!why.empty()) continue;
            auto parsed = parse_section(bytes);
            if (!parsed) {
                consistent = false;
                why = parsed.error().message;
                continue;
            }
            section = *std::move(parsed);
        }
        // The owner may have ended the section meanwhile, and begun another at its place.
        CounterPlace after{};
        const bool same = read_at(file_, after, place_at) && after.offset == place.offset &&
                          after.size == place.size;
        if (!same) return;
        if (!section) return skip("section " + std::to_string(index) + ": " + why);
        section->is_consistent = consistent;
        const auto now =
            std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch());
        const auto now_ns = static_cast<std::uint64_t>(now.count());
        section->age_ns = now_ns - std::min(now_ns, section->updated_ns);
        into_.sections.push_back(*std::move(section));
    }

    /// Reads the part of a section that is in use. Returns what is wrong with it, or nothing.
    std::string copy(const CounterPlace& place, std::vector<std::byte>& bytes, bool& consistent) {
        CounterSectionHeader before{};
        CounterSectionHeader after{};
        if (place.size < sizeof before || !read_at(file_, before, place.offset)) {
            return "it is shorter than its header";
        }
        const auto used = used_size_of(before, place.size);
        if (!used) return used.error().message;
        bytes.resize(*used);
        if (!read_bytes(file_, bytes, place.offset) || !read_at(file_, after, place.offset)) {
            return "it cannot be read";
        }
        consistent = before.sequence % 2 == 0 && before.sequence == after.sequence &&
                     before.started_ns == after.started_ns && before.rows == after.rows;
        return {};
    }

    PublishedProcess& into_;
    int file_;
    long number_;
};

}  // namespace

PublishedProcess read_counters(pid_t process) {
    using Access = PublishedProcess::Access;
    PublishedProcess published;
    published.process = process;
    const std::string folder = "/proc/" + std::to_string(process) + "/fd/";
    const auto numbers = numbers_in(folder);
    if (!numbers) {
        published.access = errno == EACCES || errno == EPERM ? Access::refused : Access::no_process;
        return published;
    }
    std::size_t files = 0;
    for (const long number : *numbers) {
        const std::string path = folder + std::to_string(number);
        if (!is_counter_file(path)) continue;
        if (++files > files_max) {
            published.skipped.push_back("more than " + std::to_string(files_max) +
                                        " files of counters");
            break;
        }
        const Descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        if (opened.is_open()) FileReader(published, opened.handle(), number).read();
    }
    if (files > 0) published.program = program_of(process);
    return published;
}

std::vector<PublishedProcess> read_all_counters() {
    std::vector<PublishedProcess> all;
    for (const long number : numbers_in("/proc").value_or(std::vector<long>())) {
        auto one = read_counters(static_cast<pid_t>(number));
        if (!one.sections.empty() || !one.skipped.empty() || one.unpublished > 0) {
            all.push_back(std::move(one));
        }
    }
    return all;
}

}  // namespace wireproof::host
