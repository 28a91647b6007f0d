// What each side of a file transfer has: over active messages, over a link and over queue pairs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/base/bytes.hpp"
#include "wireproof/base/instant.hpp"

namespace wireproof::app {

/// How long a side of a transfer that is done or has failed waits until the other side knows.
inline constexpr Duration linger = Duration::milliseconds(1'000);

/// The end of a transfer, as one side sees it.
struct TransferEnd {
    bool verified = false;
    std::string failure;     // one line; empty: none
    std::string cause = {};  // for a silent peer: the message of the kernel; empty: none
};

class TransferSide {
public:
    TransferSide(const TransferSide&) = delete;
    TransferSide& operator=(const TransferSide&) = delete;

    const std::optional<TransferEnd>& end() const { return end_; }
    Duration duration() const { return begun_ ? finished_.value_or(now_) - started_ : Duration(); }

protected:
    TransferSide() = default;
    ~TransferSide() = default;

    /// Sends FAILED with this line.
    virtual void tell_failed(const std::string& why) = 0;

    /// The first end counts.
    void end_with(TransferEnd end);
    void end_as(bool verified, const char* wrong);
    void fail(const std::string& why);
    /// The other side has sent FAILED with this line.
    void other_failed(const char* who, ConstBytes line);
    /// False: `act` threw a Failure, so this side fails.
    template <class Act>
    bool attempt(Act&& act) {
        try {
            act();
            return true;
        } catch (const Failure& failure) {
            fail(failure.what());
            return false;
        }
    }
    /// True: the end has come since the last call. It may have come from a handler, which does not
    /// know the time.
    bool finish_at(Instant now);

    bool begun_ = false;
    Instant now_;
    Instant started_;
    std::optional<Instant> finished_;
    std::optional<TransferEnd> end_;
};

inline constexpr const char* wrong_digest = "the SHA-256 of the received file is wrong";

/// The kind of a message, which is its first byte, over a link and over queue pairs.
enum class TransferWord : std::uint8_t { begin = 1, ready, piece, end, verdict, bye, failed };

std::vector<std::byte> transfer_message(TransferWord what, ConstBytes body = {});
/// FAILED with the end of this line.
std::vector<std::byte> failed_message(const std::string& why, std::size_t longest);
std::array<std::byte, 8> eight_bytes(std::uint64_t value);

}  // namespace wireproof::app
