#include "wireproof/proto/hippi/config.hpp"

#include <algorithm>
#include <string>

#include "wireproof/base/random.hpp"

namespace wireproof::hippi {

void Config::set_times(const LinkFigures& link) {
    // The answer may wait behind a unit that has just begun to leave, and takes the time of a unit
    // itself.
    loop = link.one_way * 2 + link.micropacket * 3;
    null_after = link.micropacket * 8;
    retry_after = loop * 4;
    start_again_after = loop * 10;
}

Config Config::for_link(const LinkFigures& link) {
    Config config;
    config.set_times(link);
    return config;
}

Config Config::of_datagrams() {
    Config config;
    config.null_after = Duration();
    config.loop = Duration::milliseconds(1);
    config.retry_after = Duration::milliseconds(20);
    config.retry_floor = Duration::milliseconds(2);
    config.backs_off = true;
    // A reset would not help on a path that always loses some frames. The owner of the link gives
    // it up by unanswered().
    config.retries_max = retries_unlimited;
    config.start_again_after = Duration::milliseconds(20);
    return config;
}

Expected<void> Config::check() const {
    const auto text = [](std::uint64_t value) { return std::to_string(value); };
    if (modulus < 2 || modulus > no_number) {
        return unexpected("modulus is 2 to 255, not " + text(modulus));
    }
    if (w_max < 1 || w_max >= modulus) {  // HIPPI-5, HIPPI-33
        return unexpected(
            "window " + text(w_max) + " must be 1 to " + text(modulus - 1) + ": with all " +
            text(modulus) +
            " numbers outstanding, the acknowledgement of none and of all look alike");
    }
    if (first_number >= modulus) {
        return unexpected("first number " + text(first_number) + " is not below the modulus " +
                          text(modulus));
    }
    if (retries_max < 1) return unexpected("a link without retries would reset at every timeout");
    if (retry_after <= loop || retry_after <= null_after) {
        return unexpected(
            "the retry timer must be longer than the loop and than the wait for a null");
    }
    if (retry_floor != Duration{} &&
        (retry_floor <= loop || retry_floor <= null_after || retry_floor > retry_after)) {
        return unexpected(
            "the shortest retry timer must be longer than the loop and than the wait for a null, "
            "and not longer than the first");
    }
    if (null_after < Duration{} || loop < Duration{}) {
        return unexpected("the wait for a null and the loop cannot be negative");
    }
    if (start_again_after <= Duration{}) return unexpected("INIT must be repeated after some time");
    if (buffers[0] == 0) return unexpected("virtual channel 0 needs at least one buffer");
    if (message_max < data_size) {
        return unexpected("messages of " + text(message_max) +
                          " bytes are shorter than one unit's " + text(data_size));
    }
    if (messages_queued < 1) return unexpected("there must be a place for one message to wait");
    return {};
}

std::uint32_t Config::surely_behind() const {
    return std::min(w_max, modulus - std::min(w_max, modulus));
}

std::uint64_t Config::terms() const {
    std::uint64_t digest = 1;  // version of the wire format
    const auto add = [&digest](std::uint64_t figure) { digest = mix64(digest ^ mix64(figure)); };
    add(modulus);
    add(w_max);
    add(first_number);
    add(message_max);
    add(check_messages ? 1 : 0);
    return digest;
}

}  // namespace wireproof::hippi
