#include "wireproof/proto/am/receive/receiver.hpp"

#include <utility>

#include "wireproof/base/overlap.hpp"

namespace wireproof::am {

Receiver::Receiver(const Config& config, const MemoryTable& memory,
                   std::array<Incoming::Buffers, channel_count> buffers, Ring<Delivery> ended)
    : deliveries(std::move(ended)),
      memory_(&memory),
      channels_{Incoming(config, Channel::request, std::move(buffers[0])),
                Incoming(config, Channel::reply, std::move(buffers[1]))} {}

bool Receiver::owe_acks() {
    bool any = false;
    for (Incoming& channel : channels_) {
        if (channel.window.owed() == 0) continue;
        channel.window.owe_ack();
        any = true;
    }
    return any;
}

bool Receiver::touches(ConstBytes memory) const {
    if (memory.empty()) return false;
    for (const Incoming& channel : channels_) {
        for (const ArrivingTransfer& transfer : channel.transfers) {
            if (transfer.active && !transfer.all().empty() && overlap(transfer.all(), memory))
                return true;
        }
    }
    return false;
}

void Receiver::exchange(std::array<Incoming::Buffers, channel_count>& buffers,
                        Ring<Delivery>& ended) {
    for (std::size_t i = 0; i < channel_count; ++i) channels_[i].exchange(buffers[i]);
    deliveries.exchange(ended);
}

void Receiver::reset() {
    for (Incoming& channel : channels_) channel.reset();
    deliveries.reset();
    stall_ = {};
    note_refusal_ = NoteRefusal::none;
    overrun_ = false;
}

void Receiver::fingerprint(Fingerprint& sink) const {
    for (const Incoming& channel : channels_) channel.fingerprint(sink);
    deliveries.fingerprint(sink);
    sink.add(note_refusal_);
    stall_.fingerprint(sink);
    sink.add(overrun_);
}

}  // namespace wireproof::am
