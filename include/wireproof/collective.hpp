// Barrier, broadcast, all-reduce and all-to-all among the nodes of a job of SP Active Messages. A
// Team is made on an am::Endpoint, and uses its messages. For more than these four operations, use
// MPI. This header includes only the standard library and other public headers of Wireproof.
//
//     auto team = Team::create(endpoint, 9);  // first, at each node; then:
//     double total = own_part;
//     const Status status = team->all_reduce(std::span(&total, 1), Reduction::sum);
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>

#include "wireproof/am.hpp"

namespace wireproof::am {

/// How Team::all_reduce() combines two elements. Sums of integers wrap around. If one of two
/// elements is not a number (NaN), or if both are equal, min and max give the element of the higher
/// rank.
enum class Reduction : std::uint8_t { sum, min, max };

/// The types of elements that Team::all_reduce() can combine.
template <class T>
concept Reducible = std::same_as<T, float> || std::same_as<T, double> ||
    std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t> ||
    std::same_as<T, std::uint32_t> || std::same_as<T, std::uint64_t>;

/// All nodes of a job, for collective operations. The rank of a node is its number. The number of
/// ranks need not be a power of two; it may be 1.
///
/// Calls: all ranks must call the same operations, in the same order, with the same sizes, roots,
/// element types and reductions. At most one Team is made on an Endpoint, and each rank makes its
/// Team before it makes a call that polls (see Endpoint). Otherwise messages of other ranks may
/// arrive too early, and the operation ends there with no_handler.
///
/// Forms: a blocking call polls until its operation has ended here. A call whose name begins with
/// `start` returns a Request at once. Each poll of the Endpoint then continues the operation, in
/// any call that polls: Endpoint::poll(), Endpoint::wait() or a blocking call of the Team. Several
/// operations may be outstanding. They may end in another order than they began.
///
/// Memory: the caller lends the memory of an operation to the Team until the operation has ended
/// here. Blocking calls lend it until they return. For each message that arrives, the Team takes
/// as much memory as the message has bytes, until the operation has used it. A message of at most
/// 16 KiB may arrive before this rank has begun its operation; a longer one waits at its sender. A
/// rank does not run ahead of another by more than 32 operations: it waits. So this rank keeps at
/// most 512 KiB of each other rank for operations that it has not begun.
///
/// An operation has ended here when this rank has its result and each of its messages is queued
/// (see Endpoint::request). The other ranks may still wait for these messages. So a program calls
/// Endpoint::close() before it ends. On shared memory, close() returns peer_lost if another rank
/// ends meanwhile. If all operations of that rank have ended, it still has all their messages.
///
/// Results: ok, or one of these. If the result is not ok, the memory that the operation writes may
/// hold anything.
/// - peer_lost: a rank was lost (see "Sessions" at Endpoint), and this rank needed a message that
///   did not come any more. A rank that was lost once stays lost for this Team.
/// - not_allowed: the ranks did not call the same operation, or not with the same sizes, root,
///   element type and reduction. Ranks that notice no difference may wait until another rank ends.
///   The calls below name other reasons, which end nothing.
/// - no_handler: a rank has no Team, or its Team has another handler number.
/// - no_such_peer: the address of a rank is not known (see Endpoint::set_peer_address).
/// - closed: the Endpoint was closed, or the Team was destroyed.
/// After an operation has failed at a rank, this rank takes no part in later operations: they end
/// with the same result. The Team tells the other ranks. An operation there ends with this result
/// if it still needs a message of this rank. Otherwise it ends with ok.
///
/// While an operation is outstanding, the Endpoint asks silent peers for signs of life, as in
/// Endpoint::wait(). A rank that has never sent to this one is asked as soon as this rank waits for
/// it. A rank that does not answer within Options::peer_timeout is lost, so each rank must poll at
/// least this often while others wait.
///
/// Algorithms: the barrier is the dissemination barrier (Hensgen, Finkel and Manber 1988), with
/// ceil(log2(n)) rounds for n ranks. The broadcast uses a binomial tree. The all-reduce uses
/// recursive doubling (Thakur, Rabenseifner and Gropp 2005). In the all-to-all, each rank sends to
/// each other rank directly.
///
/// Threads, handlers, exceptions: as for Endpoint. The calls of the Team count as calls of the
/// Endpoint. A blocking call throws what a handler or callback throws that runs inside it; the
/// operation then continues, and its memory stays lent until it has ended. A move of the Endpoint
/// does not matter to the Team. All hosts of a job must have the same byte order.
class WIREPROOF_EXPORT Team {
public:
    /// Makes the Team of all nodes of `endpoint`. The Team uses the handler number `handler` for
    /// its messages, the same at all ranks; the program must not use it. Failure: `handler` is 0,
    /// the Endpoint is closed, a Team was made on it before, its messages are too short (below 32
    /// bytes), or the call is made inside a handler.
    [[nodiscard]] static Result<Team> create(Endpoint& endpoint, std::uint16_t handler);

