#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <string>

#include "wireproof/base/bytes.hpp"
#include "wireproof/os/descriptor.hpp"

namespace wireproof::cli {

/// The bytes of a file, mapped for as long as this object lives. There are none if the file cannot
/// be read.
class MappedFile {
public:
    explicit MappedFile(const std::string& path) {
        const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        struct stat status {};
        if (file.is_open() && ::fstat(file.handle(), &status) == 0 && status.st_size > 0) {
            size_ = static_cast<std::size_t>(status.st_size);
            start_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.handle(), 0);
        }
    }
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile() {
        if (start_ != MAP_FAILED) ::munmap(start_, size_);
    }
    ConstBytes bytes() const {
        if (start_ == MAP_FAILED) return {};
        return {static_cast<const std::byte*>(start_), size_};
    }

private:
    void* start_ = MAP_FAILED;
    std::size_t size_ = 0;
};

}  // namespace wireproof::cli
