#include "wireproof/proto/pcie/flow_credit.hpp"

namespace wireproof::pcie {
namespace {

// PCIE-29: the TLP fits if (LIMIT - (CONSUMED + need)) mod 2^n is at most half of 2^n.
bool fits(const CreditCounter& limit, const CreditCounter& used, std::uint32_t need) {
    return limit.ahead_of(used.value() + need) <= limit.half();
}

// PCIE-29: a value that seems to be half of the circle ahead, or more, is from an old UpdateFC.
void raise(CreditCounter& limit, std::uint32_t to) {
    CreditCounter told = limit;
    told.set(to);
    if (told.ahead_of(limit.value()) < limit.half()) limit = told;
}

}  // namespace

void CreditGate::start(Credits advertised) {
    reset();
    header_limit_.set(advertised.headers);
    data_limit_.set(advertised.data);
    headers_infinite_ = advertised.headers == 0;
    data_infinite_ = advertised.data == 0;
}

void CreditGate::update(Credits limit) {
    if (!headers_infinite_) raise(header_limit_, limit.headers);
    if (!data_infinite_) raise(data_limit_, limit.data);
}

bool CreditGate::allows(Credits need) const {
    return (headers_infinite_ || fits(header_limit_, headers_used_, need.headers)) &&
           (data_infinite_ || fits(data_limit_, data_used_, need.data));
}

void CreditGate::consume(Credits need) {
    if (!headers_infinite_) headers_used_.advance(need.headers);
    if (!data_infinite_) data_used_.advance(need.data);
}

void CreditGate::fingerprint(Fingerprint& sink) const {
    sink.add(header_limit_.value());
    sink.add(data_limit_.value());
    sink.add(headers_used_.value());
    sink.add(data_used_.value());
    sink.add(headers_infinite_);
    sink.add(data_infinite_);
}

CreditGrant::CreditGrant(Credits advertised)
    : advertised_(advertised), headers_(8, advertised.headers), data_(12, advertised.data) {}

bool CreditGrant::take(Credits need) {
    if (advertised_.headers > 0) {
        headers_.advance(need.headers);
        untold_.headers += need.headers;
    }
    if (advertised_.data > 0) {
        data_.advance(need.data);
        untold_.data += need.data;
    }
    return 2 * untold_.headers > advertised_.headers || 2 * untold_.data > advertised_.data;
}

Credits CreditGrant::tell() {
    untold_ = {};
    return {advertised_.headers > 0 ? headers_.value() : 0,
            advertised_.data > 0 ? data_.value() : 0};
}

void CreditGrant::fingerprint(Fingerprint& sink) const {
    sink.add(headers_.value());
    sink.add(data_.value());
    sink.add(untold_.headers);
    sink.add(untold_.data);
}

}  // namespace wireproof::pcie