    Team(Team&&) noexcept;
    Team& operator=(Team&&) noexcept;
    /// Ends the outstanding operations with `closed`. Other ranks may then end theirs with
    /// no_handler.
    ~Team();

    /// The number of this rank, and how many ranks there are. 0: the Team was moved from.
    [[nodiscard]] std::size_t rank() const;
    [[nodiscard]] std::size_t ranks() const;

    /// An outstanding or ended operation. The object may be copied and destroyed at any time: the
    /// operation continues. It may outlive the Team and the Endpoint.
    class WIREPROOF_EXPORT Request {
    public:
        Request(const Request&) = default;
        Request& operator=(const Request&) = default;
        /// True: the operation has ended here.
        [[nodiscard]] bool done() const;
        /// The result, or would_block while the operation is outstanding.
        [[nodiscard]] Status status() const;
        /// Polls once if the operation is outstanding. Then returns done().
        bool test();
        /// Blocks until the operation has ended, at most for `limit`, and returns the result.
        /// timed_out: `limit` passed first; the operation is still outstanding. Inside a handler or
        /// callback it does not block, and may return would_block.
        Status wait(std::chrono::milliseconds limit = std::chrono::hours(24));

    private:
        friend class Team;
        struct WIREPROOF_HIDDEN State;
        explicit Request(std::shared_ptr<State> state);
        std::shared_ptr<State> state_;
    };

    // A blocking call returns not_allowed inside a handler or callback, and the operation then does
    // not begin. A `start` call may be made there.

    /// Ends after all ranks have begun it.
    Status barrier();
    Request start_barrier();

    /// Copies the bytes of rank `root` to `bytes` of all other ranks. The size is the same at all
    /// ranks; it may be 0. no_such_peer: no rank has the number `root`.
    Status broadcast(std::span<std::byte> bytes, std::size_t root);
    Request start_broadcast(std::span<std::byte> bytes, std::size_t root);

    /// Combines the elements with the same index of all ranks, and writes the results to `values`
    /// at each rank. `values` is a contiguous range of elements, of the same length at all ranks;
    /// for one variable it is std::span(&variable, 1).
    ///
    /// All ranks get the same results, bit for bit, and the same program gets them again: only the
    /// number of ranks decides the order. The elements are combined in the order of ranks. For 4
    /// ranks a sum is (r0 + r1) + (r2 + r3). For 6 ranks it is ((r0 + r1) + (r2 + r3)) + (r4 + r5):
    /// the first ranks are added in pairs until a power of two of terms is left.
    template <std::ranges::contiguous_range Values>
    requires Reducible<std::ranges::range_value_t<Values>> Status all_reduce(Values&& values,
                                                                             Reduction reduction) {
        const std::span of(values);
        return reduce(std::as_writable_bytes(of), kind_of<std::ranges::range_value_t<Values>>(),
                      reduction);
    }
    template <std::ranges::contiguous_range Values>
    requires Reducible<std::ranges::range_value_t<Values>> Request
    start_all_reduce(Values&& values, Reduction reduction) {
        const std::span of(values);
        return start_reduce(std::as_writable_bytes(of),
                            kind_of<std::ranges::range_value_t<Values>>(), reduction);
    }

    /// Sends block i of `source` to rank i. Block i of `destination` is the block that rank i sent
    /// to this rank. Each has ranks() blocks of one size, the same at all ranks; the size may be 0.
    /// They must not overlap. not_allowed: the two sizes are not equal, or no multiple of ranks().
    Status all_to_all(std::span<const std::byte> source, std::span<std::byte> destination);
    Request start_all_to_all(std::span<const std::byte> source, std::span<std::byte> destination);

private:
    struct WIREPROOF_HIDDEN Inside;
    enum class Kind : std::uint8_t { float32 = 1, float64, int32, int64, uint32, uint64 };
    template <Reducible T>
    static constexpr Kind kind_of() {
        if constexpr (std::is_floating_point_v<T>) {
            return sizeof(T) == 4 ? Kind::float32 : Kind::float64;
        } else if constexpr (std::is_signed_v<T>) {
            return sizeof(T) == 4 ? Kind::int32 : Kind::int64;
        } else {
            return sizeof(T) == 4 ? Kind::uint32 : Kind::uint64;
        }
    }
    explicit Team(std::shared_ptr<Inside> inside);
    Status reduce(std::span<std::byte> bytes, Kind kind, Reduction reduction);
    Request start_reduce(std::span<std::byte> bytes, Kind kind, Reduction reduction);
    template <class Begin>
    Request begin(Begin&& operation);
    template <class Start>
    Status block(Start&& start);
    std::shared_ptr<Inside> inside_;
};

}  // namespace wireproof::am
