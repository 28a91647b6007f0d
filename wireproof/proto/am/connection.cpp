#include "wireproof/proto/am/connection.hpp"

#include <algorithm>
#include <utility>

#include "wireproof/proto/am/short_header.hpp"

namespace wireproof::am {
namespace {

// What the peer says with an UNKNOWN about a session that we still have.
SessionEnded told_end(const Header& unknown) {
    using Why = SessionEnded::Why;
    switch (unknown.count) {
        case unknown_silent: return {.why = Why::silent, .by_peer = true};
        case unknown_unanswered:
            return {.why = Why::unanswered,
                    .packet_bytes = unknown.id,
                    .packet_times = unknown.number,
                    .by_peer = true};
        default: return {.why = Why::restarted};
    }
}

Delivery unfolded(const PlainMessage& message) {
    if (message.is_request) return Request{message.handler, message.arguments()};
    return Reply{message.handler, message.arguments()};
}

}  // namespace

Connection::Connection(const Config& config, const MemoryTable& memory, ConnectionBuffers buffers)
    : config_(config),
      memory_(&memory),
      handshake_(config),
      send_{SendChannel(config, Channel::request, std::move(buffers.send[0])),
            SendChannel(config, Channel::reply, std::move(buffers.send[1]))},
      receive_{ReceiveChannel(config, Channel::request, std::move(buffers.receive[0])),
               ReceiveChannel(config, Channel::reply, std::move(buffers.receive[1]))},
      replies_(std::move(buffers.replies)),
      ended_(std::move(buffers.ended)),
      watch_interval_(config.keepalive_after),
      hello_interval_(config.keepalive_after),
      liveness_(config),
      route_(static_cast<std::uint8_t>((config.node + config.peer) % 4)) {}

// What arrives.

[[gnu::noinline]] RxVerdict Connection::on_other_frame(Instant now, const RxFrame& frame) {
    calm_ = false;
    bundle_.left = 0;  // of a frame that is gone
    nothing_to_draw_ = false;
    if (frame.after_overrun) overrun_ = true;
    const bool chunk = accept_chunk_packet(now, frame);
    return note_verdict(now, chunk ? RxVerdict::accepted : judge(now, frame));
}

RxVerdict Connection::judge(Instant now, const RxFrame& frame) {
    if (ending_.active) return RxVerdict::refused;
    if (frame.integrity == Integrity::damaged) return RxVerdict::corrupt;
    const ConstBytes packet = frame.bytes;
    if (packet.size() < config_.header_size() || packet.size() > config_.packet_max) {
        return RxVerdict::malformed;
    }
    if (frame.integrity == Integrity::check &&
        !checksum_holds(config_.layout, packet, config_.trusts_payload)) {
        return RxVerdict::corrupt;
    }
    const auto header = decode(config_.layout, packet);
    if (!header) return RxVerdict::malformed;
    if (header->dst != config_.node || header->src != config_.peer) return RxVerdict::foreign;
    const ConstBytes behind = packet.subspan(config_.header_size());
    if (header->filler > behind.size()) return RxVerdict::malformed;
    const ConstBytes data = behind.first(behind.size() - header->filler);
    if (header->kind == Kind::hello) return on_hello(now, *header, data);
    if (header->kind == Kind::unknown) return on_unknown(*header, data);

    const bool had_session = handshake_.established();
    if (!had_session || header->cookie != handshake_.cookie()) {
        if (!handshake_.completes(header->cookie)) {
            handshake_.on_unknown_session(now, header->cookie);
            return RxVerdict::foreign;
        }
        begin_session(now, had_session);
        if (ending_.active) return RxVerdict::refused;  // the old session is reported first
    }
    commit(now, header->ack);
    switch (header->kind) {
        case Kind::ack: return RxVerdict::control;
        case Kind::nack: on_nack(now, *header, data); return RxVerdict::control;
        case Kind::keepalive: on_keepalive(*header); return RxVerdict::control;
        default: return on_numbered(*header, data);
    }
}

RxVerdict Connection::on_hello(Instant now, const Header& header, ConstBytes data) {
    if (data.size() != HelloBody::size) return RxVerdict::malformed;
    const bool had_session = handshake_.established();
    const auto body = HelloBody::decode(data.first<HelloBody::size>());
    switch (handshake_.on_hello(body, header.count != 0)) {
        case Handshake::Outcome::foreign: return RxVerdict::foreign;
        case Handshake::Outcome::mismatched: ++stats_.hellos_mismatched; return RxVerdict::foreign;
        case Handshake::Outcome::noted: break;
        case Handshake::Outcome::established: begin_session(now, had_session); break;
    }
    return RxVerdict::control;
}

// The peer has begun a new life, or has given our session up, and heard us name it.
RxVerdict Connection::on_unknown(const Header& header, ConstBytes data) {
    if (!data.empty()) return RxVerdict::malformed;
    if (!handshake_.is_disowned(header.cookie, header.offset)) return RxVerdict::foreign;
    give_up(told_end(header));
    return RxVerdict::control;
}

void Connection::on_wire_event(Instant, WireEvent event) {
    calm_ = false;
    bundle_.left = 0;  // of a frame that is gone
    nothing_to_draw_ = false;
    if (ending_.active || !handshake_.established()) return;
    give_up(event == WireEvent::peer_gone ? SessionEnded::Why::gone : SessionEnded::Why::restarted);
}

void Connection::begin_session(Instant now, bool replaces) {
    liveness_.heard(now);
    hello_due_ = false;
    hello_interval_ = config_.keepalive_after;
    timers_.stop(Timer::hello);
    ++stats_.sessions;
    if (replaces) {
        end_session({.why = SessionEnded::Why::restarted});
    } else {
        ended_.push(SessionBegan{});
    }
}

void Connection::end_session(SessionEnded ended) {
    ending_ = Ending{};
    ending_.active = true;
    ending_.ended = ended;
    delivery_.reset();
    plain_here_ = false;
    bundle_.left = 0;
    ended_.clear();
}

// Every unfinished message once, in order, then the end itself.
std::optional<Delivery> Connection::draw_ending() {
    using What = FateUnknown::What;
    for (; ending_.channel < channel_count; ++ending_.channel, ending_.next = 0) {
        const SendWindow& window = send_[ending_.channel].window;
        while (ending_.next < window.saved().size()) {
            const auto& message = window.saved()[ending_.next];
            const std::uint64_t position = message.position + ending_.of_row++;
            const bool more = SendWindow::is_row(message) && ending_.of_row < message.span;
            if (!more) {
                ++ending_.next;
                ending_.of_row = 0;
            }
            const auto handler = static_cast<HandlerId>(message.id);
            if (message.kind == Kind::request) {
                return FateUnknown{What::request, handler, window.data_at(message, position), 0};
            }
            if (message.kind == Kind::reply && message.id != 0) {
                return FateUnknown{What::reply, handler, window.data_at(message, position), 0};
            }
            if (message.kind == Kind::get_request) {
                Incoming& get = receiver(Channel::reply).incoming[message.owner];
                if (!get.active || get.reported) continue;
                get.reported = true;
                return FateUnknown{What::get, {}, {}, get.tag};
            }
            if (ending_.channel != index(Channel::request)) continue;
            if (message.in_place)
                return FateUnknown{
                    What::store, handler_of_note(window, message), {}, message.offset};
            auto& store = sender(Channel::request).bulk.transfers()[message.owner];
            if (store.reported) continue;
            store.reported = true;
            return FateUnknown{What::store, store.handler, {}, store.tag};
        }
    }
    for (; !replies_.empty() && ending_.stage < replies_.waiting().size();) {
        const auto& waiting = replies_.waiting()[ending_.stage++];
        if (waiting.id == 0) continue;
        return FateUnknown{What::reply, static_cast<HandlerId>(waiting.id),
                           replies_.arguments(waiting), 0};
    }
    for (auto& store : sender(Channel::request).bulk.transfers()) {
        if (!store.active || store.reported) continue;
        store.reported = true;
        return FateUnknown{What::store, store.handler, {}, store.tag};
    }
    for (auto& get : receiver(Channel::reply).incoming) {
        if (!get.active || get.reported) continue;
        get.reported = true;
        return FateUnknown{What::get, {}, {}, get.tag};
    }
    const SessionEnded ended = ending_.ended;
    forget_session();
    return ended;
}

void Connection::forget_session() {
    for (SendChannel& channel : send_) channel.reset();
    for (ReceiveChannel& channel : receive_) channel.reset();
    replies_.clear();
    delivery_.reset();
    plain_here_ = false;
    bundle_.left = 0;
    ended_.clear();
    may_reply_ = false;
    drawn_slot_.reset();
    refused_need_ = Need::nothing;
    note_refusal_ = NoteRefusal::none;
    timers_ = {};
    watch_interval_ = config_.keepalive_after;
    hello_interval_ = config_.keepalive_after;
    hello_due_ = false;
    liveness_.reset();
    awaiting_ = false;
    overrun_ = false;
    ending_ = Ending{};
    if (handshake_.established()) ended_.push(SessionBegan{});
}

void Connection::on_ack(Instant now, Channel channel, std::uint32_t expected) {
    SendWindow& window = sender(channel).window;
    const std::uint32_t before = window.under_way();
    const bool progress = window.on_ack(
        expected, [&](const SendWindow::Saved& message) { on_acked(channel, message); });
    if (progress) note_freed(now, channel, before - window.under_way());
}

void Connection::on_acked(Channel channel, const SendWindow::Saved& message) {
    BulkSender& bulk = sender(channel).bulk;
    if (message.kind == Kind::chunk) {
        if (!bulk.on_chunk_acked(message.owner, message.size)) return;
        const auto& transfer = bulk.transfers()[message.owner];
        if (channel == Channel::request) ended_.push(StoreEnded{transfer.tag, transfer.reason});
        bulk.end(message.owner);
    } else if (message.kind == Kind::open && message.in_place) {
        ended_.push(StoreEnded{message.offset, static_cast<Reason>(message.owner)});
    } else if (message.kind == Kind::reply && message.owner == note_owner) {
        note_refusal_ = NoteRefusal::acked;
    } else if (message.kind == Kind::reply && message.owner != 0) {
        receiver(Channel::request).incoming[message.owner - 1].refusal_unacked = false;
    }
}

// Answered in any case (AM-18), with what is missing of all that has left.
void Connection::on_keepalive(const Header& header) {
    ReceiveWindow& window = receiver(header.channel).window;
    window.complain(header.round, window.distance_sent(header.number), true);
}

void Connection::on_nack(Instant now, const Header& header, ConstBytes data) {
    SendWindow& window = sender(header.channel).window;
    const std::uint32_t before = window.under_way();
    const bool valid = window.on_ack(header.number, [&](const SendWindow::Saved& message) {
        on_acked(header.channel, message);
    });
    if (!valid) return;
    const std::uint32_t freed = before - window.under_way();
    sender(header.channel).loop.freed(now, freed);
    refill(header.channel);
    SendWindow::Missing missing;
    missing.round = header.round;
    if (data.size() >= NackBody::size) {
        const auto body = NackBody::decode(data.first<NackBody::size>());
        missing.end = body.end;
        missing.reach = body.reach;
        missing.map = data.subspan(NackBody::size);
    }
    const bool lost = resend_missing(now, header, missing, freed > 0);
    if (ending_.active) return;
    const bool overrun = lost && (header.count & nack_overrun) != 0;
    sender(header.channel).heed_answer(now, missing.end, overrun ? before : 0);
    if (lost) {
        ++stats_.nacks_acted_on;
        stats_.overruns += overrun ? 1 : 0;
        sender(header.channel).loop.resent();
        timers_.set(keepalive_timer(header.channel), now + sender(header.channel).patience());
    }
    const ResendBackoff& backoff = sender(header.channel).backoff;
    if (!backoff.holds_back(now)) return;
    // Sooner, nobody need be asked.
    Duration& interval = sender(header.channel).keepalive_interval;
    interval = std::max(interval, backoff.wait());
    if (!lost) timers_.set(keepalive_timer(header.channel), backoff.next());
}

// What the peer says is missing leaves again; but not for ever, and ever more seldom, if that is
// always the same packet. The session may end here. True: something leaves again.
bool Connection::resend_missing(Instant now, const Header& header,
                                const SendWindow::Missing& missing, bool progress) {
    SendWindow& window = sender(header.channel).window;
    ResendBackoff& backoff = sender(header.channel).backoff;
    if ((header.count & nack_refuses) != 0) {
        // It arrived, so the path carries it. The peer refused it and fetches it later (AM-42).
        (void)window.note_arrived(missing);
        backoff.forget();
        window.afoot().hold_new(false);
        return false;
    }
    if (!backoff.on()) return window.on_nack(missing);
    const bool arrived = window.note_arrived(missing);
    sender(header.channel).follow_missing();
    const std::uint64_t first = window.first_missing();
    // Where the peer has some of what left, what is missing was lost here and there.
    const bool some = arrived || (backoff.times() == 0 && (progress || !missing.map.empty()));
    const bool held = backoff.holds_back(now);
    if (held && config_.recovery == Recovery::go_back_n) return false;
    const bool waits = window.is_lost(first);
    const std::uint32_t others = held ? 0 : backoff.most();
    const bool lost = window.note_lost(
        missing, {.most = some ? ResendBackoff::all : others, .without_first = held});
    if (waits || !window.is_lost(first)) return lost;
    backoff.resends(now);
    // What is behind the packet would not be delivered before it, and would be lost on a path that
    // carries none as long.
    const bool none = !some && sender(header.channel).tries_long();
    window.afoot().hold_new(none || backoff.wait() > Duration());
    if (!backoff.lasts()) return lost;
    give_up({.why = SessionEnded::Why::unanswered,
             .packet_bytes = backoff.bytes(),
             .packet_times = backoff.times() - 1});
    return false;
}

// Room has come, or something that wants it. A chunk that waited goes before replies that came
// later.
void Connection::refill_waiting(Channel channel) {
    SendWindow& window = sender(channel).window;
    BulkSender& bulk = sender(channel).bulk;
    if (channel == Channel::reply) {
        if (bulk.waits()) bulk.admit(window);
        while (!bulk.waits() && !replies_.empty()) {
            const auto& reply = replies_.front();
            const ConstBytes arguments = replies_.arguments(reply);
            const auto words = static_cast<std::uint16_t>(arguments.size() / 4);
            if (!window.push(Kind::reply, reply.id, words, arguments, reply.owner)) break;
            replies_.pop();
        }
    }
    bulk.admit(window);
}

void Connection::unfold_plain() {
    plain_here_ = false;
    delivery_ = unfolded(plain_);
}

std::optional<Delivery> Connection::draw_general() {
    calm_ = false;
    if (plain_here_) unfold_plain();
    if (drawn_slot_) {
        receiver(drawn_channel_).window.free_slot(*drawn_slot_);
        drawn_slot_.reset();
    }
    if (ending_.active) return draw_ending();
    while (true) {
        // A frame's acknowledgements, and the session it may begin, come before what it carries.
        if (!ended_.empty()) {
            const Delivery drawn = ended_.front();
            ended_.pop();
            return drawn;
        }
        if (delivery_) {
            std::optional<Delivery> drawn;
            drawn.swap(delivery_);
            note_drawn(*drawn);
            return drawn;
        }
        if (place_early() || pass_held(Channel::request) || pass_held(Channel::reply)) continue;
        if (bundle_.left == 0) return std::nullopt;
        (void)unpack_next();
        if (plain_here_) unfold_plain();
    }
}

void Connection::fingerprint(Instant now, Fingerprint& sink) const {
    WIREPROOF_CHECK(!calm_ || is_calm());  // which says nothing that the rest does not
    handshake_.fingerprint(now, sink);
    for (const SendChannel& channel : send_) channel.fingerprint(now, sink);
    for (const ReceiveChannel& channel : receive_) channel.fingerprint(sink);
    replies_.fingerprint(sink);
    const auto pending = plain_here_ ? std::optional(unfolded(plain_)) : delivery_;
    sink.add(pending.has_value());
    if (pending) add(*pending, sink);
    sink.add(bundle_.left);
    sink.add(ended_.size());
    for (std::size_t i = 0; i < ended_.size(); ++i) add(ended_[i], sink);
    sink.add(drawn_slot_.has_value());
    sink.add(may_reply_);
    sink.add(note_refusal_);
    sink.add(refused_need_);
    if (refused_need_ != Need::nothing) {
        sink.add(refused_id_);
        sink.add(refused_round_);
        sink.add(refused_place_);
    }
    timers_.fingerprint(now, sink);
    sink.add(overrun_);
    sink.add(watch_interval_);
    sink.add(hello_interval_);
    sink.add(hello_due_);
    liveness_.fingerprint(now, sink);
    sink.add(awaiting_);
    sink.add(route_);
    sink.add(turn_);
    ending_.fingerprint(sink);
}

}  // namespace wireproof::am
