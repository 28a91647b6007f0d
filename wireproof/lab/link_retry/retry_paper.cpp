#include "wireproof/lab/link_retry/retry_paper.hpp"

#include <algorithm>
#include <cmath>

namespace wireproof::lab::paper {
namespace {

constexpr double message = 4096;
constexpr double message_micropackets = 5120;  // 128 of 40 bytes
constexpr double micropacket_retry = 2000;     // 50 of 40 bytes

template <class EtrAfter>
double average(double message_error, EtrAfter&& etr_after) {
    double sum = 0;
    double share = 1 - message_error;
    for (int retries = 0; share > 0; ++retries, share *= message_error) {
        const double more = share * etr_after(retries);
        if (sum + more == sum) break;
        sum += more;
    }
    return sum;
}

}  // namespace

double tlp_etr_printed(int retries) {
    if (retries == 0) return tlp.efficiency();
    return message / (retries * (1 + tlps_lost) * tlp.bytes());
}

double tlp_etr(int retries) {
    return message / ((1 + retries * tlps_lost) * tlp.bytes());
}

double micropacket_etr(int retries) {
    return message / (message_micropackets + retries * micropacket_retry);
}

double tlp_average(double message_error) {
    return average(message_error, tlp_etr_printed);
}

double micropacket_average(double message_error) {
    return average(message_error, micropacket_etr);
}

double equal_message_error() {
    double low = 0.1;
    double high = 0.9;
    while (true) {
        const double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high) return middle;
        (tlp_average(middle) > micropacket_average(middle) ? low : high) = middle;
    }
}

double message_bit_error(double message_error) {
    return bit_error_of(message_error, message);
}

double tlp_etr_with_acks() {
    return tlp.payload / (tlp.bytes() + dllp_bytes);
}

std::array<RetryCurve, 2> corrected_curves() {
    return {RetryCurve{RetryScheme::fresh_notice, tlp, {.by_notice = tlps_lost}},
            RetryCurve{RetryScheme::fresh_notice, micropacket, {.by_notice = micropackets_lost}}};
}

std::array<RetryCurve, 2> curves_with_loop(double loop) {
    const auto curve = [loop](const LineUnit& unit) {
        return RetryCurve{RetryScheme::fresh_notice, unit,
                          FailureCosts::of({.unit = unit.bytes(), .loop = loop})};
    };
    return {curve(tlp), curve(micropacket)};
}

// While the loop grows, each error costs more and more micropackets, and the crossover rises. Where
// an error costs one packet more, the crossover falls. So the extremes are just before and just
// after those loops.
std::array<double, 2> crossovers_with_loops(double first, double last) {
    std::array<double, 2> range = {1, 0};
    const auto look = [&range](double loop) {
        const auto [left, right] = curves_with_loop(loop);
        const double b = crossover(left, right).value();
        range = {std::min(range[0], b), std::max(range[1], b)};
    };
    look(first);
    for (double loop = tlp.bytes() * std::ceil(first / tlp.bytes()); loop <= last;
         loop += tlp.bytes()) {
        look(loop);
        if (loop + 1 <= last) look(loop + 1);
    }
    look(last);
    return range;
}

std::array<Figure, 11> figures() {
    return {{{"ETR of a packet, no error", 0.9932, tlp_etr_printed(0)},
             {"ETR of a packet, 1 retry", 0.248, tlp_etr(1)},
             {"ETR of a packet, 2 retries", 0.124, tlp_etr(2)},
             {"ETR of a packet, 3 retries", 0.082, tlp_etr(3)},
             {"ETR of micropackets, no error", 0.80, micropacket_etr(0)},
             {"ETR of micropackets, 1 retry", 0.575, micropacket_etr(1)},
             {"ETR of micropackets, 2 retries", 0.449, micropacket_etr(2)},
             {"message error at a bit error rate of 1e-15", 3.3e-11, unit_error(1e-15, message)},
             {"ETR with an acknowledgement a packet, no error", 0.9912, tlp_etr_with_acks()},
             {"message error where both are equal", 0.40, equal_message_error()},
             {"bit error rate where both are equal", printed_crossover,
              message_bit_error(equal_message_error())}}};
}

}  // namespace wireproof::lab::paper
