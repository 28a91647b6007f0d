#include "wireproof/host/published_text.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

#include "wireproof/base/publish.hpp"

namespace wireproof::host {
namespace {

constexpr std::uint64_t magic = 0x31747874'66707277;  // "wrpftxt1"

/// Precedes the text. Readers see it as bytes of a file.
struct Header {
    std::uint64_t magic;
    std::int64_t process;    // a forked child also has the file open, but publishes nothing in it
    std::uint64_t sequence;  // odd while the text is being replaced
    std::uint64_t length;    // bytes of the text
};

struct CloseFile {
    int file;
    explicit CloseFile(int opened) : file(opened) {}
    CloseFile(const CloseFile&) = delete;
    CloseFile& operator=(const CloseFile&) = delete;
    ~CloseFile() {
        if (file >= 0) ::close(file);
    }
};

std::string link_of(const std::string& name) {
    return "/memfd:" + name + " (deleted)";
}

bool leads_to(const std::string& path, const std::string& wanted) {
    std::array<char, 512> target{};
    const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
    return length > 0 &&
           std::string_view(target.data(), static_cast<std::size_t>(length)) == wanted;
}

/// The names in a folder that are numbers.
std::vector<long> numbers_in(const std::string& folder) {
    std::vector<long> numbers;
    const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), &::closedir);
    if (!open) return numbers;
    while (const dirent* entry = ::readdir(open.get())) {
        const std::string_view name = entry->d_name;
        long number = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
        if (error == std::errc() && end == name.data() + name.size()) numbers.push_back(number);
    }
    std::ranges::sort(numbers);
    return numbers;
}

/// Paths of the text files of another process. That process may write anything into them at any
/// time.
std::vector<std::string> files_of(pid_t process, const std::string& name) {
    const std::string folder = "/proc/" + std::to_string(process) + "/fd/";
    std::vector<std::string> files;
    for (const long number : numbers_in(folder)) {
        std::string path = folder + std::to_string(number);
        if (leads_to(path, link_of(name))) files.push_back(std::move(path));
    }
    return files;
}

template <class Value>
bool read_at(int file, Value& value, std::size_t size, std::size_t offset) {
    return ::pread(file, &value, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

std::optional<std::string> read_text(const std::string& path, pid_t process) {
    const CloseFile opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    constexpr int tries = 100;
    for (int i = 0; i < tries && opened.file >= 0; ++i) {
        Header before{};
        Header after{};
        if (!read_at(opened.file, before, sizeof before, 0)) break;
        if (before.magic != magic || before.process != process) break;
        if (before.length > PublishedText::longest) break;
        std::string text(before.length, '\0');
        if (!text.empty() && !read_at(opened.file, text[0], text.size(), sizeof before)) break;
        if (!read_at(opened.file, after, sizeof after, 0)) break;
        if (before.sequence % 2 == 0 && before.sequence == after.sequence) return text;
        ::usleep(100);
    }
    return std::nullopt;
}

}  // namespace

struct PublishedText::Page {
    Header header;
    std::array<char, longest> text;
};

Expected<PublishedText> PublishedText::open(const std::string& name) {
    const auto failed = [&name] {
        return unexpected("cannot show " + name + ": " + std::generic_category().message(errno));
    };
    const int file = ::memfd_create(name.c_str(), MFD_CLOEXEC);
    if (file < 0) return failed();
    if (::ftruncate(file, sizeof(Page)) != 0) {
        ::close(file);
        return failed();
    }
    void* const at = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) {
        ::close(file);
        return failed();
    }
    auto* const page = static_cast<Page*>(at);
    page->header = {.magic = magic, .process = ::getpid(), .sequence = 0, .length = 0};
    return PublishedText(file, page);
}

PublishedText::PublishedText(PublishedText&& other) noexcept
    : file_(std::exchange(other.file_, -1)), page_(std::exchange(other.page_, nullptr)) {}

PublishedText::~PublishedText() {
    if (page_ == nullptr) return;
    ::munmap(page_, sizeof(Page));
    ::close(file_);
}

void PublishedText::publish(std::string_view text) {
    if (text.size() > longest) text = text.substr(0, text.rfind('\n', longest - 1) + 1);
    const std::atomic_ref<std::uint64_t> sequence(page_->header.sequence);
    const std::uint64_t before = sequence.load(std::memory_order_relaxed);
    sequence.store(before + 1, std::memory_order_relaxed);
    release_fence();
    std::memcpy(page_->text.data(), text.data(), text.size());
    page_->header.length = text.size();
    release_fence();
    sequence.store(before + 2, std::memory_order_relaxed);
}

std::vector<std::string> read_published(pid_t process, const std::string& name) {
    std::vector<std::string> texts;
    for (const std::string& path : files_of(process, name)) {
        if (auto text = read_text(path, process)) texts.push_back(*std::move(text));
    }
    return texts;
}

std::vector<pid_t> processes_with_published(const std::string& name) {
    std::vector<pid_t> processes;
    for (const long number : numbers_in("/proc")) {
        const auto process = static_cast<pid_t>(number);
        if (!read_published(process, name).empty()) processes.push_back(process);
    }
    return processes;
}

}  // namespace wireproof::host
