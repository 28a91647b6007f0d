// More of the laboratory for C: sweeps, searches and random worlds. wireproof.h describes structs,
// errors, texts and threads; what it says about a library without the laboratory holds here, too.
// This header compiles as C99 and as C++.
#pragma once

#include "wireproof/wireproof.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The points of a sweep file, as `wireproof sweep FILE` simulates them; PointSweep in lab.hpp has
/// the details. The caller frees it. NULL is a sweep without points. Several threads may call
/// wireproof_sweep_run() on one sweep, while no thread changes or frees it.
typedef struct wireproof_sweep wireproof_sweep;
/// Reads `length` bytes of TOML (docs/guide/links/sweeps.md) and sets *sweep; NULL if it fails.
/// FAILED: a mistake, as "sweep:LINE:COLUMN: mistake".
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
/// Draws the points as `wireproof sweep --svg` does, and sets *svg; NULL if it fails. results[i] is
/// the text of wireproof_sweep_run() for the point i, or NULL: it is left out. The caller frees the
/// picture with wireproof_text_free(). FAILED: `count` is not the number of points, or a text is
/// not that of its point, or there is nothing to draw.
WIREPROOF_C_EXPORT wireproof_status wireproof_sweep_draw(const wireproof_sweep* sweep,
                                                         const char* const* results, size_t count,
                                                         char** svg, char* why, size_t why_bytes);
WIREPROOF_C_EXPORT void wireproof_sweep_free(wireproof_sweep* sweep);
/// Frees a text that a function of this header gave to the caller. NULL does nothing.
WIREPROOF_C_EXPORT void wireproof_text_free(char* text);

/// The name of a protocol of a search: "pcie". NULL: `index` is too large, or there is no
/// laboratory. The text lives as long as the program.
WIREPROOF_C_EXPORT const char* wireproof_search_protocol(size_t index);
/// In an int32_t of wireproof_search_settings: as it is usual for the protocol; no limit.
enum { WIREPROOF_AS_USUAL = -1, WIREPROOF_NO_LIMIT = -2 };
/// The settings of a search; ExhaustiveSearch in lab.hpp has the details.
typedef struct wireproof_search_settings {
    size_t size;
    const char* protocol;  // "pcie"
    const char* rule;      // NULL or "": the engine as shipped
    const char* recovery;  // of sp-am: "go-back-n" or "selective"; NULL or "": "go-back-n"
    uint32_t window;       // 2
    uint32_t modulus;      // 0: the library chooses
    uint32_t messages;     // 0: the library chooses
    uint32_t in_flight;    // 2
    uint32_t both_ways;    // 1: B sends as many; 0
    uint32_t damage;       // 1: frames may be damaged; 1
    int32_t faults;        // 0 to 100, WIREPROOF_AS_USUAL or WIREPROOF_NO_LIMIT; WIREPROOF_AS_USUAL
    // 0, 1 or WIREPROOF_AS_USUAL; WIREPROOF_AS_USUAL
    int32_t duplicates;
    int32_t reorder;
    int32_t early_timers;
    uint64_t states_max;  // 20,000,000
} wireproof_search_settings;
/// As wireproof_options_init(). It works without the laboratory, too.
WIREPROOF_C_EXPORT wireproof_status
wireproof_search_settings_init(wireproof_search_settings* settings, size_t size);

/// What a search found; SearchFindings in lab.hpp has the details. The texts live until
/// wireproof_search_free(). `path`, `ladder` and `scenario` are empty if `violation` is empty.
typedef struct wireproof_search_findings {
    size_t size;
    const char* verdict;
    const char* violation;
    const char* path;
    const char* ladder;
    const char* scenario;
    uint64_t states, end_states, edges, moves_to_finish, waits_to_finish;
    int64_t circle;  // -1: the path does not repeat
} wireproof_search_findings;
/// The findings of a search. The caller frees it.
typedef struct wireproof_search wireproof_search;
/// Searches, and sets *search; NULL if it fails. `progress` may be NULL; it gets the number of
/// states so far, divided by states_max. FAILED: a setting is not possible. CANCELLED,
/// HANDLER_THREW.
WIREPROOF_C_EXPORT wireproof_status wireproof_search_run(const wireproof_search_settings* settings,
                                                         wireproof_progress progress, void* user,
                                                         wireproof_search** search, char* why,
                                                         size_t why_bytes);
/// Fills `findings`. BAD_ARGUMENT: NULL, or a wrong size.
WIREPROOF_C_EXPORT wireproof_status wireproof_search_get(const wireproof_search* search,
                                                         wireproof_search_findings* findings);
WIREPROOF_C_EXPORT void wireproof_search_free(wireproof_search* search);

/// What happened in a random world; WorldFindings in lab.hpp has the details.
typedef struct wireproof_world_findings {
    size_t size;
    uint64_t controlled;  // 1: with congestion control
    uint64_t operations, failed, frames, faults, resent;
    double seconds;  // simulated time
} wireproof_world_findings;
/// Simulates a random world (RandomWorld in lab.hpp). `congestion` NULL or "": the world draws it.
/// Sets *what and *violation to texts that the caller frees with wireproof_text_free(); NULL if it
/// fails. FAILED: there is no such protocol or kind of congestion control. It has no progress
/// function: a world takes a part of a second.
WIREPROOF_C_EXPORT wireproof_status wireproof_world_run(const char* protocol, uint64_t seed,
                                                        const char* congestion,
                                                        wireproof_world_findings* findings,
                                                        char** what, char** violation, char* why,
                                                        size_t why_bytes);

#ifdef __cplusplus
}
#endif
