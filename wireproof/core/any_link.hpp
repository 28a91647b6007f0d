// A link engine that is chosen at run time. host::AnyWire does the same for wires.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "wireproof/core/link_engine.hpp"

namespace wireproof {

class AnyLink {
public:
    template <class E>
    requires(!std::same_as<E, AnyLink> && LinkEngine<E>) explicit AnyLink(E engine)
        : engine_(std::make_unique<Of<E>>(std::move(engine))) {}

    RxVerdict on_frame(Instant now, const RxFrame& frame) { return engine_->on_frame(now, frame); }
    std::optional<LinkDelivery> next_delivery() { return engine_->next_delivery(); }
    void on_deadline(Instant now) { engine_->on_deadline(now); }
    void on_wire_event(Instant now, WireEvent event) { engine_->on_wire_event(now, event); }
    bool poll_transmit(Instant now, TxFrame& out) { return engine_->poll_transmit(now, out); }
    Instant next_deadline() const { return engine_->next_deadline(); }
    std::size_t message_max() const { return engine_->message_max(); }
    bool has_room() const { return engine_->has_room(); }
    SubmitStatus submit(ConstBytes message) { return engine_->submit(message); }
    const LinkStats& stats() const { return engine_->stats(); }
    Unanswered unanswered() const { return engine_->unanswered(); }

private:
    class Base {
    public:
        virtual ~Base() = default;
        virtual RxVerdict on_frame(Instant now, const RxFrame& frame) = 0;
        virtual std::optional<LinkDelivery> next_delivery() = 0;
        virtual void on_deadline(Instant now) = 0;
        virtual void on_wire_event(Instant now, WireEvent event) = 0;
        virtual bool poll_transmit(Instant now, TxFrame& out) = 0;
        virtual Instant next_deadline() const = 0;
        virtual std::size_t message_max() const = 0;
        virtual bool has_room() const = 0;
        virtual SubmitStatus submit(ConstBytes message) = 0;
        virtual const LinkStats& stats() const = 0;
        virtual Unanswered unanswered() const = 0;
    };

    template <class E>
    class Of final : public Base {
    public:
        explicit Of(E engine) : engine_(std::move(engine)) {}
        RxVerdict on_frame(Instant now, const RxFrame& frame) override {
            return engine_.on_frame(now, frame);
        }
        std::optional<LinkDelivery> next_delivery() override { return engine_.next_delivery(); }
        void on_deadline(Instant now) override { engine_.on_deadline(now); }
        void on_wire_event(Instant now, WireEvent event) override {
            engine_.on_wire_event(now, event);
        }
        bool poll_transmit(Instant now, TxFrame& out) override {
            return engine_.poll_transmit(now, out);
        }
        Instant next_deadline() const override { return engine_.next_deadline(); }
        std::size_t message_max() const override { return engine_.message_max(); }
        bool has_room() const override { return engine_.has_room(); }
        SubmitStatus submit(ConstBytes message) override { return engine_.submit(message); }
        const LinkStats& stats() const override { return engine_.stats(); }
        Unanswered unanswered() const override { return engine_.unanswered(); }

    private:
        E engine_;
    };

    std::unique_ptr<Base> engine_;
};

}  // namespace wireproof
