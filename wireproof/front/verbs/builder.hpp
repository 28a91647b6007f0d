// Work requests that are built call by call (ibv_wr_start … ibv_wr_complete) and posted together.
#pragma once

#include <mutex>
#include <vector>

#include "wireproof/front/verbs/api.hpp"

namespace wireproof::verbs {

/// Of one queue pair. Locked from start to complete or abort, as ibv_wr_start(3) has it.
class Builder {
public:
    /// The operations of these flags (ibv_qp_create_send_ops_flags) and what sets their data up.
    static void offer(ibv_qp_ex& pair, std::uint64_t operations);
    /// What queue pairs of this type can be asked for.
    static std::uint64_t operations_of(ibv_qp_type type);

    void start();
    /// Begins the next request.
    ibv_send_wr& add(const ibv_qp_ex& pair, ibv_wr_opcode opcode);
    /// The request that was begun last; one that goes nowhere, if there is none.
    ibv_send_wr& last();
    void set_pieces(const ibv_sge* pieces, std::size_t count);
    void set_inline(const ibv_data_buf* parts, std::size_t count);
    /// The first error is what complete() returns, and nothing is posted then.
    void fail(int error) {
        if (error_ == 0) error_ = error;
    }
    int complete(ibv_qp_ex& pair);
    void abort();

private:
    struct Data {
        std::size_t first = 0;  // piece, or byte of inline data
        std::size_t count = 0;
        bool inlined = false;
    };

    /// Points each request at its pieces, now that their places are final.
    void join();

    std::mutex lock_;
    int error_ = 0;
    std::vector<ibv_send_wr> requests_;
    std::vector<Data> data_;  // of each request
    std::vector<ibv_sge> pieces_;
    std::vector<char> inline_bytes_;
    std::vector<ibv_sge> inline_pieces_;
    ibv_send_wr nowhere_{};
};

}  // namespace wireproof::verbs
