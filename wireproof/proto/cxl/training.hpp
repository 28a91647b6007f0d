// Training: both ends bring up the line together, at the start and in PHY_REINIT. It stands for the
// training of the physical layer. Each end numbers its trainings. A training ends when a training
// set arrives that names this end's number: the peer sent it after it had begun to train, too. Thus
// no flit from before the training arrives after it (CXL-20).
#pragma once

#include <optional>

#include "wireproof/proto/cxl/flit_timer.hpp"
#include "wireproof/proto/cxl/wire_format.hpp"

namespace wireproof::cxl {

class Training {
public:
    enum class Event : std::uint8_t {
        nothing,
        began,  // the peer trains, so this end does, too
        ended,
    };

    explicit Training(const Config& config);

    /// `fresh`: this end has no state of the link. Otherwise nothing leaves for retrain_time.
    void begin(Instant now, bool fresh);
    /// The sender of this set lost all state of the link, or never had any, and this end has some.
    /// This end must begin again before it handles the set. A set of the training before may still
    /// be in flight: its number is known, and it does not answer this training.
    bool restarts(const TrainingSet& set) const;
    Event on_set(Instant now, const TrainingSet& set);
    /// Another frame arrived during the training. It is lost.
    void on_lost_frame() { lost_ = true; }

    bool running() const { return running_; }
    bool fresh() const { return fresh_; }
    /// A frame was lost in the training that ended last.
    bool lost() const { return lost_; }
    /// A training set must leave now.
    bool owes() const { return owes_ && silent_until_ == never; }
    bool silent() const { return silent_until_ != never; }
    TrainingSet on_set_sent(Instant now);

    void on_deadline(Instant now);
    Instant deadline() const { return earliest(silent_until_, repeat_.deadline()); }

    std::uint8_t own_number() const { return own_; }
    /// The number in the last set of the peer, perhaps of the training before.
    std::optional<std::uint8_t> peers_number() const { return peers_; }

    /// Without the two numbers: they are only compared and counted on.
    void fingerprint_without_numbers(Instant now, Fingerprint& sink) const;

private:
    Duration retrain_time_;
    std::uint32_t train_every_;
    std::uint32_t numbers_;
    FlitTimer repeat_;
    Instant silent_until_ = never;
    bool running_ = true;
    bool fresh_ = true;
    bool owes_ = true;
    bool lost_ = false;
    std::uint8_t own_ = 1;
    bool heard_ = false;                 // a set has arrived in this training
    std::optional<std::uint8_t> peers_;  // of the last set, perhaps of the training before
};

}  // namespace wireproof::cxl
