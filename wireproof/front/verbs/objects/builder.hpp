// Work requests that a program builds call by call (ibv_wr_start … ibv_wr_complete) and posts
// together.
#pragma once

#include <mutex>
#include <vector>

#include "wireproof/front/verbs/abi/api.hpp"

namespace wireproof::verbs {

/// The builder of one queue pair. It is locked from start() to complete() or abort(), as
/// ibv_wr_start(3) requires.
class Builder {
public:
    /// Fills in the functions for these operations (ibv_qp_create_send_ops_flags), and the
    /// functions that set the data of a request.
    static void offer(ibv_qp_ex& pair, std::uint64_t operations);
    /// The operations that queue pairs of this type support.
    static std::uint64_t operations_of(ibv_qp_type type);

    void start();
    /// Begins the next request.
    ibv_send_wr& add(const ibv_qp_ex& pair, ibv_wr_opcode opcode);
    /// The request that the program began last. If there is none, the result is a request that is
    /// never posted.
    ibv_send_wr& last();
    void set_pieces(const ibv_sge* pieces, std::size_t count);
    void set_inline(const ibv_data_buf* parts, std::size_t count);
    /// complete() returns the first error, and then posts nothing.
    void fail(int error) {
        if (error_ == 0) error_ = error;
    }
    int complete(ibv_qp_ex& pair);
    void abort();

private:
    struct Data {
        std::size_t first = 0;  // index of the first piece or inline byte
        std::size_t count = 0;
        bool inlined = false;
    };

    /// Points each request at its pieces. Call it after the last piece: then the pieces no longer
    /// move.
    void join();

    std::mutex lock_;
    int error_ = 0;
    std::vector<ibv_send_wr> requests_;
    std::vector<Data> data_;  // one for each request
    std::vector<ibv_sge> pieces_;
    std::vector<char> inline_bytes_;
    std::vector<ibv_sge> inline_pieces_;
    ibv_send_wr nowhere_{};
};

}  // namespace wireproof::verbs
