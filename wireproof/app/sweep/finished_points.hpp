// The finished points of a sweep, and the lines of its results file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "wireproof/lab/sweep/sweep_file.hpp"
#include "wireproof/lab/sweep/sweep_point.hpp"

namespace wireproof::app {

/// The line of a point, with a line feed: the point, and the version that simulated it.
std::string results_line(const lab::SweepPoint& point, const lab::RetryPlan& plan);
/// The point of a line that results_line() made for these settings.
lab::SweepPoint point_of_line(const std::string& line, const lab::RetrySettings& settings);

/// Finished points, by their keys.
class FinishedPoints {
public:
    /// `sweep` must outlive this object.
    explicit FinishedPoints(const lab::Sweep& sweep);

    /// Reads the text of a results file. Throws Failure with one line that names the place: a point
    /// of another sweep or another seed, or of another version.
    void load(const std::string& text, const std::string& path);
    bool has(const lab::RetrySettings& settings) const;
    /// A stopped point is not written, so the next run simulates it again.
    void add(lab::SweepPoint point);

    /// All lines, sorted.
    std::string text() const;
    /// In the order of the sweep.
    std::vector<lab::SweepPoint> points(const lab::Sweep& sweep) const;

private:
    std::string key_of(const lab::RetrySettings& settings) const;

    const lab::RetryPlan& plan_;
    std::map<std::string, lab::RetrySettings> wanted_;
    std::map<std::string, lab::SweepPoint> done_;
    std::map<std::string, lab::SweepPoint> stopped_;
};

}  // namespace wireproof::app
