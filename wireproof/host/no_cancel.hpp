// While this exists, the thread is not cancelled (pthread_cancel): it ends later, at a cancellation
// point. Many calls of the system are cancellation points. In our code they would leave locks and
// descriptors behind, and the end of the thread would try to pass functions that are noexcept,
// which ends the process.
#pragma once

#include <pthread.h>

namespace wireproof::host {

class NoCancel {
public:
    NoCancel() { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    NoCancel(const NoCancel&) = delete;
    NoCancel& operator=(const NoCancel&) = delete;
    ~NoCancel() { ::pthread_setcancelstate(before_, nullptr); }

private:
    int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace wireproof::host
