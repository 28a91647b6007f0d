// Wireproof for C, and for each language that can call C: Active Messages over a real network, and
// the laboratory. It is the same library as am.hpp and lab.hpp, and these two headers say more
// about the behaviour. This header compiles as C99 and as C++. Comments name a status without
// WIREPROOF_, and a function of an endpoint without wireproof_endpoint_.
//
// Structs: each struct begins with a member `size`, because later versions append members. The
// program sets up a struct of options with its init function, which fills in `size` and the
// defaults. In a struct of results, the program sets `size` to sizeof of the struct.
//
// - If `size` is less than the library knows, the other members have their defaults. The library
//   does not write them.
// - If `size` is more, the bytes of options that the library does not know must be 0. In results,
//   the library sets them to 0.
// - `size` is a multiple of sizeof(size_t), and at most 4096. Each other size is BAD_ARGUMENT.
//
// The library sets `size` in a struct that it passes to a handler or callback, to the bytes that it
// knows. `reserved` is 0.
//
// Errors: a function that can fail returns a wireproof_status. The text of an error on an endpoint
// is wireproof_endpoint_error(). A function without an endpoint has two last parameters for the
// text, `why` and `why_bytes`. If it fails, it writes one line and a 0 there, why_bytes bytes at
// most; a longer text is cut. 1024 bytes are enough for most texts. After a success the text is
// empty. `why` may be NULL. A NULL pointer to an endpoint or to a struct, and a NULL pointer to
// bytes that are not 0 bytes, is BAD_ARGUMENT, if no comment says otherwise. A function that
// returns no status treats NULL as a closed endpoint. Calls on a closed endpoint return CLOSED, and
// reply returns NOT_ALLOWED. NO_MEMORY: no memory is left. No C++ exception leaves a function.
//
// Threads: one thread at a time may call an endpoint. This need not be the thread that opened it.
// Different threads may use different endpoints at the same time. Any thread and any signal handler
// may call wireproof_endpoint_wake() while no thread frees the endpoint. The functions without an
// endpoint may be called by any thread. The library starts no thread.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "wireproof/version.h"

#if defined(__GNUC__)
#define WIREPROOF_C_EXPORT __attribute__((visibility("default")))
#else
#define WIREPROOF_C_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// The version of the library that runs: 10000 * major + 100 * minor + patch, as WIREPROOF_VERSION.
WIREPROOF_C_EXPORT uint32_t wireproof_version(void);
/// The same as text: "0.2.0". It lives as long as the program.
WIREPROOF_C_EXPORT const char* wireproof_version_text(void);

/// The result of a call: one of the numbers below, or one of a later version.
typedef int32_t wireproof_status;
enum {
    WIREPROOF_OK = 0,
    WIREPROOF_WOULD_BLOCK = 1,  // no room now, and nothing was queued: poll, then call again
    // The message is longer than message_max, and store has room for more; or the transfer is
    // longer than 2^62.
    WIREPROOF_TOO_LONG = 2,
    WIREPROOF_NOT_ALLOWED = 3,   // the call is not allowed here, or not with this argument
    WIREPROOF_NO_SUCH_PEER = 4,  // no peer has this number, or its address is not known yet
    WIREPROOF_PEER_LOST = 5,     // the session ended: nobody knows whether the message arrived
    WIREPROOF_NO_HANDLER = 6,    // the peer has no handler of this number, so no handler ran
    WIREPROOF_FORBIDDEN = 7,     // the peer did not register this memory, or not with this right
    WIREPROOF_CLOSED = 8,     // the endpoint is closed, or was closed before the transfer had ended
    WIREPROOF_TIMED_OUT = 9,  // the limit passed first
    WIREPROOF_FAILED = 10,    // the text of the error says why
    WIREPROOF_BAD_ARGUMENT = 11,   // NULL, a struct of a wrong size, or a value that has no meaning
    WIREPROOF_NO_MEMORY = 12,      // no memory is left
    WIREPROOF_HANDLER_THREW = 13,  // a handler or callback, written in C++, threw an exception
    WIREPROOF_CANCELLED = 14,      // the progress function stopped the simulation
    WIREPROOF_NOT_BUILT = 15       // the library was built without the laboratory
};
/// The name of a status: "would_block"; "unknown" for other numbers. It lives as long as the
/// program.
WIREPROOF_C_EXPORT const char* wireproof_status_name(wireproof_status status);

