// The launcher's standard output or standard error, for marked lines. It never blocks: if the
// reader is slow, the lines wait, and the launcher reads no more from the ranks until they are
// written.
#pragma once

#include <string>

namespace wireproof::launch {

class Outlet {
public:
    explicit Outlet(int handle) : handle_(handle) {}

    int handle() const { return handle_; }
    /// Append lines here, then call write().
    std::string& waiting() { return waiting_; }
    bool empty() const { return waiting_.empty(); }
    /// Nobody reads it any more.
    bool broken() const { return broken_; }
    /// Writes as much as the reader takes now.
    void write();

private:
    int handle_;
    std::string waiting_;
    bool broken_ = false;
};

}  // namespace wireproof::launch
