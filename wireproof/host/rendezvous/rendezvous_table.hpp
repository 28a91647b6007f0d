// The state of a rendezvous. In an exchange, each rank of a job puts one entry, some bytes, and
// gets the entries of all ranks when all have arrived. Then the next exchange begins. This part has
// no socket and no clock. The caller numbers the connections and tells what happens on them; the
// table says what to send. Each connection gets one reply, and is then closed. A refused connection
// does not change what others get.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/instant.hpp"
#include "wireproof/host/rendezvous/rendezvous_text.hpp"

namespace wireproof::host {

class RendezvousTable {
public:
    /// A connection must have sent its entry by this time after it was opened, and must take its
    /// answer within it. A rank may get no processor for a while, or have a slow link.
    static constexpr Duration patience = Duration::milliseconds(120'000);
    /// So many more connections than ranks may be open without a complete entry. If one more is
    /// opened, the oldest of them is refused.
    static constexpr std::size_t strangers_max = 64;

    struct Config {
        std::uint32_t size = 0;  // ranks, 1 to rendezvous_ranks_max
        std::string token;       // a word without spaces; a connection without it is refused
    };
    explicit RendezvousTable(Config config);

    using Connection = std::uint64_t;
    /// The caller never uses the number of a connection again.
    void on_open(Connection connection, Instant now);
    /// Bytes in the order in which they arrived. Bytes behind an entry are ignored.
    void on_bytes(Connection connection, ConstBytes bytes);
    /// The peer closed the connection. If its entry waits for others, it is taken out, so that the
    /// rank can try again.
    void on_close(Connection connection);
    void on_deadline(Instant now);
    Instant next_deadline() const;
    /// The process of this rank has ended. Ranks that wait for it now or later are refused. They
    /// would wait for ever.
    void on_rank_ended(std::uint32_t rank);

    /// Bytes to send. The connection is then to be closed, and the table has forgotten it.
    struct Reply {
        Connection to = 0;
        std::shared_ptr<const std::string> bytes;  // the same for all ranks
    };
    std::optional<Reply> next_reply();

    /// How many exchanges are complete.
    std::uint32_t exchanges() const { return exchange_; }

private:
    struct Unfinished {
        Instant deadline;
        std::string text;
    };
    struct Arrived {
        Connection connection = 0;
        std::string entry;
    };

    void read(Connection connection, const std::string& text);
    void admit(Connection connection, const RendezvousRequest& request, std::string_view entry);
    std::string why_refused(const RendezvousRequest& request) const;
    void finish();
    void refuse(Connection connection, std::string_view reason);

    Config config_;
    std::map<Connection, Unfinished> unfinished_;  // the oldest has the smallest number
    std::map<std::uint32_t, Arrived> arrived_;     // by rank, until all are there
    std::uint32_t exchange_ = 0;
    std::string failure_;  // not empty: a rank has ended, so the job cannot be complete
    std::deque<Reply> replies_;
};

}  // namespace wireproof::host
