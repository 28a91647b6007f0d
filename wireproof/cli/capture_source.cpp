#include "wireproof/cli/capture_source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "wireproof/app/common/interrupt.hpp"
#include "wireproof/cli/subcommands.hpp"

namespace wireproof::cli {
namespace {

constexpr std::size_t input_size = 64 << 10;
/// The first two bytes of a compressed file. No capture begins with them.
enum class Packing : std::uint16_t { gzip = 0x1F8B, xz = 0xFD37, zstd = 0x28B5, bzip2 = 0x425A };

}  // namespace

struct CaptureSource::Gzip {
    Gzip() { good = ::inflateInit2(&stream, 15 + 16) == Z_OK; }  // the largest window, gzip only
    ~Gzip() { ::inflateEnd(&stream); }
    Gzip(const Gzip&) = delete;
    Gzip& operator=(const Gzip&) = delete;

    z_stream stream{};
    bool good = false;
    bool between = false;  // a member has ended, and another may follow
    std::uint64_t given = 0;
};

CaptureSource::CaptureSource(const std::string& path) : name_(path) {
    if (path == "-") {
        name_ = "standard input";
        file_ = STDIN_FILENO;
        if (::isatty(file_) != 0) fail("it is a terminal");
    } else {
        do {
            app::check_interrupt();
            opened_ = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        } while (!opened_.is_open() && errno == EINTR);
        if (!opened_.is_open()) fail(std::strerror(errno));
        file_ = opened_.handle();
    }
    struct stat status {};
    if (::fstat(file_, &status) == 0 && S_ISDIR(status.st_mode)) fail("it is a directory");
}

CaptureSource::~CaptureSource() = default;

std::size_t CaptureSource::read(Bytes to) {
    if (!started_) {
        started_ = true;
        switch (static_cast<Packing>(first_two_bytes())) {
            case Packing::gzip:
                gzip_ = std::make_unique<Gzip>();
                if (!gzip_->good) fail("not enough memory to decompress it");
                break;
            case Packing::xz: fail("it is compressed by xz; pipe it through xz -dc");
            case Packing::zstd: fail("it is compressed by zstd; pipe it through zstd -dc");
            case Packing::bzip2: fail("it is compressed by bzip2; pipe it through bzip2 -dc");
        }
    }
    return gzip_ ? read_gzip(to) : read_raw(to);
}

std::uint16_t CaptureSource::first_two_bytes() {
    std::vector<std::byte> first(2);
    std::size_t size = 0;
    while (size < first.size()) {
        const std::size_t got = read_raw(Bytes(first).subspan(size));
        if (got == 0) break;
        size += got;
    }
    first.resize(size);
    input_ = first;
    if (size < 2) return 0;
    return static_cast<std::uint16_t>(std::to_integer<unsigned>(first[0]) << 8 |
                                      std::to_integer<unsigned>(first[1]));
}

std::size_t CaptureSource::read_raw(Bytes to) {
    if (input_at_ < input_.size()) {
        const std::size_t size = std::min(to.size(), input_.size() - input_at_);
        std::copy_n(input_.begin() + static_cast<std::ptrdiff_t>(input_at_), size, to.begin());
        input_at_ += size;
        return size;
    }
    while (true) {
        app::check_interrupt();
        const ssize_t got = ::read(file_, to.data(), to.size());
        if (got >= 0) return static_cast<std::size_t>(got);
        if (errno != EINTR) fail(std::strerror(errno));
    }
}

// A gzip file may have several members, one after the other, as `cat a.gz b.gz` makes it.
std::size_t CaptureSource::read_gzip(Bytes to) {
    Gzip& gzip = *gzip_;
    gzip.stream.next_out = reinterpret_cast<Bytef*>(to.data());
    gzip.stream.avail_out = static_cast<uInt>(std::min<std::size_t>(to.size(), input_size));
    const uInt room = gzip.stream.avail_out;
    while (gzip.stream.avail_out == room) {
        if (input_at_ == input_.size()) {
            input_.assign(input_size, std::byte{0});
            input_at_ = input_size;  // so that read_raw reads
            const std::size_t got = read_raw(input_);
            input_.resize(got);
            input_at_ = 0;
            if (got == 0 && gzip.between) return 0;
            if (got == 0) fail(fmt::format("its gzip data ends early, after {} bytes", gzip.given));
        }
        if (gzip.between) {
            gzip.between = false;
            ::inflateReset(&gzip.stream);
        }
        gzip.stream.next_in = reinterpret_cast<Bytef*>(input_.data() + input_at_);
        gzip.stream.avail_in = static_cast<uInt>(input_.size() - input_at_);
        const int result = ::inflate(&gzip.stream, Z_NO_FLUSH);
        input_at_ = input_.size() - gzip.stream.avail_in;
        const std::size_t made = room - gzip.stream.avail_out;
        if (result == Z_STREAM_END) {
            gzip.between = true;
        } else if (result != Z_OK && result != Z_BUF_ERROR && made == 0) {
            fail(fmt::format("its gzip data is damaged after {} bytes", gzip.given));
        }
    }
    const std::size_t made = room - gzip.stream.avail_out;
    gzip.given += made;
    return made;
}

void CaptureSource::fail(const std::string& why) const {
    throw app::Failure(fmt::format("cannot read {}: {}", name_, why));
}

}  // namespace wireproof::cli
