// A shared object that contains the library.
#include <wireproof/am.hpp>

#include <string>

/// Returns 1 if the library refuses the address and its message names the address.
extern "C" __attribute__((visibility("default"))) int refuses_nowhere() {
    wireproof::am::Options options;
    options.peers = {"nowhere", "nowhere"};
    const auto endpoint = wireproof::am::Endpoint::open(options);
    return !endpoint && endpoint.error().find("nowhere") != std::string::npos ? 1 : 0;
}