// ---- Endpoints ----

/// One node of a job. A peer is another node; its number is its index in `peers`, or its rank.
///
/// Handlers and callbacks run in the thread of the caller, inside poll, wait, store, get, flush,
/// close and request, and callbacks also inside free. They must return: they must not call longjmp.
/// Inside one, store, get, flush, wait, close and free return WIREPROOF_NOT_ALLOWED and poll does
/// nothing. Inside a handler, but not inside a callback, so do request, store_async and get_async.
///
/// If a handler or callback that is written in C++ throws, the exception ends there and the call
/// goes on. The poll or wait in progress, or else the next one, returns WIREPROOF_HANDLER_THREW
/// once and has the text of the first such exception.
///
/// The library keeps `user` until the function is replaced or removed, or the endpoint is closed.
/// It only passes `user` on.
///
/// After a fork the endpoint is closed in the child. The child may free it: no callback runs then.
typedef struct wireproof_endpoint wireproof_endpoint;

/// Congestion control: to which peers, and how it decides. am_values.hpp has the details.
enum {
    WIREPROOF_CONGESTION_BETWEEN_HOSTS = 0,
    WIREPROOF_CONGESTION_ALWAYS = 1,
    WIREPROOF_CONGESTION_NEVER = 2
};
enum { WIREPROOF_CONGESTION_BY_LOSS = 0, WIREPROOF_CONGESTION_BY_PATH = 1 };

/// The options of open and join. Options in am_values.hpp has the details of each. The value after
/// "Default" is that of wireproof_options_init(); it is 0 where none stands.
typedef struct wireproof_options {
    size_t size;
    /// The address of each node, this node included: "address:port", or "shm:NAME" for all. NULL or
    /// "" is a peer whose address is not known yet. The library copies the texts.
    const char* const* peers;
    size_t nodes;                   // how many texts `peers` has, at most 65,536
    size_t self;                    // the number of this node
    uint64_t job;                   // the same in all nodes
    size_t mtu;                     // bytes of the longest IP packet. Default 1500
    uint64_t peer_timeout_ms;       // 1 to 86,400,000 of silence. Default 10,000
    uint32_t congestion_control;    // Default BETWEEN_HOSTS
    uint32_t congestion_algorithm;  // Default BY_PATH
    uint32_t trust_payload;         // 1: the bytes of stores and gets have no CRC-32C
    uint32_t reserved;
    size_t active_peers;  // to how many peers this node may send at once. Default 256
    uint64_t seed;        // of the random numbers; 0: the system chooses it
    // For tests: the probability that a frame is lost, leaves twice, or leaves after later ones,
    // and that a bit is inverted: 0 to 1.
    double fault_loss;
    double fault_bit_error;
    double fault_duplicate;
    double fault_reorder;
    uint32_t publish_counters;  // 0: other processes cannot read the counters. Default 1
    uint32_t reserved_2;
} wireproof_options;
/// Sets all `size` bytes: the member `size`, the defaults, and 0 for what the library does not
/// know. BAD_ARGUMENT: NULL, or a wrong size.
WIREPROOF_C_EXPORT wireproof_status wireproof_options_init(wireproof_options* options, size_t size);

/// Opens the node `self` at its address and sets *endpoint; NULL if it fails. It does not wait for
/// peers. The caller must free the endpoint. FAILED: an option is wrong, or the system refused.
WIREPROOF_C_EXPORT wireproof_status wireproof_endpoint_open(const wireproof_options* options,
                                                            wireproof_endpoint** endpoint,
                                                            char* why, size_t why_bytes);
/// Opens this process as a node of the job that a launcher started (docs/guide/messages/jobs.md).
/// Options must not set `peers`, `self` or `job`; NULL are the defaults. `endpoints` has room for
/// `threads` handles: thread t of rank r is node r * threads + t. It blocks until all processes
/// have called it, at most for limit_ms. A process calls it once. If it fails, it sets all handles
/// to NULL.
WIREPROOF_C_EXPORT wireproof_status wireproof_endpoint_join(const wireproof_options* options,
                                                            int64_t limit_ms, size_t threads,
                                                            wireproof_endpoint** endpoints,
                                                            char* why, size_t why_bytes);
