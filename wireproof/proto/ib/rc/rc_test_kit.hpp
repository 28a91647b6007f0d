// For tests of RC: a connected pair, and answers that a test makes.
#pragma once

#include <functional>

#include "wireproof/proto/ib/port/port_test_kit.hpp"

namespace wireproof::proto::ib::test {

inline PairSettings rc_settings(const QueuePairChange& connection = {}) {
    return {.transport = Transport::rc, .connection = connection};
}

/// An acknowledgement or NAK for end `a`.
inline PacketBytes answer(std::uint32_t psn, Syndrome syndrome, std::uint32_t msn = 0) {
    Headers headers;
    headers.bth.opcode = opcode_of(Transport::rc, Operation::acknowledge);
    headers.bth.dest_qp = 0x100;
    headers.bth.psn = Psn(psn);
    headers.aeth = {syndrome, Msn(msn)};
    return encoded(headers, std::span<const ConstBytes>());
}
inline PacketBytes ack(std::uint32_t psn) {
    return answer(psn, Syndrome{});
}
inline PacketBytes nak(std::uint32_t psn, NakCode code = NakCode::sequence_error) {
    return answer(psn, Syndrome::nak(code));
}
inline PacketBytes rnr_nak(std::uint32_t psn, std::uint8_t timer = 1) {
    return answer(psn, Syndrome::rnr_nak(timer));
}

inline PacketBytes with_bth(PacketBytes packet, const std::function<void(Bth&)>& change) {
    Bth bth = Bth::decode(std::span<const std::byte>(packet).first<Bth::size>());
    change(bth);
    bth.encode(std::span(packet).first<Bth::size>());
    return packet;
}

inline Packet decoded(const PacketBytes& packet) {
    return Packet::decode({.bytes = packet}).value();
}
/// "ACK 000001/2": the name with the MSN.
inline std::string name_with_msn(const PacketBytes& packet) {
    return name(packet) + "/" + std::to_string(decoded(packet).headers.aeth.msn.value());
}
inline Names names_with_msn(const std::vector<PacketBytes>& packets) {
    Names names;
    for (const PacketBytes& packet : packets) names.push_back(name_with_msn(packet));
    return names;
}

/// Timeout code 4.
inline constexpr Duration rto = Duration::nanoseconds(4096 * 16);

class RcPair : public Pair {
public:
    explicit RcPair(const QueuePairChange& connection = {}) : Pair(rc_settings(connection)) {}
    explicit RcPair(const PairSettings& settings) : Pair(settings) {}

    /// Reads from b's memory at 0x4000 into a's memory at 0x2000. Returns the id.
    std::uint64_t read(std::size_t length, std::uint64_t offset = 0) {
        const WorkTerms terms{.id = ++posted,
                              .request = Request::read,
                              .remote_address = End::base + 0x4000 + offset,
                              .remote_key = b.key};
        EXPECT_EQ(a.post(terms, a.piece(0x2000 + offset, length)), PostStatus::accepted);
        return posted;
    }
    /// An Atomic on the word at 0x6000 of b. The result goes to 0x3000 of a.
    std::uint64_t atomic(Request request, std::uint64_t swap_or_add, std::uint64_t compare = 0) {
        const WorkTerms terms{.id = ++posted,
                              .request = request,
                              .remote_address = End::base + 0x6000,
                              .remote_key = b.key,
                              .compare = compare,
                              .swap_or_add = swap_or_add};
        EXPECT_EQ(a.post(terms, a.piece(0x3000, 8)), PostStatus::accepted);
        return posted;
    }
    static std::uint64_t word(const End& end, std::size_t offset) {
        std::uint64_t word = 0;
        std::memcpy(&word, end.memory.data() + offset, sizeof word);
        return word;
    }
    std::uint64_t target() const { return word(b, 0x6000); }
    std::uint64_t result() const { return word(a, 0x3000); }

    std::vector<PacketBytes> a_leaving() { return a.leaving(now); }
    Names b_says() { return names_with_msn(b.leaving(now)); }
};

}  // namespace wireproof::proto::ib::test
