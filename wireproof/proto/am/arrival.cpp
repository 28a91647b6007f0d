#include "wireproof/proto/am/arrival.hpp"

#include <type_traits>

namespace wireproof::am {
namespace {

template <class B>
Body body_in(ConstBytes data) {
    if (data.size() < B::size) return {};
    return B::decode(data.first<B::size>());
}

}  // namespace

Arrival Arrival::read(Layout layout, const RxFrame& frame) {
    const bool whole = frame.bytes.size() >= header_size_of(layout);
    return of(whole ? read_words(layout, frame.bytes) : HeaderWords(), frame);
}

Body read_body(Kind kind, std::uint32_t id, ConstBytes data) {
    switch (kind) {
        case Kind::open: return body_in<OpenBody>(data);
        case Kind::get_request: return body_in<GetBody>(data);
        case Kind::reply: return id == 0 ? body_in<RefusalBody>(data) : Body();
        case Kind::nack: return body_in<NackBody>(data);
        case Kind::hello: return body_in<HelloBody>(data);
        default: return {};
    }
}

std::size_t size_of(const Body& body) {
    return std::visit(
        []<class B>(const B&) -> std::size_t {
            if constexpr (std::is_same_v<B, std::monostate>) {
                return 0;
            } else {
                return B::size;
            }
        },
        body);
}

void encode(const Body& body, Bytes to) {
    std::visit(
        [to]<class B>(const B& values) {
            if constexpr (!std::is_same_v<B, std::monostate>) values.encode(to.first<B::size>());
        },
        body);
}

}  // namespace wireproof::am