// A limit in milliseconds is 0 to 30 days. Below 0 it counts as 30 days, and so does a longer one.

/// Does what leave does, at most for limit_ms, and closes the endpoint. OK: the peers have
/// acknowledged all messages. PEER_LOST, TIMED_OUT: messages may be lost; it is closed, too. The
/// `done` of each transfer that has not ended gets WIREPROOF_CLOSED. The handle must still be
/// freed.
WIREPROOF_C_EXPORT wireproof_status wireproof_endpoint_close(wireproof_endpoint* endpoint,
                                                             int64_t limit_ms);
/// Ends the node without waiting, if it is open, and frees the handle. Each open transfer's `done`
/// runs with WIREPROOF_CLOSED. NULL is OK and does nothing. NOT_ALLOWED: called inside a handler or
/// callback of this endpoint; the handle stays.
WIREPROOF_C_EXPORT wireproof_status wireproof_endpoint_free(wireproof_endpoint* endpoint);

/// The text of the last call on this endpoint that did not return OK: one line. It is valid until
/// the next call on the endpoint. Empty if all calls returned OK.
WIREPROOF_C_EXPORT const char* wireproof_endpoint_error(const wireproof_endpoint* endpoint);

/// 1: open. 0: closed.
WIREPROOF_C_EXPORT int wireproof_endpoint_is_open(const wireproof_endpoint* endpoint);
/// The number of this node, how many nodes the job has, and the longest request or reply in bytes.
/// 0 if it is closed.
WIREPROOF_C_EXPORT size_t wireproof_endpoint_self(const wireproof_endpoint* endpoint);
WIREPROOF_C_EXPORT size_t wireproof_endpoint_nodes(const wireproof_endpoint* endpoint);
WIREPROOF_C_EXPORT size_t wireproof_endpoint_message_max(const wireproof_endpoint* endpoint);
/// The address at which the node listens, with the port that the system chose, or "shm:NAME". Empty
/// if the endpoint is closed. The text is valid until the endpoint is closed or freed.
WIREPROOF_C_EXPORT const char* wireproof_endpoint_address(const wireproof_endpoint* endpoint);
/// Sets the address of a peer on UDP, "address:port"; it copies the text. FAILED: see am.hpp.
WIREPROOF_C_EXPORT wireproof_status
wireproof_endpoint_set_peer_address(wireproof_endpoint* endpoint, size_t peer, const char* address);

// ---- Messages ----

/// What a handler gets. All of it is valid until the handler returns, but `memory` stays valid.
typedef struct wireproof_message {
    size_t size;
    size_t peer;        // the node that sent it
    const void* bytes;  // of a request or reply; NULL for a store
    size_t length;      // bytes
    void* memory;       // the bytes of a store, in registered memory; NULL for a request or reply
    size_t memory_length;  // bytes
    uint32_t argument;     // of a store
    uint32_t handler;      // the number that the message names
} wireproof_message;

/// A handler must not block. It may send one reply, and nothing else.
typedef void (*wireproof_handler)(wireproof_endpoint* endpoint, const wireproof_message* message,
                                  void* user);
/// Runs once when a transfer has ended, with its status; the bytes are then the caller's again.
typedef void (*wireproof_done)(wireproof_endpoint* endpoint, wireproof_status status, void* user);

/// From now on `run` runs for each message that names `handler`, 1 to 65,535. It replaces an
/// earlier function; NULL removes it. NOT_ALLOWED: `handler` is 0.
WIREPROOF_C_EXPORT wireproof_status wireproof_endpoint_handle(wireproof_endpoint* endpoint,
                                                              uint16_t handler,
                                                              wireproof_handler run, void* user);
/// Queues a request and copies its bytes. The next poll sends it. It does not wait. Every 32nd
/// request also polls. OK, WOULD_BLOCK, TOO_LONG, NOT_ALLOWED, NO_SUCH_PEER.
WIREPROOF_C_EXPORT wireproof_status wireproof_endpoint_request(wireproof_endpoint* endpoint,
                                                               size_t peer, uint16_t handler,
                                                               const void* bytes, size_t length);
