// The lines that a sweep's points run on, as the command names them: presets, bursts, recorded
// traces.
#pragma once

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

#include "wireproof/lab/retry/loss_trace.hpp"
#include "wireproof/lab/retry/retry_point.hpp"
#include "wireproof/lab/sweep/sweep_file.hpp"

namespace wireproof::cli {

/// Reads it; throws Failure with one line, which names file, line and column of what is wrong.
std::shared_ptr<const lab::LossTrace> read_loss_trace(const std::string& path);

/// The trace that a sweep file names as from its own folder, into all its points.
void take_loss_trace(lab::Sweep& sweep, const std::string& sweep_file);

/// As text for people or as one JSON object.
std::string preset_table();
std::string preset_json();

/// The options of one point that say what its line is like.
class SweepLineOptions {
public:
    void add(CLI::App& verb, lab::RetrySettings& settings);
    bool lists_presets() const { return lists_; }
    /// After parsing: what a preset says stands unless it was asked for by itself, and the name of
    /// its protocol is put into `protocol`.
    void take_preset(lab::RetrySettings& settings, std::string& protocol) const;
    /// Before simulating: reads files.
    void take_files(lab::RetrySettings& settings) const;

private:
    std::string preset_;
    std::string trace_;
    bool lists_ = false;
    CLI::App* verb_ = nullptr;
};

}  // namespace wireproof::cli
