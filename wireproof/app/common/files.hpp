// The file that is sent and the file that is written. A file gets its final name only when it is
// complete. Until then it has no name or, if the file system does not support that, a name that
// ends in .part. Pipes and devices are written directly, without a temporary file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "wireproof/base/bytes.hpp"
#include "wireproof/os/descriptor.hpp"

namespace wireproof::app {

/// A file that is open for reading. Throws Failure with one line if it cannot be read as a file.
class InputFile {
public:
    explicit InputFile(const std::string& path);

    const std::string& path() const { return path_; }
    std::uint64_t size() const { return size_; }
    /// Fills `to` from `offset`. Throws if the file cannot be read or has become shorter.
    void read(std::uint64_t offset, Bytes to) const;

private:
    std::string path_;
    Descriptor file_;
    std::uint64_t size_ = 0;
};

/// The bytes of a file. Throws Failure also if it is longer than `most_mib`; no value: no limit.
std::string text_of_file(const std::string& path, std::optional<std::uint64_t> most_mib = 1);

/// Whether `path` names standard output: "-", or one of the names that Linux gives it.
bool is_standard_output(const std::string& path);

/// Throws Failure if an OutputFile with this path would. Does not open a pipe or device: the reader
/// would take the close as the end.
void check_output(const std::string& path);

/// Throws Failure if `path` exists and is not a regular file, so that nothing can be appended to
/// it.
void check_regular(const std::string& path);

/// Mode and owner of a file that is replaced.
struct FileOwner {
    std::uint32_t mode = 0;  // permission bits
    std::uint32_t user = 0;
    std::uint32_t group = 0;
};

/// A file that is open for writing. The destructor removes it unless finish() was called. A file
/// that is replaced keeps its mode and, if the system allows it, its owner. A symbolic link stays,
/// and its target is replaced.
class OutputFile {
public:
    /// An empty path: the bytes are dropped. "-": standard output.
    explicit OutputFile(std::string path);
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    /// Reserves room for `size` bytes now, if the file system can. Throws if there is not enough
    /// room.
    void reserve(std::uint64_t size);
    void write(std::uint64_t offset, ConstBytes bytes);
    /// Forgets what was written, so that it can be written anew. False: a pipe or device does not
    /// take it back.
    [[nodiscard]] bool begin_anew();
    /// Gives the file its name, and replaces another file with this name.
    void finish();

private:
    /// The kind of file behind `file_` until finish().
    enum class Kind : std::uint8_t { nothing, nameless, part, device };

    void open_device();
    void open_new();
    void keep_mode(const FileOwner& replaced) const;
    bool open_nameless();
    void open_part();
    void name_nameless();
    [[noreturn]] void fail(int error) const;

    std::string path_;    // the caller's path, for messages
    std::string target_;  // path_ after following symbolic links
    std::string part_;    // temporary name, if it has one
    Kind kind_ = Kind::nothing;
    Descriptor file_;
    bool written_ = false;
};

}  // namespace wireproof::app
