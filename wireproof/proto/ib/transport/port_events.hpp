// What the objects of a port have to tell the user beside completions. Each object has one flag for
// each kind of event, so what waits is bounded by the number of objects, and no event is lost
// because other objects have something to tell at the same time (RC-42).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "wireproof/base/check.hpp"
#include "wireproof/core/fingerprint.hpp"

namespace wireproof::proto::ib {

/// An event that the port reports beside completions.
struct PortEvent {
    enum class What : std::uint8_t {
        completion,        // the user asked to be notified; `number` is the completion queue
        overrun,           // a completion was lost: the completion queue `number` is too small
        completion_lost,   // a completion of this queue pair was lost; in error now
        established,       // the first packet in sequence arrived in state RTR
        drained,           // a queue pair in SQD has nothing in flight
        message_lost,      // UC, if configured: at least one message will never be delivered
        request_refused,   // RC: the peer sent an invalid request; in error now
        access_refused,    // RC: the peer has no right to this memory; in error now
        receive_faulty,    // a receive request is not writable; in error now
        limit_reached,     // the shared receive queue `number` has fewer requests than its limit
        receives_flushed,  // a queue pair with shared receives is in error now
    };
    What what = What::completion;
    std::uint32_t number = 0;  // the queue pair, unless the list above says otherwise
    friend bool operator==(const PortEvent&, const PortEvent&) = default;

    enum class About : std::uint8_t { completion_queue, shared_receive_queue, queue_pair };
    static constexpr About about(What what) {
        return what == What::completion || what == What::overrun ? About::completion_queue
               : what == What::limit_reached                     ? About::shared_receive_queue
                                                                 : About::queue_pair;
    }
};

/// The objects that have something to tell are in a list, each once. The first one tells its oldest
/// event. A queue stays first until it has told all. A queue pair that has more to tell goes to the
/// end. So the events of one object keep their order, and an event of a queue comes before the
/// events that queue pairs had later.
class PortEvents {
public:
    using About = PortEvent::About;
    using What = PortEvent::What;

    /// From now on this object may have something to tell. After that, tell() needs no memory.
    void add(About about, std::uint32_t number) { objects_.try_emplace(key_of(about, number)); }
    /// The object is gone, and what it has not told, too.
    void remove(About about, std::uint32_t number) {
        const auto found = objects_.find(key_of(about, number));
        if (found == objects_.end()) return;
        if (found->second.kinds != 0) unlink(found->second);
        objects_.erase(found);
    }
    bool has(About about, std::uint32_t number) const {
        return objects_.contains(key_of(about, number));
    }
    /// Does nothing if the object already has such an event to tell.
    void tell(What what, std::uint32_t number) {
        const Key key = key_of(PortEvent::about(what), number);
        const auto found = objects_.find(key);
        WIREPROOF_CHECK(found != objects_.end());
        Object& object = found->second;
        const Kinds kind = static_cast<Kinds>(what) + 1;
        unsigned place = 0;
        for (; (object.kinds >> place) != 0; place += bits) {
            if (((object.kinds >> place) & mask) == kind) return;
        }
        if (object.kinds == 0) append(key, object);
        object.kinds |= kind << place;
    }
    std::optional<PortEvent> next() {
        if (first_ == nobody) return std::nullopt;
        const Key key = first_;
        Object& object = objects_.find(key)->second;
        const auto what = static_cast<What>((object.kinds & mask) - 1);
        object.kinds >>= bits;
        const bool has_more = object.kinds != 0;
        if (!has_more || PortEvent::about(what) == About::queue_pair) {
            unlink(object);
            if (has_more) append(key, object);
        }
        return PortEvent{what, static_cast<std::uint32_t>(key)};
    }
    /// The number of objects that have something to tell.
    std::size_t telling() const { return telling_; }

    void fingerprint(Fingerprint& sink) const {
        sink.add(telling_);
        for (Key key = first_; key != nobody;) {
            const Object& object = objects_.find(key)->second;
            sink.add(key);
            sink.add(object.kinds);
            key = object.next;
        }
    }

private:
    using Key = std::uint64_t;  // which kind of object, and its number
    static constexpr Key nobody = ~Key{0};
    /// The kinds of events of one object, the oldest in the lowest bits. Each is counted from 1.
    using Kinds = std::uint64_t;
    static constexpr unsigned bits = 4;
    static constexpr Kinds mask = (Kinds{1} << bits) - 1;
    static_assert(static_cast<Kinds>(What::receives_flushed) + 1 <= mask &&
                  (static_cast<unsigned>(What::receives_flushed) + 1) * bits <= 64);

    struct Object {
        Kinds kinds = 0;  // 0: not in the list
        Key previous = nobody;
        Key next = nobody;
    };

    static Key key_of(About about, std::uint32_t number) {
        return static_cast<Key>(about) << 32 | number;
    }
    Key& next_of(Key key) { return key == nobody ? first_ : objects_.find(key)->second.next; }
    Key& previous_of(Key key) {
        return key == nobody ? last_ : objects_.find(key)->second.previous;
    }
    void append(Key key, Object& object) {
        object.previous = last_;
        object.next = nobody;
        next_of(last_) = key;
        last_ = key;
        ++telling_;
    }
    void unlink(const Object& object) {
        next_of(object.previous) = object.next;
        previous_of(object.next) = object.previous;
        --telling_;
    }

    std::map<Key, Object> objects_;
    Key first_ = nobody;
    Key last_ = nobody;
    std::size_t telling_ = 0;
};

}  // namespace wireproof::proto::ib
