// Transfers whose bytes leave on one channel: stores on the request channel, gets of the peer on
// the reply channel. The class cuts them into chunks and decides which transfer sends next.
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
        Reason reason = Reason::none;  // set if the peer refused it: the peer drops its bytes
        bool reported = false;         // while a session ends: reported as of unknown fate

        /// Without the bytes, because they are borrowed, and without in_flight, because the send
        /// window has these chunks.
        void fingerprint(Fingerprint& sink) const;
    };

    BulkSender(const Config& config, std::uint32_t places)
        : BulkSender(config, std::vector<Transfer>(places)) {}
    BulkSender(const Config& config, std::vector<Transfer> transfers);
    /// Only while no transfer is active.
    void exchange(std::vector<Transfer>& transfers);

    /// A place in which a transfer can begin, if one is free.
    std::optional<std::uint32_t> free_place() const;
    void begin(std::uint32_t place, Transfer transfer);
    void end(std::uint32_t place) {
        transfers_[place] = {};
        --active_;
    }
    /// Active transfers.
    std::uint32_t active() const { return active_; }

    /// Puts all chunks into the window that may leave now. If the next chunk does not fit, the
    /// sender waits(), and no other message may take its room (AM-45).
    void admit(SendWindow& window);
    bool waits() const { return waits_; }

    /// The peer has acknowledged a chunk of this many bytes. True: it was the transfer's last
    /// chunk.
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
    std::uint32_t uncut_ = 0;   // transfers with bytes that are in no chunk yet
    std::uint32_t latest_ = 0;  // place taken last; the search for a free one begins after it
    std::uint32_t turn_ = 0;
    bool waits_ = false;
};

}  // namespace wireproof::am
