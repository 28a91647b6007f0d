// The list of all link engines. Ladders, searches, sweeps and carry work with each engine in it. To
// add an engine, add its adapter here (docs/developers/add-a-link-protocol.md).
#pragma once

#include <array>

#include "wireproof/base/type_list.hpp"
#include "wireproof/lab/engines/cxl.hpp"
#include "wireproof/lab/engines/flit.hpp"
#include "wireproof/lab/engines/hippi.hpp"
#include "wireproof/lab/engines/pcie.hpp"
#include "wireproof/lab/engines/ue.hpp"

namespace wireproof::lab {

/// In the order in which the command names them.
using LinkEngines = TypeList<PcieAdapter, HippiAdapter, FlitAdapter, UeAdapter, CxlAdapter>;

/// A protocol of sweeps: an engine, and which of its protocols.
struct LinkSweep {
    std::string_view name;
    std::size_t engine = 0;  // place in LinkEngines
    std::size_t sweep = 0;   // place in the adapter's `sweeps`
};

inline constexpr std::size_t link_sweep_count = [] {
    std::size_t count = 0;
    LinkEngines::for_each([&]<class A>() { count += A::sweeps.size(); });
    return count;
}();

/// All protocols of sweeps that are link engines.
inline constexpr std::array<LinkSweep, link_sweep_count> link_sweeps = [] {
    std::array<LinkSweep, link_sweep_count> all{};
    std::size_t at = 0;
    std::size_t engine = 0;
    LinkEngines::for_each([&]<class A>() {
        for (std::size_t i = 0; i < A::sweeps.size(); ++i) {
            all[at++] = {A::sweeps[i], engine, i};
        }
        ++engine;
    });
    return all;
}();

}  // namespace wireproof::lab
