// Rows: short messages of one handler and size are saved as one entry, with no other effect. Each
// history also runs on a list of single messages, and the two are compared.
#include <gtest/gtest.h>

#include <deque>
#include <set>

#include "wireproof/proto/am/pair_test_kit.hpp"
#include "wireproof/proto/am/send/send_window.hpp"

namespace wireproof::am::test {
namespace {

Config row_config(Config config) {
    config = bundling(small(config));
    config.save_bytes = 100;  // not a multiple of what is saved
    return config;
}

std::vector<Config> row_configs() {
    Config counted = row_config(bare());
    counted.congestion = Congestion::by_loss;
    return {row_config(bare()), row_config(sp2()), counted};
}

struct Message {
    Kind kind = Kind::request;
    std::uint32_t id = 0;
    std::uint32_t owner = 0;
    std::vector<std::byte> data;
    SaveBytes::Place place;
    bool there = false;  // at the receiver
};

/// A window and a model of it.
class RowLife {
public:
    RowLife(const Config& config, std::uint64_t seed)
        : config_(config),
          window_(config, Channel::request),
          bytes_(config.save_bytes),
          random_(seed) {}

    void step() {
        switch (random_.below(8)) {
            case 0: return leave(true);
            case 1: return leave(false);
            case 2: return acknowledge(una_ + random_.below(expected() - una_ + 1));
            case 3: return owe_nack();
            default: return push();
        }
    }

    /// Everything that waits leaves and arrives.
    void end() {
        loses_ = false;
        for (int turns = 0; turns < 4 && una_ < next(); ++turns) {
            leave(true);
            owe_nack();
            leave(true);
            acknowledge(expected());
        }
        ASSERT_EQ(una_, next());
        EXPECT_TRUE(window_.empty());
        EXPECT_TRUE(window_.saved().empty());
        EXPECT_EQ(window_.room(), config_.window[0]);
    }

    std::size_t longest_row() const { return longest_row_; }
    std::size_t rows_parted() const { return rows_parted_; }

private:
    std::uint64_t next() const { return una_ + messages_.size(); }
    Message& at(std::uint64_t position) {
        return messages_[static_cast<std::size_t>(position - una_)];
    }
    std::uint32_t number(std::uint64_t position) const {
        return static_cast<std::uint32_t>((config_.first_number[0] + position) % config_.modulus);
    }
    std::uint64_t expected() const {
        std::uint64_t position = una_;
        while (position < high_ && messages_[static_cast<std::size_t>(position - una_)].there) {
            ++position;
        }
        return position;
    }

    // Mostly one handler and one length.
    void push() {
        Message message;
        message.id = random_.below(8) == 0 ? 2 : 1;
        std::size_t size = random_.below(8) == 0 ? random_.below(28) : 4;
        const std::uint64_t kind = random_.below(16);
        if (kind == 0) message.kind = Kind::get_request;
        if (kind == 1 || kind == 2) message.kind = Kind::reply;  // allowed here as on its channel
        if (kind == 2) {                                         // a refusal
            message.id = 0;
            message.owner = 5;
            size = RefusalBody::size;
        }
        message.data = pattern(size, random_.next());
        const std::size_t entry = message.kind <= Kind::reply ? BundleEntry::size : 0;
        const bool room =
            messages_.size() < config_.window[0] && bytes_.take(entry + size, message.place);
        const bool pushed = window_.push(message.kind, message.id, message.data, message.owner);
        ASSERT_EQ(pushed, room);
        if (!room) return;
        messages_.push_back(std::move(message));
        longest_row_ = std::max<std::size_t>(longest_row_, window_.saved().back().span);
    }

