// Where a capture comes from: a file, a pipe or standard input, plain or compressed by gzip.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "wireproof/base/bytes.hpp"

namespace wireproof::cli {

class CaptureSource {
public:
    /// `path`, or standard input for "-". Throws Failure with one line if it cannot be opened. A
    /// FIFO is waited for until somebody writes to it.
    explicit CaptureSource(const std::string& path);
    ~CaptureSource();
    CaptureSource(const CaptureSource&) = delete;
    CaptureSource& operator=(const CaptureSource&) = delete;

    /// What to call it: its path, or "standard input".
    const std::string& name() const { return name_; }

    /// Puts the next bytes of the capture, decompressed, into `to` and returns how many, 0 at the
    /// end. Throws Failure if it cannot be read, or if its gzip data is damaged or ends early; all
    /// that could be decompressed was given before.
    std::size_t read(Bytes to);

private:
    struct Gzip;  // zlib's state

    std::size_t read_raw(Bytes to);
    std::size_t read_gzip(Bytes to);
    /// Big-endian, 0 if there are not as many; they are read again later.
    std::uint16_t first_two_bytes();
    [[noreturn]] void fail(const std::string& why) const;

    std::string name_;
    int file_ = -1;
    bool owned_ = false;
    bool started_ = false;
    std::vector<std::byte> input_;  // read, and from input_at_ on not yet used
    std::size_t input_at_ = 0;
    std::unique_ptr<Gzip> gzip_;
};

}  // namespace wireproof::cli
