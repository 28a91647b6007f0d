// More of the laboratory for C: sweeps. wireproof.h describes structs, errors, texts and threads;
// what it says about a library without the laboratory holds here, too. This header compiles as C99
// and as C++.
#pragma once

#include "wireproof/wireproof.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The points of a sweep file, as `wireproof sweep FILE` simulates them; PointSweep in lab.hpp has
/// the details. The caller frees it. NULL is a sweep without points. Several threads may call
/// wireproof_sweep_run() on one sweep, while no thread changes or frees it.
typedef struct wireproof_sweep wireproof_sweep;
/// Reads `length` bytes of TOML (docs/link-retry.md) and sets *sweep; NULL if it fails. FAILED: a
/// mistake, as "sweep:LINE:COLUMN: mistake".
WIREPROOF_C_EXPORT wireproof_status wireproof_sweep_read(const char* toml, size_t length,
                                                         wireproof_sweep** sweep, char* why,
                                                         size_t why_bytes);
/// The name and the file of losses, empty if there is none. They live until wireproof_sweep_free().
WIREPROOF_C_EXPORT const char* wireproof_sweep_name(const wireproof_sweep* sweep);
WIREPROOF_C_EXPORT const char* wireproof_sweep_loss_trace(const wireproof_sweep* sweep);
WIREPROOF_C_EXPORT size_t wireproof_sweep_points(const wireproof_sweep* sweep);
WIREPROOF_C_EXPORT uint64_t wireproof_sweep_seed(const wireproof_sweep* sweep);
/// The limit of the text for each point, in seconds; 0: none. The program keeps to it
/// (WIREPROOF_STOP_POINT).
WIREPROOF_C_EXPORT double wireproof_sweep_point_seconds(const wireproof_sweep* sweep);
/// These replace what the text says, as the functions in lab.hpp. FAILED: not in the range.
WIREPROOF_C_EXPORT wireproof_status wireproof_sweep_set_seed(wireproof_sweep* sweep, uint64_t seed);
WIREPROOF_C_EXPORT wireproof_status wireproof_sweep_set_packets(wireproof_sweep* sweep,
                                                                uint64_t packets, char* why,
                                                                size_t why_bytes);
WIREPROOF_C_EXPORT wireproof_status wireproof_sweep_set_relative_error(wireproof_sweep* sweep,
                                                                       double relative_error,
                                                                       char* why, size_t why_bytes);
/// Gives the content of the file of losses, `length` bytes. FAILED: a mistake, with its place.
WIREPROOF_C_EXPORT wireproof_status wireproof_sweep_set_loss_trace(wireproof_sweep* sweep,
                                                                   const char* text, size_t length,
                                                                   char* why, size_t why_bytes);
/// What a progress function of wireproof_sweep_run() returns: go on; stop, CANCELLED; end the point
/// early, with the results so far and "stopped": true.
enum { WIREPROOF_GO_ON = 0, WIREPROOF_STOP = 1, WIREPROOF_STOP_POINT = 2 };
/// Simulates the point `point`, 0 to points - 1, and sets *json; NULL if it fails. The text is one
/// JSON object, as in "points" of `wireproof sweep --json`, without the time that it took. The
/// caller frees it with wireproof_text_free(). `jump`: 0 or 1, as in wireproof_point_plan.
/// `progress` may be NULL. FAILED: there is no such point, or the losses are missing, or as
/// wireproof_point_run(). CANCELLED, HANDLER_THREW.
WIREPROOF_C_EXPORT wireproof_status wireproof_sweep_run(const wireproof_sweep* sweep, size_t point,
                                                        uint32_t jump, wireproof_progress progress,
                                                        void* user, char** json, char* why,
                                                        size_t why_bytes);
WIREPROOF_C_EXPORT void wireproof_sweep_free(wireproof_sweep* sweep);
/// Frees a text that a function of this header gave to the caller. NULL does nothing.
WIREPROOF_C_EXPORT void wireproof_text_free(char* text);

#ifdef __cplusplus
}
#endif
