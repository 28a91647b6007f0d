// The source of a capture: a file, a pipe or standard input, either plain or compressed by gzip.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "wireproof/base/bytes.hpp"
#include "wireproof/os/descriptor.hpp"

namespace wireproof::cli {

class CaptureSource {
public:
    /// `path`, or standard input for "-". Throws Failure with one line if it cannot be opened. If
    /// `path` is a FIFO, the constructor waits until a program opens it for writing.
    explicit CaptureSource(const std::string& path);
    ~CaptureSource();
    CaptureSource(const CaptureSource&) = delete;
    CaptureSource& operator=(const CaptureSource&) = delete;

    /// The path, or "standard input".
    const std::string& name() const { return name_; }

    /// Puts the next bytes of the capture, decompressed, into `to`. Returns how many, 0 at the end.
    /// Throws Failure if the source cannot be read, or if its gzip data is damaged or ends early.
    /// Earlier calls have then returned all bytes that could be decompressed.
    std::size_t read(Bytes to);

private:
    struct Gzip;  // zlib's state

    std::size_t read_raw(Bytes to);
    std::size_t read_gzip(Bytes to);
    /// Big-endian. The result is 0 if there are fewer than two bytes. The bytes are read again
    /// later.
    std::uint16_t first_two_bytes();
    [[noreturn]] void fail(const std::string& why) const;

    std::string name_;
    Descriptor opened_;  // not standard input
    int file_ = -1;
    bool started_ = false;
    std::vector<std::byte> input_;  // bytes read; from input_at_ on not used yet
    std::size_t input_at_ = 0;
    std::unique_ptr<Gzip> gzip_;
};

}  // namespace wireproof::cli
