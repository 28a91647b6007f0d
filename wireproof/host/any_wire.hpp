// A wire that is chosen at run time. It meets the Wire concept itself, so pumps and fronts use it
// like any other wire. The price is a virtual call per frame and step. It always has the optional
// calls, too; if the wire inside does not have one, the answer is neutral. A wire that has one with
// other types does not compile here.
#pragma once

#include <concepts>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "wireproof/base/expected.hpp"
#include "wireproof/core/around_wire.hpp"

namespace wireproof::host {

/// A lane of the wire inside an AnyWire.
class ErasedLane {
public:
    virtual ~ErasedLane() = default;

    virtual LaneCapabilities capabilities() const = 0;
    virtual TxFrame* claim() = 0;
    virtual void commit() = 0;
    virtual void publish() = 0;
    virtual FrameRun claim_run(std::size_t size, std::size_t most) = 0;
    virtual void commit_run(const FrameRun& run) = 0;
};

template <Lane L>
class ErasedLaneOf final : public ErasedLane {
public:
    explicit ErasedLaneOf(L& lane) : lane_(lane) {}

    LaneCapabilities capabilities() const override { return lane_.capabilities(); }
    TxFrame* claim() override { return lane_.claim(); }
    void commit() override { lane_.commit(); }
    void publish() override {
        if constexpr (PromptLane<L>) lane_.publish();
    }
    FrameRun claim_run(std::size_t size, std::size_t most) override {
        if constexpr (RunLane<L>) return lane_.claim_run(size, most);
        return {};
    }
    void commit_run(const FrameRun& run) override {
        if constexpr (RunLane<L>) lane_.commit_run(run);
    }

private:
    L& lane_;
};

/// The wire inside an AnyWire.
class ErasedWire {
public:
    virtual ~ErasedWire() = default;

    /// The first call gets the lane from the wire. Later calls return the same lane.
    virtual ErasedLane& lane(PeerId peer) = 0;

    virtual std::optional<RxFrame> receive(Instant now) = 0;
    virtual RxRun following() const = 0;
    virtual void take_following(std::size_t frames) = 0;
    virtual void flush(Instant now) = 0;
    // Not an optional pair: each turn makes this call, and a bool comes back in a register.
    virtual bool next_event(PeerId& from, WireEvent& event) = 0;
    virtual Instant next_deadline() const = 0;

    virtual bool is_still(Instant now) const = 0;
    virtual void expect_single() = 0;
    virtual int wait_handle() const = 0;
    virtual bool prepare_to_sleep() = 0;
    virtual void settle(PeerId peer) = 0;
    virtual void unsettle(PeerId peer) = 0;
    virtual PeerTrouble trouble(PeerId peer) const = 0;
    virtual void abandon() = 0;

    virtual Expected<Bytes> allocate_shared(std::size_t bytes) = 0;
    virtual bool free_shared(Bytes memory) = 0;
    virtual bool share(PeerId peer, std::uint64_t address, Bytes memory, bool readable,
                       bool writable) = 0;
    virtual void unshare(PeerId peer, std::uint64_t address) = 0;
    virtual bool unshared(PeerId peer, std::uint64_t address) const = 0;
    virtual bool write_memory(PeerId peer, std::uint64_t address, ConstBytes source) = 0;
    virtual bool read_memory(PeerId peer, std::uint64_t address, Bytes destination) = 0;
};

/// A wire that accesses the memory of peers. ShmWire (wire/shm) says what each call means. A
/// wrapper that must see all traffic, such as a faulty wire, leaves all of these out.
template <class W>
concept ReachesMemory = requires(W wire, const W& idle, PeerId peer, std::uint64_t address,
                                 Bytes bytes) {
    { wire.allocate_shared(bytes.size()) } -> std::same_as<Expected<Bytes>>;
    { wire.free_shared(bytes) } -> std::same_as<bool>;
    { wire.share(peer, address, bytes, true, true) } -> std::same_as<bool>;
    { wire.unshare(peer, address) } -> std::same_as<void>;
    { idle.unshared(peer, address) } -> std::same_as<bool>;
    { wire.write_memory(peer, address, ConstBytes(bytes)) } -> std::same_as<bool>;
    { wire.read_memory(peer, address, bytes) } -> std::same_as<bool>;
};

/// A wire that knows at once whether there is nothing to do.
template <class W>
concept StillWire = requires(W wire, const W& idle, Instant now) {
    { idle.is_still(now) } -> std::same_as<bool>;
    { wire.expect_single() } -> std::same_as<void>;
};

/// False: the wire has some of these calls only, or with other types; they would never be made.
template <class W>
inline constexpr bool has_whole_groups =
    (StillWire<W> || !(
                         requires { &W::is_still; } || requires { &W::expect_single; })) &&
    (ReachesMemory<W> ||
     !(
         requires { &W::allocate_shared; } || requires { &W::free_shared; } ||
         requires { &W::share; } || requires { &W::unshare; } || requires { &W::unshared; } ||
         requires { &W::write_memory; } || requires { &W::read_memory; }));

/// `Held` is a wire, or a reference to one.
template <class Held, class W = std::remove_reference_t<Held>>
class ErasedWireOf final : public ErasedWire, private AroundWire<ErasedWireOf<Held>, W> {
    using Around = AroundWire<ErasedWireOf, W>;
    friend Around;
    static_assert(has_whole_groups<W>);

public:
    explicit ErasedWireOf(Held wire) : wire_(std::forward<Held>(wire)) {}