    // The packets that leave, on the general path or the fast path, are those that were pushed.
    void leave(bool all) {
        for (std::uint64_t most = all ? 1000 : random_.below(3); most > 0; --most) {
            const SendWindow::Saved* const plain =
                random_.below(2) == 0 ? nullptr : window_.next_fast();
            if (plain != nullptr) {
                const SendWindow::Bundle bundle = window_.fast_bundle();
                check_departure(
                    high_, *plain, bundle.messages,
                    bundle.messages > 1 ? bundle.entries : window_.data_of_next(*plain));
                if (window_.single() && plain->kind <= Kind::reply) {
                    EXPECT_TRUE(same(window_.single_arguments(*plain), at(high_).data));
                }
                EXPECT_EQ(window_.first_unsent(), number(high_));
                arrive(high_, bundle.messages);
                high_ += bundle.messages;
                window_.fast_departed(bundle.messages);
                continue;
            }
            const auto departure = window_.next_departure();
            if (!departure) break;
            std::uint64_t position = una_;
            while (position < next() && number(position) != departure->number) ++position;
            ASSERT_LT(position, next());
            EXPECT_EQ(departure->resent, position < high_);
            check_departure(position, *departure->message, departure->messages, departure->data);
            for (std::uint32_t i = 0; departure->resent && i < departure->messages; ++i) {
                EXPECT_GT(lost_.erase(position + i), 0U) << position + i;
            }
            arrive(position, departure->messages);
            high_ = std::max(high_, position + departure->messages);
            window_.departed();
        }
        EXPECT_EQ(window_.waiting(), next() - high_);
        EXPECT_TRUE(!all || lost_.empty());
    }

    void check_departure(std::uint64_t position, const SendWindow::Saved& saved,
                         std::uint32_t messages, ConstBytes data) {
        ASSERT_LE(position + messages, next());
        if (messages == 1) {
            EXPECT_EQ(saved.kind, at(position).kind);
            EXPECT_EQ(saved.id, at(position).id);
            EXPECT_EQ(saved.owner, at(position).owner);
            const bool counts = saved.kind <= Kind::reply;
            EXPECT_EQ(saved.count, counts ? at(position).data.size() : 0);
            EXPECT_TRUE(same(data, at(position).data)) << position;
            return;
        }
        EXPECT_LE(data.size(), config_.bundle_max);
        std::vector<std::byte> entries;
        for (std::uint64_t i = position; i < position + messages; ++i) {
            const Message& message = at(i);
            EXPECT_LE(message.kind, Kind::reply);
            EXPECT_NE(message.id, 0U);
            std::array<std::byte, BundleEntry::size> entry{};
            BundleEntry{static_cast<std::uint16_t>(message.id),
                        static_cast<std::uint16_t>(message.data.size())}
                .encode(entry);
            entries.insert(entries.end(), entry.begin(), entry.end());
            entries.insert(entries.end(), message.data.begin(), message.data.end());
        }
        EXPECT_TRUE(same(data, entries)) << position << " and " << messages - 1 << " more";
    }

    void arrive(std::uint64_t position, std::uint32_t messages) {
        if (loses_ && random_.below(4) == 0) return;
        const bool in_order = config_.recovery == Recovery::selective || position <= expected();
        for (std::uint32_t i = 0; in_order && i < messages; ++i) at(position + i).there = true;
    }

    void acknowledge(std::uint64_t position) {
        std::vector<std::uint32_t> done;
        const std::uint64_t before = una_;
        const SendWindow::Saved* const front =
            window_.saved().empty() ? nullptr : &window_.saved().front();
        if (front != nullptr && SendWindow::is_row(*front) && position > una_ &&
            position < una_ + front->span) {
            ++rows_parted_;
        }
        ASSERT_TRUE(window_.on_ack(number(position), [&](const SendWindow::Saved& message) {
            done.push_back(message.id);
        }));
        std::vector<std::uint32_t> awaited;
        for (; una_ < position; ++una_) {
            const Message& message = messages_.front();
            if (message.kind == Kind::get_request || message.owner != 0) {
                awaited.push_back(message.id);
            }
            bytes_.free_up_to(message.place);
            lost_.erase(una_);
            messages_.pop_front();
        }
        EXPECT_EQ(done, awaited) << before << " to " << position;
        EXPECT_EQ(window_.first_unacknowledged(), number(una_));
        EXPECT_EQ(window_.under_way(), high_ - una_);
    }

