// Transfers whose bytes leave on one channel: stores on the request channel, served gets on the
// reply channel. Cuts them into chunks and decides whose turn it is.
#pragma once

#include <cstdint>
#include <vector>

#include "wireproof/proto/am/config.hpp"
#include "wireproof/proto/am/delivery.hpp"
#include "wireproof/proto/am/send/send_window.hpp"

namespace wireproof::am {

class BulkSender {
public:
    struct Transfer {
        bool active = false;
        std::uint32_t id = 0;    // as on the wire
        ConstBytes bytes;        // lent until the transfer ends
        std::uint64_t next = 0;  // offset of the first byte not yet in a chunk
        std::uint64_t acknowledged = 0;
        std::uint32_t in_flight = 0;  // chunks
        std::uint64_t tag = 0;
        HandlerId handler{};
        Reason reason = Reason::none;  // the peer refused it: its bytes go to nobody
        bool reported = false;         // as of unknown fate, while a session ends

        /// Not the bytes: they are lent. Nor the chunks in flight: the send window has them.
        void fingerprint(Fingerprint& sink) const;
    };

    BulkSender(const Config& config, std::uint32_t places)
        : BulkSender(config, std::vector<Transfer>(places)) {}
    BulkSender(const Config& config, std::vector<Transfer> transfers);
    /// While no transfer is under way.
    void exchange(std::vector<Transfer>& transfers);

    /// A place to begin a transfer in, or nothing.
    std::optional<std::uint32_t> free_place() const;
    void begin(std::uint32_t place, Transfer transfer);
    void end(std::uint32_t place) {
        transfers_[place] = {};
        --active_;
    }
    /// Transfers under way.
    std::uint32_t active() const { return active_; }

    /// Puts into the window all chunks that may leave now. When a chunk whose turn has come does
    /// not fit, it `waits`, and nothing else may take its room (AM-45).
    void admit(SendWindow& window);
    bool waits() const { return waits_; }

    /// A chunk of that many bytes was acknowledged. True: it was the transfer's last.
    bool on_chunk_acked(std::uint32_t place, std::size_t bytes);

    std::vector<Transfer>& transfers() { return transfers_; }
    const std::vector<Transfer>& transfers() const { return transfers_; }

    void reset();
    void fingerprint(Fingerprint& sink) const;

private:
    void begin_at_first();
    std::optional<std::uint32_t> next_turn() const;
    std::uint32_t after(std::uint32_t place) const {
        return place + 1 == transfers_.size() ? 0 : place + 1;
    }

    std::size_t data_max_;
    std::size_t chunk_bytes_;
    std::uint32_t in_flight_max_;
    std::vector<Transfer> transfers_;
    std::uint32_t active_ = 0;
    std::uint32_t uncut_ = 0;   // of which some bytes are in no chunk yet
    std::uint32_t latest_ = 0;  // the place taken last: the next is free as long as few are taken
    std::uint32_t turn_ = 0;
    bool waits_ = false;
};

}  // namespace wireproof::am
