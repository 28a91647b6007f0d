// A shared object that has the library inside.
#include <wireproof/am.hpp>

#include <string>

/// 1: the library refuses what it has to, in its own words.
extern "C" __attribute__((visibility("default"))) int refuses_nowhere() {
    wireproof::am::Options options;
    options.peers = {"nowhere", "nowhere"};
    const auto endpoint = wireproof::am::Endpoint::open(options);
    return !endpoint && endpoint.error().find("nowhere") != std::string::npos ? 1 : 0;
}
