#include "wireproof/proto/hippi/incoming_channel.hpp"

#include <algorithm>

namespace wireproof::hippi {

IncomingChannel::Took IncomingChannel::take(const Control& control,
                                            std::span<const std::byte, data_size> data) {
    marked_bad_ = marked_bad_ || control.error;
    if (check_ && !marked_bad_) {
        ecrc_.add(data);
        if (ecrc_.value() != control.ecrc) return Took::bad_check;
    }
    const Took took =
        control.type == Type::header ? take_header(control, data) : take_data(control, data);
    if (took == Took::part) {
        begun_ = true;
        return took;
    }
    const bool bad = marked_bad_;
    const std::size_t size = has_header_ ? length_ : filled_;
    reset();
    if (took == Took::message && bad) return Took::discarded;
    if (took == Took::message) whole_ = size;
    return took;
}

IncomingChannel::Took IncomingChannel::take_header(const Control& control,
                                                   std::span<const std::byte, data_size> data) {
    const auto header = HeaderBody::decode(data);
    if (begun_ || !header || header->length > message_max_) return Took::nonsense;
    if (control.tail != (header->length == 0)) return Took::nonsense;
    has_header_ = true;
    length_ = static_cast<std::size_t>(header->length);
    return control.tail ? Took::message : Took::part;
}

IncomingChannel::Took IncomingChannel::take_data(const Control& control,
                                                 std::span<const std::byte, data_size> data) {
    const std::size_t after = filled_ + data_size;
    if (has_header_) {
        // The last unit is the one in which the length ends.
        if (control.tail != (after >= length_)) return Took::nonsense;
    } else if (after > message_max_) {
        return Took::nonsense;
    }
    const Bytes memory = memory_.bytes();
    std::copy(data.begin(), data.end(), memory.begin() + static_cast<std::ptrdiff_t>(filled_));
    filled_ = after;
    return control.tail ? Took::message : Took::part;
}

void IncomingChannel::reset() {
    begun_ = has_header_ = marked_bad_ = false;
    length_ = filled_ = 0;
    ecrc_ = {};
}

void IncomingChannel::fingerprint(Fingerprint& sink) const {
    sink.add(begun_);
    sink.add(has_header_);
    sink.add(marked_bad_);
    sink.add(length_);
    sink.add(ecrc_.value());
    sink.add_bytes(memory_.bytes().first(filled_));
}

}  // namespace wireproof::hippi
