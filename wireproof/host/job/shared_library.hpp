// A library that a launcher's process interface lives in. It stays in the process: such libraries
// start threads and leave functions for the end of the process.
#pragma once

#include <dlfcn.h>

#include <string>

#include "wireproof/base/expected.hpp"

namespace wireproof::host {

class SharedLibrary {
public:
    static Expected<SharedLibrary> open(const char* name) {
        void* const handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (handle != nullptr) return SharedLibrary(name, handle);
        const char* const why = ::dlerror();
        return unexpected(why == nullptr ? std::string(name) + " cannot be opened" : why);
    }

    template <class Function>
    Expected<void> find(const char* name, Function& function) const {
        function = reinterpret_cast<Function>(::dlsym(handle_, name));
        if (function != nullptr) return {};
        return unexpected(std::string(name_) + " has no function " + name);
    }

private:
    SharedLibrary(const char* name, void* handle) : name_(name), handle_(handle) {}

    const char* name_;
    void* handle_;
};

}  // namespace wireproof::host
