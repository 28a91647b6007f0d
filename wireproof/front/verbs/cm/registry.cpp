#include "wireproof/front/verbs/cm/registry.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <new>
#include <utility>

namespace wireproof::verbs {
namespace {

// Each process locks the first byte of its file for as long as it lives. It locks the second byte
// of another process's file while it removes that file. These are record locks, so a forked child
// does not inherit them.
constexpr off_t life_byte = 0;
constexpr off_t removal = 1;

struct flock lock_range(off_t byte, short type) {
    struct flock one {};
    one.l_type = type;
    one.l_whence = SEEK_SET;
    one.l_start = byte;
    one.l_len = 1;
    return one;
}

bool lock(int file, off_t byte) {
    struct flock wanted = lock_range(byte, F_WRLCK);
    return ::fcntl(file, F_SETLK, &wanted) == 0;
}

bool is_locked_by_another(int file) {
    struct flock asked = lock_range(life_byte, F_WRLCK);
    return ::fcntl(file, F_GETLK, &asked) != 0 || asked.l_type != F_UNLCK;
}

bool is_named(int folder, const std::string& name, int file) {
    struct stat named {};
    struct stat open {};
    return ::fstatat(folder, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           ::fstat(file, &open) == 0 && named.st_ino == open.st_ino && named.st_dev == open.st_dev;
}

/// The network namespace of this process. A loopback address names a process only within it.
unsigned long long network() {
    struct stat space {};
    return ::stat("/proc/self/ns/net", &space) == 0 ? space.st_ino : 0;
}

std::string name_of(const CmService& service) {
    std::array<char, 64> name{};
    std::snprintf(name.data(), name.size(), "%llx-%04x-%u", network(), service.space, service.port);
    return name.data();
}

/// Removes the file, unless its name belongs to another file now.
void remove_dead(int folder, const std::string& name, int file) {
    if (lock(file, removal) && is_named(folder, name, file)) {
        ::unlinkat(folder, name.c_str(), 0);
    }
}

/// Reads the address that a living process wrote. Removes the file of a dead process.
std::optional<Address> read_living(int folder, const std::string& name) {
    const Descriptor file(
        ::openat(folder, name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
    if (!file.is_open()) return std::nullopt;
    struct stat what {};
    const bool ours = ::fstat(file.handle(), &what) == 0 && S_ISREG(what.st_mode) != 0 &&
                      what.st_uid == ::geteuid();
    if (!ours) return std::nullopt;
    if (!is_locked_by_another(file.handle())) {
        remove_dead(folder, name, file.handle());
        return std::nullopt;
    }
    std::array<char, 128> text{};
    const ssize_t length = ::pread(file.handle(), text.data(), text.size(), 0);
    if (length <= 0) return std::nullopt;
    const auto address = Address::parse({text.data(), static_cast<std::size_t>(length)});
    if (!address || !address->why_no_peer().empty()) return std::nullopt;
    return *address;
}

/// Writes the file under a hidden name, complete and locked. No process looks for that name.
Descriptor write_hidden(int folder, const std::string& hidden, const Address& address) {
    Descriptor file(::openat(folder, hidden.c_str(),
                             O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                             S_IRUSR | S_IWUSR));
    const std::string text = address.to_string();
    if (file.is_open() && lock(file.handle(), life_byte) &&
        ::pwrite(file.handle(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size())) {
        return file;
    }
    return {};
}

/// Removes files of dead processes, also for ports that no process may ever look for, and old
/// hidden files. A hidden file that is new belongs to a process that is still writing it.
void sweep(int folder) {
    constexpr std::time_t half_made_for = 60;  // seconds
    const int again = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const auto close = [](DIR* one) { ::closedir(one); };
    const std::unique_ptr<DIR, decltype(close)> all(again < 0 ? nullptr : ::fdopendir(again),
                                                    close);
    if (all == nullptr) return;
    while (const dirent* const entry = ::readdir(all.get())) {
        const std::string name = entry->d_name;
        struct stat what {};
        const bool hidden = name.front() == '.';
        const bool file = ::fstatat(folder, name.c_str(), &what, AT_SYMLINK_NOFOLLOW) == 0 &&
                          S_ISREG(what.st_mode) != 0;
        if (!file) continue;
        if (!hidden) {
            read_living(folder, name);
        } else if (what.st_mtime + half_made_for < std::time(nullptr)) {
            ::unlinkat(folder, name.c_str(), 0);
        }
    }
}

}  // namespace

struct CmServiceFolder::Held {
    struct One {
        Descriptor file;
        Address address;
    };
    pid_t owner = ::getpid();
    std::map<CmService, One> services;
};

// A thread that does not exist in a forked child may have held the lock.
CmServiceFolder::CmServiceFolder(std::string path)
    : path_(std::move(path)), fork_([this] { new (&lock_) std::mutex; }) {}

CmServiceFolder::~CmServiceFolder() {
    give_up_all();
}

Expected<Descriptor> CmServiceFolder::open() const {
    const auto failed = [this](const char* why) { return unexpected(path_ + ": " + why); };
    if (::mkdir(path_.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
        return failed(std::strerror(errno));
    }
    Descriptor folder(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder.is_open()) return failed(std::strerror(errno));
    struct stat what {};
    if (::fstat(folder.handle(), &what) != 0) return failed(std::strerror(errno));
    if (what.st_uid != ::geteuid()) return failed("belongs to another user");
    if ((what.st_mode & (S_IRWXG | S_IRWXO)) != 0) return failed("is open to other users");
    return folder;
}

std::string CmServiceFolder::why_not() {
    const auto folder = open();
    if (!folder) return folder.error().message;
    return "";
}

CmClaim CmServiceFolder::claim(const CmService& service, const Address& address) {
    const std::lock_guard guard(lock_);
    if (held_ == nullptr || held_->owner != ::getpid()) {
        // A forked child inherits the descriptors of its parent, but not the claims.
        held_ = std::make_unique<Held>();
    }
    if (held_->services.contains(service)) return CmClaim::taken;
    const auto folder = open();
    if (!folder) return CmClaim::no_folder;
    if (held_->services.empty()) sweep(folder->handle());  // later it would open files of ours
    const std::string name = name_of(service);
    const std::string hidden = "." + std::to_string(::getpid()) + "-" + name;
    ::unlinkat(folder->handle(), hidden.c_str(),
               0);  // left by a killed process with the same number
    Descriptor file = write_hidden(folder->handle(), hidden, address);
    if (!file.is_open()) return CmClaim::no_folder;
    CmClaim claimed = CmClaim::taken;
    // read_living() removes the file of a dead process. Another process may then create a new one.
    for (int tries = 0; tries < 3 && claimed == CmClaim::taken; ++tries) {
        if (::linkat(folder->handle(), hidden.c_str(), folder->handle(), name.c_str(), 0) == 0) {
            claimed = CmClaim::held;
        } else if (errno != EEXIST) {
            claimed = CmClaim::no_folder;
        } else if (read_living(folder->handle(), name)) {
            break;
        }
    }
    ::unlinkat(folder->handle(), hidden.c_str(), 0);
    if (claimed == CmClaim::held)
        held_->services.emplace(service, Held::One{std::move(file), address});
    return claimed;
}

void CmServiceFolder::give_up(const CmService& service) {
    const std::lock_guard guard(lock_);
    if (held_ == nullptr || held_->owner != ::getpid()) return;
    const auto found = held_->services.find(service);
    if (found == held_->services.end()) return;
    if (const auto folder = open()) {
        const std::string name = name_of(service);
        if (is_named(folder->handle(), name, found->second.file.handle())) {
            ::unlinkat(folder->handle(), name.c_str(), 0);
        }
    }
    held_->services.erase(found);
}

void CmServiceFolder::give_up_all() {
    std::unique_lock guard(lock_);
    if (held_ == nullptr || held_->owner != ::getpid()) return;
    while (!held_->services.empty()) {
        const CmService service = held_->services.begin()->first;
        guard.unlock();
        give_up(service);
        guard.lock();
    }
}

// If a process closes any descriptor of a file, it loses its lock on the file. So this function
// does not open files of this process.
std::optional<Address> CmServiceFolder::find(const CmService& service) {
    const std::lock_guard guard(lock_);
    if (held_ != nullptr && held_->owner == ::getpid()) {
        const auto found = held_->services.find(service);
        if (found != held_->services.end()) return found->second.address;
    }
    const auto folder = open();
    if (!folder) return std::nullopt;
    return read_living(folder->handle(), name_of(service));
}

CmRegistry::CmRegistry(const std::vector<std::string>& folders) {
    for (const std::string& folder : folders) folders_.emplace_back(folder);
}

std::vector<std::string> CmRegistry::folders_of_user() {
    std::vector<std::string> folders = {"/tmp/wireproof-" + std::to_string(::geteuid())};
    const char* const runtime = ::secure_getenv("XDG_RUNTIME_DIR");
    struct stat what {};
    // The folder belongs to another user if this process took on its user (su) and kept the
    // environment.
    const bool own = runtime != nullptr && runtime[0] == '/' && ::stat(runtime, &what) == 0 &&
                     what.st_uid == ::geteuid();
    if (own) folders.push_back(std::string(runtime) + "/wireproof");
    return folders;
}

CmRegistry& CmRegistry::of_process() {
    // Never destroyed, because a thread may use it while the process exits.
    static CmRegistry& registry = []() -> CmRegistry& {
        auto& made = *new CmRegistry(folders_of_user());
        std::atexit([] { of_process().give_up_all(); });
        return made;
    }();
    return registry;
}

CmClaim CmRegistry::claim(const CmService& service, const Address& address) {
    CmClaim result = CmClaim::no_folder;
    for (std::size_t at = 0; at < folders_.size(); ++at) {
        const CmClaim here = folders_[at].claim(service, address);
        if (here == CmClaim::taken) {
            while (at > 0) folders_[--at].give_up(service);
            return here;
        }
        if (here == CmClaim::held) result = here;
    }
    return result;
}

void CmRegistry::give_up(const CmService& service) {
    for (CmServiceFolder& folder : folders_) folder.give_up(service);
}

void CmRegistry::give_up_all() {
    for (CmServiceFolder& folder : folders_) folder.give_up_all();
}

std::optional<Address> CmRegistry::find(const CmService& service) {
    for (CmServiceFolder& folder : folders_) {
        if (const auto found = folder.find(service)) return found;
    }
    return std::nullopt;
}

std::string CmRegistry::why_no_folder() {
    std::string reasons;
    for (CmServiceFolder& folder : folders_) {
        const std::string why = folder.why_not();
        if (why.empty()) return why;
        reasons += (reasons.empty() ? "" : "; ") + why;
    }
    return reasons;
}

}  // namespace wireproof::verbs