/// Replies to the message whose handler runs now, and copies the bytes. There is always room.
/// NOT_ALLOWED: no handler runs, the message is a reply, it was replied to already, or `handler` is
/// 0. TOO_LONG.
WIREPROOF_C_EXPORT wireproof_status wireproof_endpoint_reply(wireproof_endpoint* endpoint,
                                                             uint16_t handler, const void* bytes,
                                                             size_t length);
/// Blocks until the peer has acknowledged all messages and each transfer with it has ended, at most
/// for limit_ms. OK, TIMED_OUT, PEER_LOST, NO_SUCH_PEER, NOT_ALLOWED.
WIREPROOF_C_EXPORT wireproof_status wireproof_endpoint_flush(wireproof_endpoint* endpoint,
                                                             size_t peer, int64_t limit_ms);

// ---- Memory: `address` is the number that register_memory gave at the peer, plus an offset ----

/// Copies `length` bytes to `address` at the peer; the peer then runs `handler`. It blocks until
/// the bytes are in place or the peer is lost. OK, NO_HANDLER, FORBIDDEN, PEER_LOST, NOT_ALLOWED,
/// NO_SUCH_PEER, TOO_LONG.
WIREPROOF_C_EXPORT wireproof_status wireproof_endpoint_store(wireproof_endpoint* endpoint,
                                                             size_t peer, uint64_t address,
                                                             const void* bytes, size_t length,
                                                             uint16_t handler, uint32_t argument);
/// As store, but does not block. If it returns OK, the caller keeps `bytes` unchanged until `done`
/// runs. Otherwise `done` does not run. `done` may be NULL: flush and idle then tell. Also
/// WOULD_BLOCK.
WIREPROOF_C_EXPORT wireproof_status wireproof_endpoint_store_async(
    wireproof_endpoint* endpoint, size_t peer, uint64_t address, const void* bytes, size_t length,
    uint16_t handler, uint32_t argument, wireproof_done done, void* user);
/// Copies `length` bytes at `address` of the peer into `bytes`. It blocks until they have arrived
/// or the peer is lost. OK, FORBIDDEN, PEER_LOST, NOT_ALLOWED, NO_SUCH_PEER, TOO_LONG.
WIREPROOF_C_EXPORT wireproof_status wireproof_endpoint_get(wireproof_endpoint* endpoint,
                                                           size_t peer, uint64_t address,
                                                           void* bytes, size_t length);
/// As get, but does not block. If it returns OK, the caller does not use `bytes` until `done` runs.
WIREPROOF_C_EXPORT wireproof_status wireproof_endpoint_get_async(wireproof_endpoint* endpoint,
                                                                 size_t peer, uint64_t address,
                                                                 void* bytes, size_t length,
                                                                 wireproof_done done, void* user);

/// Allocates memory that peers on shared memory can map, all 0. The endpoint owns it, and frees it
/// in deallocate, close or free. FAILED: `length` is 0, or no memory is left. deallocate takes what
/// allocate gave. WOULD_BLOCK: it is registered, or in use: poll, then call again. NOT_ALLOWED.
WIREPROOF_C_EXPORT wireproof_status wireproof_endpoint_allocate(wireproof_endpoint* endpoint,
                                                                size_t length, void** memory);
WIREPROOF_C_EXPORT wireproof_status wireproof_endpoint_deallocate(wireproof_endpoint* endpoint,
                                                                  void* memory, size_t length);

/// What a peer may do with registered memory: read it by get, write it by store.
enum { WIREPROOF_MAY_GET = 1, WIREPROOF_MAY_STORE = 2 };
/// As `peer` in the next two calls: each peer.
#define WIREPROOF_EACH_PEER SIZE_MAX
/// Lets `peer` use `memory` in get and store, as the bits of `rights` say, and sets *address. The
/// caller keeps the memory until unregister_memory has returned OK or the endpoint is closed.
/// FAILED: no such peer, or the memory overlaps registered memory.
WIREPROOF_C_EXPORT wireproof_status wireproof_endpoint_register_memory(wireproof_endpoint* endpoint,
                                                                       size_t peer, void* memory,
                                                                       size_t length,
                                                                       uint32_t rights,
                                                                       uint64_t* address);