    W& inner() { return wire_; }
    const W& inner() const { return wire_; }

    ErasedLane& lane(PeerId peer) override {
        using Inside = std::remove_reference_t<decltype(wire_.lane(peer))>;
        const auto number = static_cast<std::size_t>(peer);
        if (lanes_.size() <= number) lanes_.resize(number + 1);
        auto& place = lanes_[number];
        if (place == nullptr) place = std::make_unique<ErasedLaneOf<Inside>>(wire_.lane(peer));
        return *place;
    }

    std::optional<RxFrame> receive(Instant now) override { return wire_.receive(now); }
    RxRun following() const override {
        if constexpr (RunWire<W>) return wire_.following();
        return {};
    }
    void take_following(std::size_t frames) override {
        if constexpr (RunWire<W>) wire_.take_following(frames);
    }
    void flush(Instant now) override { wire_.flush(now); }
    bool next_event(PeerId& from, WireEvent& event) override {
        const auto next = wire_.next_event();
        if (!next) return false;
        from = next->first;
        event = next->second;
        return true;
    }
    Instant next_deadline() const override { return wire_.next_deadline(); }

    bool is_still(Instant now) const override {
        if constexpr (StillWire<W>) return wire_.is_still(now);
        return false;
    }
    void expect_single() override {
        if constexpr (StillWire<W>) wire_.expect_single();
    }
    int wait_handle() const override { return Around::wait_handle(); }
    bool prepare_to_sleep() override { return Around::prepare_to_sleep(); }
    void settle(PeerId peer) override { Around::settle(peer); }
    void unsettle(PeerId peer) override { Around::unsettle(peer); }
    void abandon() override { Around::abandon(); }
    PeerTrouble trouble(PeerId peer) const override { return Around::trouble(peer); }

    Expected<Bytes> allocate_shared(std::size_t bytes) override {
        if constexpr (reaches_memory) return wire_.allocate_shared(bytes);
        return unexpected("this wire shares no memory");
    }
    bool free_shared(Bytes memory) override {
        if constexpr (reaches_memory) return wire_.free_shared(memory);
        return false;
    }
    bool share(PeerId peer, std::uint64_t address, Bytes memory, bool readable,
               bool writable) override {
        if constexpr (reaches_memory) {
            return wire_.share(peer, address, memory, readable, writable);
        }
        return false;
    }
    void unshare(PeerId peer, std::uint64_t address) override {
        if constexpr (reaches_memory) wire_.unshare(peer, address);
    }
    bool unshared(PeerId peer, std::uint64_t address) const override {
        if constexpr (reaches_memory) return wire_.unshared(peer, address);
        return true;
    }
    bool write_memory(PeerId peer, std::uint64_t address, ConstBytes source) override {
        if constexpr (reaches_memory) return wire_.write_memory(peer, address, source);
        return false;
    }
    bool read_memory(PeerId peer, std::uint64_t address, Bytes destination) override {
        if constexpr (reaches_memory) return wire_.read_memory(peer, address, destination);
        return false;
    }

private:
    static constexpr bool reaches_memory = ReachesMemory<W>;

    Held wire_;
    std::vector<std::unique_ptr<ErasedLane>> lanes_;  // by peer
};

class AnyLane {
public:
    LaneCapabilities capabilities() const { return wire_->lane(peer_).capabilities(); }
    TxFrame* claim() { return inside().claim(); }
    void commit() { inside().commit(); }
    void publish() { inside().publish(); }
    FrameRun claim_run(std::size_t size, std::size_t most) {
        return inside().claim_run(size, most);
    }
    void commit_run(const FrameRun& run) { inside().commit_run(run); }

private:
    friend class AnyWire;

