#include "wireproof/host/counters/counter_file.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "wireproof/base/check.hpp"
#include "wireproof/base/publish.hpp"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace wireproof::host {
namespace {

constexpr std::size_t granule = 4096;  // of the size of the file
constexpr std::size_t file_size_min = std::size_t{256} << 10;

std::size_t rounded_up(std::size_t size) {
    const auto page = std::max(granule, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
    return (size + page - 1) / page * page;
}

bool is_switched_off() {
    const char* const text = std::getenv("WIREPROOF_NO_COUNTERS");
    return text != nullptr && *text != '\0' && std::string_view(text) != "0";
}

/// A longer file would end the process by SIGXFSZ.
std::size_t file_size() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) != 0) return 0;
    const auto most = std::min<rlim_t>(limit.rlim_cur, counter_file_size_max);
    return static_cast<std::size_t>(most) / granule * granule;
}

// Kernels before 6.3 do not know MFD_NOEXEC_SEAL. Some later ones are configured to require it.
int make_file() {
    constexpr unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    const int file = ::memfd_create(counter_file_name, flags | MFD_NOEXEC_SEAL);
    return file >= 0 || errno != EINVAL ? file : ::memfd_create(counter_file_name, flags);
}

void* map(int file, std::size_t offset, std::size_t size) {
    void* const at =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(offset));
    return at == MAP_FAILED ? nullptr : at;
}

/// The file that this process uses now.
struct Current {
    std::mutex lock;
    std::weak_ptr<CounterFile> file;

    // Never destroyed, because static objects of the program may outlive it.
    static Current& of_this_process() {
        static Current& current = *make();
        return current;
    }

private:
    // The lock is held during a fork, so that the child gets a pointer that no thread was changing.
    // A ForkWatch has a lock that is held then, too. It is taken inside this one, so its handlers
    // must be there first: the last ones that were added run first before a fork.
    static Current* make() {
        const ForkWatch earlier([] {});
        const auto unlock = [] { of_this_process().lock.unlock(); };
        const int failed = ::pthread_atfork([] { of_this_process().lock.lock(); }, unlock, unlock);
        WIREPROOF_CHECK(failed == 0);
        return new Current;
    }
};

}  // namespace

struct CounterFile::Table {
    CounterFileHeader header;
    std::array<CounterPlace, counter_places> places;
};

std::shared_ptr<CounterFile> CounterFile::of_process() {
    if (is_switched_off()) return nullptr;
    Current& current = Current::of_this_process();
    const std::lock_guard guard(current.lock);
    auto file = current.file.lock();
    if (file != nullptr && !file->fork_.forked() && file->is_ours()) return file;
    file = make();
    current.file = file;
    return file;
}

std::shared_ptr<CounterFile> CounterFile::make() {
    const std::size_t size = file_size();
    if (size < file_size_min) return nullptr;
    Descriptor file(make_file());
    if (!file.is_open()) return nullptr;
    constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    void* at = nullptr;
    const bool made = ::ftruncate(file.handle(), static_cast<off_t>(size)) == 0 &&
                      ::fchmod(file.handle(), S_IRUSR) == 0 &&
                      ::fcntl(file.handle(), F_ADD_SEALS, seals) == 0 &&
                      (at = map(file.handle(), 0, rounded_up(sizeof(Table)))) != nullptr;
    if (!made) return nullptr;
    auto* const opened =
        new (std::nothrow) CounterFile(std::move(file), size, static_cast<Table*>(at));
    if (opened == nullptr) ::munmap(at, rounded_up(sizeof(Table)));
    return std::shared_ptr<CounterFile>(opened);
}