/// Ends it. WOULD_BLOCK: a peer may still use it: poll, then call again. NOT_ALLOWED: nothing is
/// registered at `address`. NO_SUCH_PEER.
WIREPROOF_C_EXPORT wireproof_status
wireproof_endpoint_unregister_memory(wireproof_endpoint* endpoint, size_t peer, uint64_t address);

// ---- Progress ----

/// Receives, runs handlers, and sends what is due; it does not block. *handled (may be NULL) is how
/// many messages and other events it handled. OK, HANDLER_THREW, CLOSED.
WIREPROOF_C_EXPORT wireproof_status wireproof_endpoint_poll(wireproof_endpoint* endpoint,
                                                            size_t* handled);
/// Polls and sleeps until a handler or callback has run, a transfer has ended, wake was called
/// since the last wait, or limit_ms has passed. The caller checks its own condition before and
/// after. A binding may release its lock for the call, and takes it in handlers. OK, TIMED_OUT,
/// HANDLER_THREW, CLOSED, NOT_ALLOWED: inside a handler or callback.
WIREPROOF_C_EXPORT wireproof_status wireproof_endpoint_wait(wireproof_endpoint* endpoint,
                                                            int64_t limit_ms);
/// What close waits for, without closing: polls until this node is idle and no peer waits for its
/// last acknowledgements, at most for limit_ms. It asks the peers whether they have these (see
/// Endpoint::leave in am.hpp). An event loop uses a limit of 0, polls, and calls it again later.
/// OK: now free the endpoint. TIMED_OUT, HANDLER_THREW, CLOSED, NOT_ALLOWED: inside a handler or
/// callback.
WIREPROOF_C_EXPORT wireproof_status wireproof_endpoint_leave(wireproof_endpoint* endpoint,
                                                             int64_t limit_ms);
// In an event loop: poll; if arm returns 1, wait until event_fd is readable or next_timeout passed.

/// A descriptor for poll(2), which the endpoint owns: readable after wake, and after arm has
/// returned 1 also when frames arrive. -1: closed.
WIREPROOF_C_EXPORT int wireproof_endpoint_event_fd(const wireproof_endpoint* endpoint);
/// Call it after poll, immediately before the loop waits. 1: the loop may wait. 0: poll first.
WIREPROOF_C_EXPORT int wireproof_endpoint_arm(wireproof_endpoint* endpoint);
/// How long the loop may wait, in nanoseconds. 0: poll now. -1: there is no deadline.
WIREPROOF_C_EXPORT int64_t wireproof_endpoint_next_timeout(const wireproof_endpoint* endpoint);
/// Makes event_fd readable until the next poll, and ends a wait. Any thread, any signal handler.
WIREPROOF_C_EXPORT void wireproof_endpoint_wake(wireproof_endpoint* endpoint);
/// 1: all messages are acknowledged, all transfers have ended, and no acknowledgement is held back.
WIREPROOF_C_EXPORT int wireproof_endpoint_idle(const wireproof_endpoint* endpoint);

// ---- Losses and counters ----

/// Of wireproof_undelivered.
enum {
    WIREPROOF_UNDELIVERED_REQUEST = 0,
    WIREPROOF_UNDELIVERED_REPLY = 1,
    WIREPROOF_UNDELIVERED_STORE = 2,
    WIREPROOF_UNDELIVERED_GET = 3
};
/// A message or transfer that had not ended. Nobody knows whether it arrived.
typedef struct wireproof_undelivered {
    size_t size;
    uint32_t kind;
    uint32_t handler;   // 0 for a get
    const void* bytes;  // of a request or reply
    size_t length;
} wireproof_undelivered;

