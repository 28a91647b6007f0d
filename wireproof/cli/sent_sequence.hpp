// The PSNs of one direction of a connection as its sender uses them: whatever became of a packet,
// its number says whether it left before.
#pragma once

#include <cstddef>
#include <optional>

#include "wireproof/proto/ib/packet.hpp"

namespace wireproof::cli {

class SentSequence {
public:
    /// Whether a request is sent again: true once for each going back, at its first packet.
    bool goes_back(const ib::Packet& request, std::size_t path_mtu) {
        const ib::Psn psn = request.bth().psn;
        const ib::Psn behind = ib::wire_circle.advance(psn, numbers_of(request, path_mtu));
        const bool known = next_ && ib::difference(psn, *next_) < 0;
        const bool continues = follows_ && psn == *follows_;
        follows_ = behind;
        if (!next_ || ib::difference(behind, *next_) > 0) next_ = behind;
        return known && !continues;
    }

private:
    /// A Read's request takes the numbers of its responses.
    static std::uint64_t numbers_of(const ib::Packet& request, std::size_t path_mtu) {
        if (request.opcode->verb != ib::Verb::read_request) return 1;
        return ib::packets_of(request.headers.reth.length, path_mtu);
    }

    std::optional<ib::Psn> next_;     // behind all that ever left
    std::optional<ib::Psn> follows_;  // behind the last one
};

}  // namespace wireproof::cli
