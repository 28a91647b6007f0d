// Where C calls C++, no exception leaves.
#pragma once

#include <cxxabi.h>

#include <exception>
#include <new>
#include <utility>

#include "wireproof/front/c/text.hpp"
#include "wireproof/wireproof.h"

/// For functions that a cancelled thread leaves (pthread_cancel): what they catch then has no
/// object, so a sanitizer would report the reference to it.
#define WIREPROOF_C_UNWINDS __attribute__((no_sanitize("undefined")))

namespace wireproof::c {

/// Runs `run`. If it throws, returns what `on_throw` makes of the status and the text of the
/// exception. A cancelled thread unwinds through here as it must.
template <class Run, class OnThrow>
WIREPROOF_C_UNWINDS auto guarded(Run&& run, OnThrow&& on_throw) -> decltype(run()) {
    try {
        return run();
    } catch (const abi::__forced_unwind&) {
        throw;
    } catch (const std::bad_alloc&) {
        return on_throw(WIREPROOF_NO_MEMORY, "no memory is left");
    } catch (const std::exception& error) {
        return on_throw(WIREPROOF_FAILED, error.what());
    } catch (...) {
        return on_throw(WIREPROOF_FAILED, "an exception that has no text");
    }
}

/// Where a function without an endpoint writes the text of its error.
class Why {
public:
    Why(char* room, std::size_t bytes) : room_(room), bytes_(bytes) { put_text("", room, bytes); }
    wireproof_status fail(wireproof_status status, std::string_view text) const {
        put_text(text, room_, bytes_);
        return status;
    }
    wireproof_status bad(std::string_view text) const { return fail(WIREPROOF_BAD_ARGUMENT, text); }

    template <class Run>
    wireproof_status guard(Run&& run) const {
        return guarded(std::forward<Run>(run), [this](wireproof_status status, const char* text) {
            return fail(status, text);
        });
    }

private:
    char* room_;
    std::size_t bytes_;
};

/// Runs a function of the program, which may be written in C++. Returns false if it threw, and
/// gives the text of the exception to `note`.
template <class Run, class Note>
WIREPROOF_C_UNWINDS bool run_foreign(Run&& run, Note&& note) {
    try {
        run();
        return true;
    } catch (const abi::__forced_unwind&) {
        throw;
    } catch (const std::exception& error) {
        note(error.what());
    } catch (...) {
        note("an exception that has no text");
    }
    return false;
}

}  // namespace wireproof::c