/// Why a peer was lost; PeerLost in am_values.hpp has the details.
enum {
    WIREPROOF_LOST_SILENT = 0,
    WIREPROOF_LOST_RESTARTED = 1,
    WIREPROOF_LOST_GONE = 2,
    WIREPROOF_LOST_UNANSWERED = 3
};
/// The report that the session with a peer has ended. It is valid until the callback returns.
typedef struct wireproof_peer_lost {
    size_t size;
    size_t peer;
    uint32_t why;
    uint32_t by_peer;       // 1: the peer ended the session, and `why` is what the peer saw
    size_t packet_bytes;    // of the packet that was never answered
    uint64_t packet_times;  // how often it was retransmitted
    const char* message;    // the report as one line
    const char* cause;      // the last error of the system; empty: none
    const wireproof_undelivered* const* undelivered;
    size_t undelivered_count;
} wireproof_peer_lost;
typedef void (*wireproof_peer_lost_report)(wireproof_endpoint* endpoint,
                                           const wireproof_peer_lost* lost, void* user);
/// A request or store of this node named a handler that the peer does not have.
typedef void (*wireproof_refused_report)(wireproof_endpoint* endpoint, size_t peer,
                                         uint16_t handler, void* user);
/// The report runs for each loss or refusal. It replaces an earlier one; NULL removes it.
WIREPROOF_C_EXPORT wireproof_status wireproof_endpoint_on_peer_lost(
    wireproof_endpoint* endpoint, wireproof_peer_lost_report report, void* user);
WIREPROOF_C_EXPORT wireproof_status wireproof_endpoint_on_refused(wireproof_endpoint* endpoint,
                                                                  wireproof_refused_report report,
                                                                  void* user);

/// How frames travel to a peer.
enum {
    WIREPROOF_PATH_UDP = 0,
    WIREPROOF_PATH_SHARED_MEMORY = 1,
    WIREPROOF_PATH_UDP_ON_ONE_HOST = 2
};
/// Counters of the traffic with one peer; PeerCounters in am_values.hpp says what each counts.
typedef struct wireproof_counters {
    size_t size;
    uint64_t path;
    // Received frames.
    uint64_t accepted, held, control, duplicate, out_of_sequence;
    uint64_t stale, corrupt, malformed, foreign, refused_frames;
    uint64_t mismatched;
    // Sent frames, and events.
    uint64_t sent, resent, acks, nacks, overruns, marked, marked_at_peer, keepalives, hellos;
    uint64_t timeouts, sessions, unhandled_replies, unsent, refused;
} wireproof_counters;
/// Fills `counters` for `peer`. NO_SUCH_PEER.
WIREPROOF_C_EXPORT wireproof_status wireproof_endpoint_counters(wireproof_endpoint* endpoint,
                                                                size_t peer,
                                                                wireproof_counters* counters);

// ---- The laboratory (lab.hpp) ----
//
// Simulations of retransmission on a link. If the library was built without the laboratory,
// wireproof_has_lab() returns 0 and each function that returns a status returns
// WIREPROOF_NOT_BUILT.

WIREPROOF_C_EXPORT int wireproof_has_lab(void);
/// The name of a protocol of a point: "pcie". NULL: `index` is too large, or there is no
/// laboratory. The text lives as long as the program.
WIREPROOF_C_EXPORT const char* wireproof_point_protocol(size_t index);

/// The settings of a point; PointSettings in lab.hpp has the details. Lengths and times are in
/// bytes on the line. "Default" is as in wireproof_options.
typedef struct wireproof_point_settings {
    size_t size;
    const char* protocol;   // see wireproof_point_protocol(). Default "pcie"
    double bit_error_rate;  // 0, or 1e-17 to 0.1
    double notice_loss;     // the probability that a notice is lost
    uint32_t payload;       // bytes of a message. Default 4096
    uint32_t buffer;        // units that may be unacknowledged; 0: the library chooses
    uint64_t loop;          // from the end of a damaged unit to its retransmission. Default 2000
    uint64_t timer;         // how long the sender waits; 0: the library chooses
    uint32_t ack_every;     // units that are acknowledged together; 0: the library chooses
    uint32_t clean_back;    // 1: no bit errors back
    uint32_t renak_on_bad_head;  // 1 or 0, only for pcie
    uint32_t loaded_back;        // 1: the receiver sends messages, too
    double bursts_begin;         // the probability that a burst begins with a frame; 0: no bursts
    double bursts_end;           // that it ends with a frame. Default 1
    double bursts_bad;           // that a frame in it is bad. Default 1
} wireproof_point_settings;
/// As wireproof_options_init(). It works without the laboratory, too.
WIREPROOF_C_EXPORT wireproof_status
wireproof_point_settings_init(wireproof_point_settings* settings, size_t size);

