// The lines on which a sweep's points run: presets, bursts and recorded traces.
#pragma once

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

#include "wireproof/lab/link_retry/loss_trace.hpp"
#include "wireproof/lab/link_retry/retry_point.hpp"
#include "wireproof/lab/sweep/sweep_file.hpp"

namespace wireproof::cli {

/// Reads a trace. Throws Failure with one line that names the file, line and column of an error.
std::shared_ptr<const lab::LossTrace> read_loss_trace(const std::string& path);

/// Reads the trace that a sweep file names and gives it to all points of the sweep. The name is
/// relative to the folder of the sweep file.
void take_loss_trace(lab::Sweep& sweep, const std::string& sweep_file);

/// The presets as text, or as one JSON object.
std::string preset_table();
std::string preset_json();

/// The options that describe the line of a single point.
class SweepLineOptions {
public:
    void add(CLI::App& subcommand, lab::RetrySettings& settings);
    bool lists_presets() const { return lists_; }
    /// Call it after parsing. Takes the values of the preset, but an option that the user gave
    /// overrides them. Sets `protocol` to the name of the preset's protocol.
    void take_preset(lab::RetrySettings& settings, std::string& protocol) const;
    /// Call it before simulating. Reads files.
    void take_files(lab::RetrySettings& settings) const;

private:
    std::string preset_;
    std::string trace_;
    bool lists_ = false;
    CLI::App* subcommand_ = nullptr;
};

}  // namespace wireproof::cli
