// Credits of one kind of TLP, on both sides. Counters wrap at the width of their field, 8 bits for
// headers and 12 for data. Only the distance between two counters has a meaning.
#pragma once

#include <array>

#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/pcie/config.hpp"

namespace wireproof::pcie {

/// A counter of `bits` bits, and its comparison with another.
class CreditCounter {
public:
    explicit CreditCounter(unsigned bits, std::uint32_t start = 0)
        : mask_((1U << bits) - 1), value_(start & mask_) {}

    std::uint32_t value() const { return value_; }
    void advance(std::uint32_t steps) { value_ = (value_ + steps) & mask_; }
    /// The distance by which this counter is ahead of the other, modulo 2^bits.
    std::uint32_t ahead_of(std::uint32_t other) const { return (value_ - other) & mask_; }
    /// Half of the circle. A counter that is ahead by more counts as behind.
    std::uint32_t half() const { return (mask_ + 1) / 2; }
    void set(std::uint32_t value) { value_ = value & mask_; }

private:
    std::uint32_t mask_;
    std::uint32_t value_;
};

/// The sender's side: what the peer permits.
class CreditGate {
public:
    void reset() { *this = CreditGate(); }

    /// Applies an InitFC. 0 means infinite.
    void start(Credits advertised);
    /// Applies an UpdateFC. A stale one never lowers the limit.
    void update(Credits limit);

    bool allows(Credits need) const;
    void consume(Credits need);
    Credits consumed() const { return {headers_used_.value(), data_used_.value()}; }

    void fingerprint(Fingerprint& sink) const;

private:
    CreditCounter header_limit_{8};
    CreditCounter data_limit_{12};
    CreditCounter headers_used_{8};
    CreditCounter data_used_{12};
    bool headers_infinite_ = true;
    bool data_infinite_ = true;
};

/// The receiver's side: what this end permits. Room is free again as soon as a TLP is accepted,
/// because the caller takes the message at once.
class CreditGrant {
public:
    CreditGrant() = default;
    explicit CreditGrant(Credits advertised);

    Credits advertised() const { return advertised_; }
    bool infinite() const { return advertised_.headers == 0 && advertised_.data == 0; }

    /// Counts an accepted TLP. True: an UpdateFC should leave now.
    bool take(Credits need);
    /// The values for an UpdateFC; fields of infinite credits are 0. Also records that the peer was
    /// told.
    Credits tell();

    void fingerprint(Fingerprint& sink) const;

private:
    Credits advertised_;
    CreditCounter headers_{8};
    CreditCounter data_{12};
    Credits untold_;
};

}  // namespace wireproof::pcie
