#include "wireproof/proto/hippi/outgoing_channel.hpp"

#include <algorithm>

namespace wireproof::hippi {

OutgoingChannel::OutgoingChannel(const Config& config, std::uint8_t channel)
    : channel_(channel),
      lent_(config.lent),
      check_(config.check_messages),
      messages_({config.messages_queued, config.message_max, config.lent}) {}

// HIPPI-1: 32 bytes in each unit. A header unit comes first if the length is not a multiple of 32.
Unit OutgoingChannel::next_unit() {
    const ConstBytes message = messages_.message(0);
    Unit unit;
    unit.control.channel = channel_;
    const bool whole_units = !message.empty() && message.size() % data_size == 0;
    if (!whole_units && !header_sent_) {
        unit.control.type = Type::header;
        HeaderBody{.length = message.size()}.encode(unit.copy);
        header_sent_ = true;
        unit.control.tail = message.empty();
    } else {
        unit.control.type = Type::data;
        const ConstBytes data = message.subspan(cut_, std::min(data_size, message.size() - cut_));
        if (lent_ && data.size() == data_size) {
            unit.lent = data;
        } else {
            std::copy(data.begin(), data.end(), unit.copy.begin());
        }
        cut_ += data.size();
        unit.control.tail = cut_ == message.size();
    }
    if (check_) {
        ecrc_.add(unit.data());
        unit.control.ecrc = ecrc_.value();
    }
    if (unit.control.tail) {
        messages_.pop(1);
        begin_message();
    }
    return unit;
}

void OutgoingChannel::begin_message() {
    header_sent_ = false;
    cut_ = 0;
    ecrc_ = {};
}

void OutgoingChannel::reset() {
    messages_.clear();
    begin_message();
}

void OutgoingChannel::fingerprint(Fingerprint& sink) const {
    sink.add(messages_.size());
    sink.add(header_sent_);
    sink.add(cut_);
    sink.add(ecrc_.value());
    for (std::size_t i = 0; i < messages_.size(); ++i) {
        const ConstBytes message = messages_.message(i);
        sink.add(message.size());
        sink.add_bytes(i == 0 ? message.subspan(cut_) : message);
    }
}

}  // namespace wireproof::hippi
