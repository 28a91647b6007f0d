// A wire chosen at run time. It meets the Wire concept itself, so pumps and fronts take it as any
// other; the price is a virtual call per frame and step. What some wires offer beyond the contract
// it offers always, with a neutral answer where the wire inside has none.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "wireproof/core/wire.hpp"

namespace wireproof::host {

/// The wire inside an AnyWire, as its lanes see it too.
class ErasedWire {
public:
    virtual ~ErasedWire() = default;

    virtual LaneTerms terms(PeerId peer) = 0;
    virtual TxFrame* claim(PeerId peer) = 0;
    virtual void commit(PeerId peer) = 0;

    virtual std::optional<RxFrame> receive(Instant now) = 0;
    virtual void flush(Instant now) = 0;
    virtual std::optional<std::pair<PeerId, WireEvent>> next_event() = 0;
    virtual Instant next_deadline() const = 0;

    virtual int wait_handle() const = 0;
    virtual bool prepare_to_sleep() = 0;
    virtual void settle(PeerId peer) = 0;
    virtual void unsettle(PeerId peer) = 0;
};

/// `Held` is a wire, or a reference to one.
template <class Held>
class ErasedWireOf final : public ErasedWire {
public:
    explicit ErasedWireOf(Held wire) : wire_(std::forward<Held>(wire)) {}

    LaneTerms terms(PeerId peer) override { return wire_.lane(peer).terms(); }
    TxFrame* claim(PeerId peer) override { return wire_.lane(peer).claim(); }
    void commit(PeerId peer) override { wire_.lane(peer).commit(); }

    std::optional<RxFrame> receive(Instant now) override { return wire_.receive(now); }
    void flush(Instant now) override { wire_.flush(now); }
    std::optional<std::pair<PeerId, WireEvent>> next_event() override { return wire_.next_event(); }
    Instant next_deadline() const override { return wire_.next_deadline(); }

    int wait_handle() const override {
        if constexpr (requires { wire_.wait_handle(); }) return wire_.wait_handle();
        return -1;
    }
    bool prepare_to_sleep() override {
        if constexpr (requires { wire_.prepare_to_sleep(); }) return wire_.prepare_to_sleep();
        return true;
    }
    void settle(PeerId peer) override {
        if constexpr (requires { wire_.settle(peer); }) wire_.settle(peer);
    }
    void unsettle(PeerId peer) override {
        if constexpr (requires { wire_.unsettle(peer); }) wire_.unsettle(peer);
    }

private:
    Held wire_;
};

class AnyLane {
public:
    LaneTerms terms() const { return wire_->terms(peer_); }
    TxFrame* claim() { return wire_->claim(peer_); }
    void commit() { wire_->commit(peer_); }

private:
    friend class AnyWire;

    AnyLane(ErasedWire* wire, PeerId peer) : wire_(wire), peer_(peer) {}

    ErasedWire* wire_;
    PeerId peer_;
};

class AnyWire {
public:
    /// Takes the wire over.
    template <Wire W>
    requires(!std::is_same_v<W, AnyWire>) explicit AnyWire(W wire)
        : wire_(std::make_unique<ErasedWireOf<W>>(std::move(wire))) {}

    /// Only borrows the wire, which must outlive this: for who still wants to ask it, say, its
    /// counters.
    template <Wire W>
    explicit AnyWire(std::reference_wrapper<W> wire)
        : wire_(std::make_unique<ErasedWireOf<W&>>(wire.get())) {}

    AnyLane& lane(PeerId peer) {
        while (lanes_.size() <= static_cast<std::size_t>(peer)) {
            lanes_.push_back(AnyLane(wire_.get(), static_cast<PeerId>(lanes_.size())));
        }
        return lanes_[static_cast<std::size_t>(peer)];
    }

    std::optional<RxFrame> receive(Instant now) { return wire_->receive(now); }
    void flush(Instant now) { wire_->flush(now); }
    std::optional<std::pair<PeerId, WireEvent>> next_event() { return wire_->next_event(); }
    Instant next_deadline() const { return wire_->next_deadline(); }

    /// A descriptor that becomes readable when frames come; -1 where there is none.
    int wait_handle() const { return wire_->wait_handle(); }
    /// False: something came meanwhile, do not sleep.
    bool prepare_to_sleep() { return wire_->prepare_to_sleep(); }
    /// The peer's address is now its own, or again anybody's. See UDP's open places.
    void settle(PeerId peer) { wire_->settle(peer); }
    void unsettle(PeerId peer) { wire_->unsettle(peer); }

private:
    std::unique_ptr<ErasedWire> wire_;  // lanes point at it
    std::deque<AnyLane> lanes_;         // a deque, so that a new lane leaves the others in place
};

static_assert(Lane<AnyLane>);
static_assert(Wire<AnyWire>);

}  // namespace wireproof::host
