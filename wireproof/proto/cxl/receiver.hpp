// The receiving side: ESeq, the number of the flit that is expected, and NumAck, the
// acknowledgements that are owed. All flits that are counted have arrived in order.
#pragma once

#include "wireproof/proto/cxl/flit_timer.hpp"
#include "wireproof/proto/cxl/sender.hpp"

namespace wireproof::cxl {

class Receiver {
public:
    explicit Receiver(const Config& config);
    void reset();

    /// The peer's INIT.Param: its numbers go from 0 to `wrap`.
    void on_wrap(std::uint32_t wrap);
    /// A retryable flit was taken. `news`: it is not an LLCRD, so its acknowledgement must not wait
    /// for ever.
    void on_flit(Instant now, bool news);

    /// The acknowledgements for an LLCRD that must leave now; 0: none must.
    std::uint32_t forced_acks() const;
    /// A message can carry acknowledgements.
    bool has_ak() const { return num_ack_ >= acks_of_ak; }
    /// Acknowledgements have left for the first time, in an Ak bit or an LLCRD.
    void on_acks_sent(Instant now, std::uint32_t count);

    void count_flit() { flush_due_ = flush_.count() || flush_due_; }
    void on_deadline(Instant now) { flush_due_ = flush_.on_deadline(now) || flush_due_; }
    Instant deadline() const { return flush_.deadline(); }

    std::uint32_t eseq() const { return eseq_.value(); }
    std::uint32_t num_ack() const { return num_ack_; }
    std::uint64_t modulus() const { return circle_.modulus(); }

    void fingerprint(Instant now, Fingerprint& sink) const;

private:
    Config config_;
    Circle circle_;  // of the peer's numbers
    FlitNumber eseq_;
    std::uint32_t num_ack_ = 0;
    std::uint32_t news_owed_ = 0;  // acknowledgements up to that of the last flit with news
    std::uint32_t threshold_ = 0;
    FlitTimer flush_;
    bool flush_due_ = false;
};

}  // namespace wireproof::cxl
