// The file that is sent and the file that is written. A file being written has its final name only
// once it is whole; until then it has none at all or, where the file system cannot do that, one
// that ends in .part. Pipes and devices are written through: what is written is there at once.
#pragma once

#include <cstdint>
#include <string>

#include "wireproof/base/bytes.hpp"

namespace wireproof::cli {

/// Opened for reading. Throws Failure with one line if it cannot be read as a file.
class InputFile {
public:
    explicit InputFile(const std::string& path);
    ~InputFile();
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;

    const std::string& path() const { return path_; }
    std::uint64_t size() const { return size_; }
    /// Fills `to` from `offset`. Throws if the file cannot be read or has become shorter.
    void read(std::uint64_t offset, Bytes to) const;

private:
    std::string path_;
    int file_ = -1;
    std::uint64_t size_ = 0;
};

/// Whether `path` names standard output: "-", and what Linux calls it.
bool is_standard_output(const std::string& path);

/// Throws Failure in one line where an OutputFile of this path would. Opens no pipe or device: its
/// reader would take the close for the end.
void check_output(const std::string& path);

/// Throws Failure where `path` is there and is no regular file, so nothing can be added to it.
void check_regular(const std::string& path);

/// Of a file that is replaced.
struct FileOwner {
    std::uint32_t mode = 0;  // permission bits
    std::uint32_t user = 0;
    std::uint32_t group = 0;
};

/// Opened for writing; removed again unless finish() was called. A file that is replaced keeps its
/// mode and, as far as the system lets us, its owner; a symbolic link stays and its target is
/// replaced.
class OutputFile {
public:
    /// An empty path: what is written goes nowhere. "-": standard output.
    explicit OutputFile(std::string path);
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    /// Takes the room for `size` bytes now, where the file system can. Throws if there is not
    /// enough.
    void reserve(std::uint64_t size);
    void write(std::uint64_t offset, ConstBytes bytes);
    /// Gives the file its name, which another file may have had until now.
    void finish();

private:
    /// What stands behind `file_` until finish().
    enum class Kind : std::uint8_t { nothing, nameless, part, device };

    void open_device();
    void open_new();
    void keep_mode(const FileOwner& replaced) const;
    bool open_nameless();
    void open_part();
    void name_nameless();
    [[noreturn]] void fail(int error) const;

    std::string path_;    // as the caller has it, for messages
    std::string target_;  // the same with symbolic links followed
    std::string part_;    // its name until it is whole, if it has one
    Kind kind_ = Kind::nothing;
    int file_ = -1;
};

}  // namespace wireproof::cli
