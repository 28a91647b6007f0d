#include <charconv>
#include <cstdlib>

#include "wireproof/host/job/ways.hpp"
#include "wireproof/host/rendezvous/rendezvous.hpp"

namespace wireproof::host {
namespace {

class RendezvousBoard final : public JobBoard {
public:
    RendezvousBoard(JobPlace place, RendezvousPlace at)
        : JobBoard(std::move(place)), at_(std::move(at)) {}

    Expected<std::vector<std::string>> exchange(std::string_view entry,
                                                std::chrono::milliseconds patience) override {
        return rendezvous(at_, entry, patience);
    }

private:
    RendezvousPlace at_;
};

}  // namespace

Expected<WayResult> try_launch() {
    const char* const job = std::getenv("WIREPROOF_JOB");
    if (job == nullptr) return WayResult::lacking("WIREPROOF_JOB is not set");
    auto at = RendezvousPlace::of_environment();
    if (!at) return tl::unexpected(at.error());
    JobPlace place{at->rank, at->size, 0, "wireproof launch"};
    const std::string_view text(job);
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), place.job, 16);
    if (error != std::errc() || end != text.data() + text.size() || text.size() != 16) {
        return unexpected("WIREPROOF_JOB is no number of 16 hexadecimal digits");
    }
    return WayResult::found(std::make_unique<RendezvousBoard>(std::move(place), std::move(*at)));
}

}  // namespace wireproof::host
