// The worlds of `wireproof soak`. A world that some rank has simulated is a text: the figures that
// the summary needs, and what was broken. Rank 0 adds the worlds in the order of their seeds.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wireproof/lab/worlds/am_world.hpp"
#include "wireproof/lab/worlds/ib_world.hpp"
#include "wireproof/lab/worlds/link_world.hpp"

namespace wireproof::cli {

/// The kind of congestion control that the user wants in all worlds.
using WantedControl = std::optional<congestion::Kind>;
using SoakJson = nlohmann::ordered_json;

// Each kind of worlds has:
//   run(seed)        simulates a world, and returns its text
//   add(seed, text)  returns what the world has broken; empty: nothing
//   worlds(), failed(), controlled()  how many; controlled(): those with congestion control, if the
//                    protocol can have it
//   add_to(out), text()  the figures of the summary

class AmWorlds {
public:
    explicit AmWorlds(WantedControl congestion) : congestion_(congestion) {}

    std::string run(std::uint64_t seed) const;
    std::string add(std::uint64_t seed, const std::string& text);
    std::uint64_t worlds() const { return summary_.worlds; }
    std::uint64_t failed() const { return summary_.failed; }
    std::optional<std::uint64_t> controlled() const { return summary_.controlled; }
    void add_to(SoakJson& out) const;
    std::string text() const;

private:
    WantedControl congestion_;
    lab::AmWorldsSummary summary_;
};

class IbWorlds {
public:
    IbWorlds(std::optional<proto::ib::Transport> transport, WantedControl congestion)
        : transport_(transport), congestion_(congestion) {}

    std::string run(std::uint64_t seed) const;
    std::string add(std::uint64_t seed, const std::string& text);
    std::uint64_t worlds() const { return summary_.worlds; }
    std::uint64_t failed() const { return summary_.broken; }
    std::optional<std::uint64_t> controlled() const { return summary_.controlled; }
    void add_to(SoakJson& out) const;
    std::string text() const;

private:
    std::optional<proto::ib::Transport> transport_;
    WantedControl congestion_;
    lab::IbWorldsSummary summary_;
};

/// Of the link engine at a place in lab::LinkEngines.
class LinkWorlds {
public:
    explicit LinkWorlds(std::size_t engine) : engine_(engine) {}

    std::string run(std::uint64_t seed) const;
    std::string add(std::uint64_t seed, const std::string& text);
    std::uint64_t worlds() const { return summary_.worlds; }
    std::uint64_t failed() const { return summary_.broken; }
    static std::optional<std::uint64_t> controlled() { return std::nullopt; }
    void add_to(SoakJson& out) const;
    std::string text() const;

private:
    std::size_t engine_;
    lab::LinkWorldsSummary summary_;
};

}  // namespace wireproof::cli