    // Of all that has left, as a KEEPALIVE causes it.
    void owe_nack() {
        const std::uint64_t from = expected();
        acknowledge(from);
        SendWindow::Missing missing;
        missing.round = window_.round();
        missing.end = static_cast<std::uint32_t>(high_ - una_);
        missing.reach = config_.window[0];
        std::vector<std::byte> map(2);
        const bool selective = config_.recovery == Recovery::selective;
        for (std::uint64_t i = una_; i < high_; ++i) {
            const std::uint64_t bit = i - una_;
            if (selective && at(i).there) {
                map[bit / 8] |= std::byte{1} << (bit % 8);
            } else {
                lost_.insert(i);
            }
        }
        missing.map = map;
        (void)window_.on_nack(missing);
    }

    Config config_;
    SendWindow window_;
    SaveBytes bytes_;
    Random random_;
    std::deque<Message> messages_;
    std::set<std::uint64_t> lost_;  // to be resent
    std::uint64_t una_ = 0;
    std::uint64_t high_ = 0;
    bool loses_ = true;
    std::size_t longest_row_ = 0;
    std::size_t rows_parted_ = 0;
};

// AM-3, AM-6, AM-11, AM-36, AM-37, AM-38
TEST(AmSendRow, NobodyCanTellItFromSingleMessages) {
    for (const Config& config : row_configs()) {
        std::size_t longest = 0;
        std::size_t parted = 0;
        for (std::uint64_t seed = 1; seed <= 300; ++seed) {
            SCOPED_TRACE(seed);
            RowLife life(config, seed);
            for (int i = 0; i < 400 && !HasFailure(); ++i) life.step();
            life.end();
            if (HasFailure()) return;
            longest = std::max(longest, life.longest_row());
            parted += life.rows_parted();
        }
        EXPECT_GE(longest, 10U);
        EXPECT_GT(parted, 1000U);
    }
}

// A run names its first message, which may follow others that left alone.
TEST(AmSendRow, ABundleBeginsWithWhatWaits) {
    SendWindow window(row_config(bare()), Channel::request);
    const auto push = [&](std::uint32_t id, std::uint32_t value) {
        ASSERT_TRUE(window.push(Kind::request, id, words({value})));
    };
    for (const std::uint32_t id : {1U, 2U}) {
        push(id, 10 + id);
        EXPECT_EQ(window.first_waiting().id, id);
        EXPECT_TRUE(same(window.single_arguments(window.first_waiting()), words({10 + id})));
        window.fast_departed(1);
    }
    for (const std::uint32_t value : {4U, 5U}) push(3, value);
    EXPECT_EQ(window.first_waiting().id, 3U);
    const SendWindow::Bundle bundle = window.fast_bundle();
    EXPECT_EQ(bundle.messages, 2U);
    EXPECT_TRUE(same(bundle.entries.last(4), words({5})));
}

// AM-36: a question names what has left in this round, and never what is acknowledged.
TEST(AmSendRow, AnAcknowledgementInsideOneMovesAResendOn) {
    SendWindow window(row_config(sp2()), Channel::request);
    const Circle circle(row_config(sp2()).modulus);
    const Number first(window.first_unsent());
    for (std::uint32_t i = 0; i < 8; ++i) {
        ASSERT_TRUE(window.push(Kind::request, 1, words({i})));
    }
    while (window.next_departure()) window.departed();
    EXPECT_TRUE(window.on_nack({}));
    ASSERT_TRUE(window.next_departure());
    window.departed();
    EXPECT_EQ(window.behind_latest(), circle.advance(first, 3).value());
    ASSERT_TRUE(
        window.on_ack(circle.advance(first, 5).value(), [](const SendWindow::Saved&) { FAIL(); }));
    EXPECT_EQ(window.behind_latest(), circle.advance(first, 5).value());
    const auto next = window.next_departure();
    ASSERT_TRUE(next);
    EXPECT_EQ(next->number, circle.advance(first, 5).value());
    EXPECT_EQ(next->messages, 3U);
}

// AM-38: after a resend, a NACK from before it does not make a packet lost again, anywhere in the
// window.
TEST(AmSendRow, EachMessageOfABundleLeftWhenTheBundleDid) {
    const Config config = row_config(bare());
    SendWindow window(config, Channel::request);
    for (std::uint32_t i = 0; i < 40; ++i) {
        const std::uint8_t round = window.round();
        for (const std::uint32_t value : {1U, 2U, 3U}) {
            ASSERT_TRUE(window.push(Kind::request, 1, words({value})));
        }
        const auto leaves = [&](std::uint32_t messages) {
            const auto departure = window.next_departure();
            ASSERT_TRUE(departure);
            EXPECT_EQ(departure->messages, messages);
            window.departed();
        };
        leaves(3);
        const SendWindow::Missing missing{.round = round, .end = 3, .reach = config.window[0]};
        EXPECT_TRUE(window.on_nack(missing));
        leaves(3);
        EXPECT_FALSE(window.on_nack(missing)) << i;
        EXPECT_FALSE(window.next_departure());
        const Circle circle(config.modulus);
        const auto acknowledge = [&](std::uint64_t steps) {
            const Number from(window.first_unacknowledged());
            ASSERT_TRUE(window.on_ack(circle.advance(from, steps).value(),
                                      [](const SendWindow::Saved&) { FAIL(); }));
        };
        acknowledge(2);
        const std::uint32_t more = 1 + i % 2;  // before everything has ended
        for (std::uint32_t k = 0; k < more; ++k) {
            ASSERT_TRUE(window.push(Kind::request, 1, words({4})));
        }
        leaves(more);
        acknowledge(1 + more);
    }
}

Fingerprint::Value mark_of(const SendWindow& window) {
    Fingerprint sink;
    window.fingerprint(Instant(), sink);
    return sink.value();
}

// A search must not visit the same state twice: the same messages with the end of the save queue
// between them or not.
TEST(AmSendRow, HowMessagesWereSavedIsNoPartOfTheState) {
    for (const Config& config : {row_config(bare()), row_config(sp2())}) {
        std::vector<SendWindow> windows;
        for (const std::size_t earlier : {1U, 6U}) {
            SendWindow& window = windows.emplace_back(config, Channel::request);
            const auto push = [&](std::uint32_t id, std::vector<std::uint32_t> values) {
                ASSERT_TRUE(window.push(Kind::request, id, words(values)));
            };
            for (int i = 0; i < 3; ++i) push(2, std::vector<std::uint32_t>(earlier));
            while (window.next_departure()) window.departed();
            push(1, {1});
            const std::uint32_t third =
                Circle(config.modulus).advance(Number(window.first_unacknowledged()), 3).value();
            ASSERT_TRUE(window.on_ack(third, [](const SendWindow::Saved&) { FAIL(); }));
            for (const std::uint32_t value : {2U, 3U, 4U}) push(1, {value});
        }
        EXPECT_EQ(windows[0].saved().size(), 1U);
        EXPECT_EQ(windows[1].saved().size(), 2U);
        EXPECT_EQ(mark_of(windows[0]), mark_of(windows[1]));
        ASSERT_TRUE(windows[1].push(Kind::request, 1, words({5})));
        EXPECT_NE(mark_of(windows[0]), mark_of(windows[1]));
        ASSERT_TRUE(windows[0].push(Kind::request, 1, words({6})));
        EXPECT_NE(mark_of(windows[0]), mark_of(windows[1]));
    }
}

}  // namespace
}  // namespace wireproof::am::test
