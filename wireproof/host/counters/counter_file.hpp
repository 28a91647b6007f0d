// The memory file in which this process publishes its counters. All sections of the process share
// it, so that a process with many Endpoints needs one descriptor for all of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "wireproof/host/counters/layout.hpp"
#include "wireproof/host/fork_watch.hpp"
#include "wireproof/os/descriptor.hpp"

namespace wireproof::host {

/// Any thread may call it.
class CounterFile {
public:
    /// The file of this process. A forked child gets a file of its own. Null: there is none,
    /// because the process may have no more descriptors or memory, may not make files as large as
    /// this one, or has the environment variable WIREPROOF_NO_COUNTERS, not empty and not "0".
    static std::shared_ptr<CounterFile> of_process();

    CounterFile(const CounterFile&) = delete;
    CounterFile& operator=(const CounterFile&) = delete;
    ~CounterFile();

    /// Memory for a section, all 0. Readers do not see it before show(). Empty: there is no room.
    std::span<std::byte> take(std::size_t size);
    void show(std::span<std::byte> section);
    /// Readers do not see the section any more, and its memory is unmapped. A forked child must not
    /// call it.
    void give_back(std::span<std::byte> section);

private:
    struct Table;
    CounterFile(Descriptor file, std::size_t size, Table* table);
    static std::shared_ptr<CounterFile> make();
    bool is_ours() const;
    void close_file();
    std::size_t gap_for(std::size_t size) const;

    std::mutex lock_;
    Descriptor file_;
    std::uint64_t device_ =
        0;  // of the file, with inode_: a program may have closed our descriptor
    std::uint64_t inode_ = 0;
    std::size_t size_;
    Table* table_;
    struct Mapped {
        std::byte* at = nullptr;
        std::size_t offset = 0;
        std::size_t size = 0;
    };
    std::array<Mapped, counter_places> mapped_{};  // by place; the table itself may be overwritten
    ForkWatch fork_;
};

/// For a forked child: private memory takes the place of memory that it shares with its parent.
void replace_shared_memory(void* at, std::size_t size);

}  // namespace wireproof::host