    AnyLane(ErasedWire* wire, PeerId peer) : wire_(wire), peer_(peer) {}

    ErasedLane& inside() {
        if (lane_ == nullptr) lane_ = &wire_->lane(peer_);
        return *lane_;
    }

    ErasedWire* wire_;
    ErasedLane* lane_ = nullptr;  // set when it is first needed: a wire may learn of a peer later
    PeerId peer_;
};

class AnyWire {
public:
    /// Takes ownership of the wire.
    template <Wire W>
    requires(!std::is_same_v<W, AnyWire>) explicit AnyWire(W wire)
        : wire_(std::make_unique<ErasedWireOf<W>>(std::move(wire))) {}

    /// Borrows the wire, which must outlive this object. The caller can then still use the wire
    /// itself, for example read its counters.
    template <Wire W>
    explicit AnyWire(std::reference_wrapper<W> wire)
        : wire_(std::make_unique<ErasedWireOf<W&>>(wire.get())) {}

    /// The wire inside, if it is a W; otherwise nullptr.
    template <Wire W>
    W* as() {
        if (auto* const held = dynamic_cast<ErasedWireOf<W>*>(wire_.get())) return &held->inner();
        if (auto* const lent = dynamic_cast<ErasedWireOf<W&>*>(wire_.get())) return &lent->inner();
        return nullptr;
    }

    AnyLane& lane(PeerId peer) {
        while (lanes_.size() <= static_cast<std::size_t>(peer)) {
            lanes_.push_back(AnyLane(wire_.get(), static_cast<PeerId>(lanes_.size())));
        }
        return lanes_[static_cast<std::size_t>(peer)];
    }

    std::optional<RxFrame> receive(Instant now) { return wire_->receive(now); }
    RxRun following() const { return wire_->following(); }
    void take_following(std::size_t frames) { wire_->take_following(frames); }
    void flush(Instant now) { wire_->flush(now); }
    std::optional<std::pair<PeerId, WireEvent>> next_event() {
        PeerId from{};
        WireEvent event{};
        if (!wire_->next_event(from, event)) return std::nullopt;
        return std::pair(from, event);
    }
    Instant next_deadline() const { return wire_->next_deadline(); }

    /// True: receive and next_event would return nothing now, and flush would do nothing. One call
    /// for a caller that polls. False also if a wire cannot tell, or not as cheaply.
    bool is_still(Instant now) const { return wire_->is_still(now); }
    void expect_single() { wire_->expect_single(); }

    /// A descriptor that becomes readable when frames come; -1 if there is none.
    int wait_handle() const { return wire_->wait_handle(); }
    /// False: something has arrived meanwhile, and the caller must not sleep.
    bool prepare_to_sleep() { return wire_->prepare_to_sleep(); }
    /// settle: the peer keeps its address. unsettle: any new source may take its place again. See
    /// the open places of UdpWire.
    void settle(PeerId peer) { wire_->settle(peer); }
    void unsettle(PeerId peer) { wire_->unsettle(peer); }
    /// In a forked child: releases what the parent shares with its peers. See ForkWatch.
    void abandon() { wire_->abandon(); }
    /// What the kernel reported about a peer that cannot be reached; empty if a wire knows nothing.
    PeerTrouble trouble(PeerId peer) const { return wire_->trouble(peer); }

    /// Memory that peers access with one copy; see ShmWire. A wire without these calls shares
    /// nothing and copies nothing. Callers must expect this from any wire at any time.
    Expected<Bytes> allocate_shared(std::size_t bytes) { return wire_->allocate_shared(bytes); }
    bool free_shared(Bytes memory) { return wire_->free_shared(memory); }
    bool share(PeerId peer, std::uint64_t address, Bytes memory, bool readable, bool writable) {
        return wire_->share(peer, address, memory, readable, writable);
    }
    void unshare(PeerId peer, std::uint64_t address) { wire_->unshare(peer, address); }
    bool unshared(PeerId peer, std::uint64_t address) const {
        return wire_->unshared(peer, address);
    }
    bool write_memory(PeerId peer, std::uint64_t address, ConstBytes source) {
        return wire_->write_memory(peer, address, source);
    }
    bool read_memory(PeerId peer, std::uint64_t address, Bytes destination) {
        return wire_->read_memory(peer, address, destination);
    }

private:
    std::unique_ptr<ErasedWire> wire_;  // lanes_ point to it
    std::deque<AnyLane> lanes_;         // a deque, so that a new lane does not move the others
};

static_assert(RunLane<AnyLane> && PromptLane<AnyLane>);
static_assert(RunWire<AnyWire>);

}  // namespace wireproof::host