/// Runs several times per second, with the share that is done, 0 to 1. Not 0: the simulation stops.
typedef int (*wireproof_progress)(double share, void* user);
/// How the simulation runs; PointPlan in lab.hpp has the details.
typedef struct wireproof_point_plan {
    size_t size;
    uint64_t packets;       // it ends after so many units; 0: by the next two
    double relative_error;  // more than 0. Default 0.02
    uint64_t packets_max;   // Default 1e18
    uint64_t seed;          // Default 1
    uint32_t jump;          // 0: each frame is simulated. Default 1
    uint32_t reserved;
    wireproof_progress progress;  // NULL: none
    void* user;                   // for `progress`
} wireproof_point_plan;
/// As wireproof_options_init(). It works without the laboratory, too.
WIREPROOF_C_EXPORT wireproof_status wireproof_point_plan_init(wireproof_point_plan* plan,
                                                              size_t size);

/// The results of a point; PointFigures in lab.hpp says what each is. A double that is not a number
/// stands for nothing.
typedef struct wireproof_point_figures {
    size_t size;
    double packets, etr, throughput, resend_ratio;
    double relative_error;                       // or nothing
    double closed_etr, closed_ratio, deviation;  // or nothing
    double resent, timeouts, notices, acks, frames, line_bytes, jumped, unit_bytes, buffer_mean;
    uint64_t buffer_most;
    uint64_t latency_50, latency_99, latency_999, latency_max;  // 50, 99, 99.9, 100 % of units
    uint64_t closed_at_edge;  // 1: the closed form is there, at the edge of its domain
} wireproof_point_figures;
/// Simulates a point. `plan` may be NULL: the defaults. FAILED: a setting is not possible, or the
/// link stopped. CANCELLED; HANDLER_THREW: `progress` is written in C++ and threw.
WIREPROOF_C_EXPORT wireproof_status wireproof_point_run(const wireproof_point_settings* settings,
                                                        const wireproof_point_plan* plan,
                                                        wireproof_point_figures* figures, char* why,
                                                        size_t why_bytes);

/// A drawing of a small exchange. The caller frees it. NULL is an empty drawing.
typedef struct wireproof_ladder wireproof_ladder;
/// Draws the first failure in the simulation that wireproof_point_run() makes with the same
/// arguments, and sets *ladder; NULL if it fails. FAILED also: nothing failed. `progress` gets 0.
WIREPROOF_C_EXPORT wireproof_status wireproof_ladder_of_first_failure(
    const wireproof_point_settings* settings, const wireproof_point_plan* plan,
    wireproof_ladder** ladder, char* why, size_t why_bytes);
/// Runs and draws the scenario in `length` bytes of TOML (docs/guide/links/ladders.md). FAILED: a
/// mistake, as "scenario:LINE:COLUMN: mistake".
WIREPROOF_C_EXPORT wireproof_status wireproof_ladder_of_scenario(const char* toml, size_t length,
                                                                 wireproof_ladder** ladder,
                                                                 char* why, size_t why_bytes);
/// Texts of the drawing: its name, lines of up to 80 columns, one svg element. They live until
/// wireproof_ladder_free().
WIREPROOF_C_EXPORT const char* wireproof_ladder_name(const wireproof_ladder* ladder);
WIREPROOF_C_EXPORT const char* wireproof_ladder_text(const wireproof_ladder* ladder);
WIREPROOF_C_EXPORT const char* wireproof_ladder_svg(const wireproof_ladder* ladder);
/// How many frames the drawing has.
WIREPROOF_C_EXPORT size_t wireproof_ladder_frames(const wireproof_ladder* ladder);
WIREPROOF_C_EXPORT void wireproof_ladder_free(wireproof_ladder* ladder);

#ifdef __cplusplus
}
#endif
