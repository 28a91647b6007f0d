// The parts of an endpoint that only its own source files use.
#pragma once

#include "endpoint.hpp"

namespace wireproof::python {

struct Endpoint::Transfer {
    Endpoint* endpoint;
    std::uint64_t token;
    Export bytes;
};

struct Endpoint::Registration {
    std::unique_ptr<Export> memory;
    std::uint64_t address = 0;
    std::size_t peer = WIREPROOF_EACH_PEER;
};

/// A call of one thread. A handler of the call may make calls, too. The library stops the program
/// if two threads are in an endpoint, or goes wrong; here the second thread gets an exception.
class Endpoint::Use {
public:
    explicit Use(Endpoint& endpoint) : endpoint_(endpoint) {
        const unsigned long here = PyThread_get_thread_ident();
        if (endpoint.depth_ > 0 && endpoint.thread_ != here) {
            raise(WIREPROOF_NOT_ALLOWED, "another thread is inside a call of this endpoint");
        }
        endpoint.thread_ = here;
        ++endpoint.depth_;
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use() { --endpoint_.depth_; }

private:
    Endpoint& endpoint_;
};

/// Calls the library without the GIL.
template <class Call>
auto Endpoint::released(Call&& call) -> decltype(call()) {
    const py::gil_scoped_release released;
    return call();
}

}  // namespace wireproof::python