// A reader may find the file before it is filled. So the magic number comes last.
CounterFile::CounterFile(Descriptor file, std::size_t size, Table* table)
    : file_(std::move(file)), size_(size), table_(table), fork_([this] {
          close_file();
          replace_shared_memory(table_, rounded_up(sizeof(Table)));
      }) {
    struct stat facts {};
    WIREPROOF_CHECK(::fstat(file_.handle(), &facts) == 0);
    device_ = facts.st_dev;
    inode_ = facts.st_ino;
    CounterFileHeader& header = table->header;
    header.version = counter_file_version;
    header.places = counter_places;
    header.size = size;
    header.process = ::getpid();
    release_fence();
    std::atomic_ref(header.magic).store(counter_file_magic, std::memory_order_relaxed);
}

CounterFile::~CounterFile() {
    ::munmap(table_, rounded_up(sizeof(Table)));
    close_file();
}

void CounterFile::close_file() {
    if (is_ours()) file_.close();
    file_.release();  // otherwise its number belongs to another file of the program
}

// A program may close all descriptors above 2 when it becomes a daemon, and open others.
bool CounterFile::is_ours() const {
    struct stat facts {};
    return ::fstat(file_.handle(), &facts) == 0 && facts.st_dev == device_ &&
           facts.st_ino == inode_;
}

std::span<std::byte> CounterFile::take(std::size_t size) {
    const std::lock_guard guard(lock_);
    const std::size_t whole = rounded_up(size);
    const auto free = std::ranges::find(mapped_, nullptr, &Mapped::at);
    const std::size_t offset = free != mapped_.end() && is_ours() ? gap_for(whole) : 0;
    void* const at = offset != 0 ? map(file_.handle(), offset, whole) : nullptr;
    if (at == nullptr) {
        const std::atomic_ref unpublished(table_->header.unpublished);
        unpublished.store(table_->header.unpublished + 1, std::memory_order_relaxed);
        return {};
    }
    *free = {static_cast<std::byte*>(at), offset, whole};
    return {free->at, size};
}

/// The lowest offset with room. 0: there is no room.
std::size_t CounterFile::gap_for(std::size_t size) const {
    std::vector<std::pair<std::size_t, std::size_t>> taken = {{0, rounded_up(sizeof(Table))}};
    for (const Mapped& one : mapped_) {
        if (one.at != nullptr) taken.emplace_back(one.offset, one.size);
    }
    std::ranges::sort(taken);
    for (std::size_t i = 0; i < taken.size(); ++i) {
        const std::size_t begin = taken[i].first + taken[i].second;
        const std::size_t end = i + 1 < taken.size() ? taken[i + 1].first : size_;
        if (begin <= end && end - begin >= size) return begin;
    }
    return 0;
}

void CounterFile::show(std::span<std::byte> section) {
    const std::lock_guard guard(lock_);
    const auto mapped = std::ranges::find(mapped_, section.data(), &Mapped::at);
    CounterPlace& place = table_->places[static_cast<std::size_t>(mapped - mapped_.begin())];
    std::atomic_ref(place.size).store(section.size(), std::memory_order_relaxed);
    release_fence();
    std::atomic_ref(place.offset).store(mapped->offset, std::memory_order_relaxed);
}

// The memory is given back by its address: the number of the descriptor may be another file's now.
void CounterFile::give_back(std::span<std::byte> section) {
    const std::lock_guard guard(lock_);
    const auto mapped = std::ranges::find(mapped_, section.data(), &Mapped::at);
    CounterPlace& place = table_->places[static_cast<std::size_t>(mapped - mapped_.begin())];
    std::atomic_ref(place.offset).store(0, std::memory_order_relaxed);
    release_fence();
    std::atomic_ref(place.size).store(0, std::memory_order_relaxed);
    ::madvise(mapped->at, mapped->size, MADV_REMOVE);
    ::munmap(mapped->at, mapped->size);
    *mapped = {};
}

void replace_shared_memory(void* at, std::size_t size) {
    constexpr int flags = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* const replaced = ::mmap(at, rounded_up(size), PROT_READ | PROT_WRITE, flags, -1, 0);
    WIREPROOF_CHECK(replaced == at);
}

}  // namespace wireproof::host
