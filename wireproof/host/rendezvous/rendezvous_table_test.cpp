#include "wireproof/host/rendezvous/rendezvous_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "wireproof/base/random.hpp"

namespace wireproof::host {
namespace {

constexpr Instant start{Duration::milliseconds(7)};

/// A table with connections that tests number themselves, and the replies by connection.
struct TableService {
    explicit TableService(std::uint32_t size) : table({size, "secret"}) {}

    void open(RendezvousTable::Connection connection, Instant now = start) {
        table.on_open(connection, now);
        collect();
    }
    void send(RendezvousTable::Connection connection, std::string_view text) {
        table.on_bytes(connection, std::as_bytes(std::span(text)));
        collect();
    }
    /// Opens a connection and puts an entry.
    void put(RendezvousTable::Connection connection, std::uint32_t rank, const std::string& entry,
             std::string_view token = "secret", std::uint32_t exchange = 0) {
        open(connection);
        send(connection, request_line({token, rank, entry.size(), exchange}) + entry);
    }
    void collect() {
        while (const auto reply = table.next_reply()) {
            EXPECT_FALSE(replies.contains(reply->to)) << "a second reply";
            replies[reply->to] = *reply->bytes;
        }
    }
    std::string reply_to(RendezvousTable::Connection connection) const {
        const auto found = replies.find(connection);
        return found == replies.end() ? "" : found->second;
    }

    RendezvousTable table;
    std::map<RendezvousTable::Connection, std::string> replies;
};

TEST(RendezvousTable, AllGetAllEntriesWhenTheLastHasArrived) {
    TableService service(3);
    service.put(1, 2, "two");
    service.put(2, 0, "");
    EXPECT_TRUE(service.replies.empty());
    EXPECT_EQ(service.table.exchanges(), 0U);
    service.put(3, 1, "one");
    EXPECT_EQ(service.table.exchanges(), 1U);
    for (const unsigned connection : {1U, 2U, 3U}) {
        EXPECT_EQ(service.reply_to(connection), "ok 0 3 3\nonetwo");
    }
    EXPECT_EQ(service.table.next_deadline(), never);
}

TEST(RendezvousTable, ARankMayBeAlone) {
    TableService service(1);
    service.put(1, 0, "x");
    EXPECT_EQ(service.reply_to(1), "ok 1\nx");
}

TEST(RendezvousTable, RanksArriveInAnyOrderAndInAnyPieces) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        SCOPED_TRACE(seed);
        Random random(seed);
        const auto size = static_cast<std::uint32_t>(1 + random.below(9));
        TableService service(size);
        std::vector<std::string> rest(size);
        std::vector<std::string> entries(size);
        for (std::uint32_t rank = 0; rank < size; ++rank) {
            entries[rank].resize(random.chance(0.1) ? rendezvous_entry_max : random.below(40));
            for (char& c : entries[rank]) c = static_cast<char>(random.next());
            rest[rank] = request_line({"secret", rank, entries[rank].size()}) + entries[rank];
            service.open(100 + rank);
        }
        std::size_t left = size;
        while (left > 0) {
            EXPECT_TRUE(service.replies.empty());
            const std::uint64_t rank = random.below(size);
            if (rest[rank].empty()) continue;
            const std::size_t piece = 1 + random.below(rest[rank].size());
            service.send(100 + rank, std::string_view(rest[rank]).substr(0, piece));
            rest[rank].erase(0, piece);
            if (rest[rank].empty()) --left;
        }
        for (std::uint32_t rank = 0; rank < size; ++rank) {
            EXPECT_EQ(service.reply_to(100 + rank), answer_of(entries));
        }
    }
}

TEST(RendezvousTable, BadInputIsRefusedInOneLineAndDisturbsNobody) {
    TableService service(2);
    service.put(1, 0, "zero");
    service.put(2, 1, "x", "another");
    EXPECT_EQ(service.reply_to(2), "no the token is that of another job\n");
    service.put(3, 1, "x", "secreT");
    EXPECT_EQ(service.reply_to(3), "no the token is that of another job\n");
    service.put(4, 2, "x");
    EXPECT_EQ(service.reply_to(4), "no rank 2: the job has only 2 ranks\n");
    service.put(5, 0, "again");
    EXPECT_EQ(service.reply_to(5), "no rank 0 is here already\n");
    service.put(6, 1, std::string(rendezvous_entry_max + 1, 'x'));
    EXPECT_EQ(service.reply_to(6), "no the entry has more than 65536 bytes\n");
    service.open(7);
    service.send(7, "GET / HTTP/1.1\r\n\r\n");
    EXPECT_EQ(service.reply_to(7), "no this is no request of version 1\n");
    service.open(8);
    service.send(8, std::string(100'000, 'x'));
    EXPECT_EQ(service.reply_to(8), "no the first line is too long\n");
    EXPECT_EQ(service.reply_to(1), "");
    service.put(9, 1, "one");
    EXPECT_EQ(service.reply_to(1), "ok 4 3\nzeroone");
    EXPECT_EQ(service.reply_to(9), "ok 4 3\nzeroone");
    service.put(10, 1, "late");
    EXPECT_EQ(service.reply_to(10), "no rank 1 has got the entries already\n");
}

TEST(RendezvousTable, APartOfTheTokenOrMoreIsAnotherToken) {
    TableService service(1);
    RendezvousTable::Connection connection = 0;
    for (const std::string_view token : {"s", "secre", "ecret", "secrets", "secretsecret"}) {
        service.put(++connection, 0, "x", token);
        EXPECT_EQ(service.reply_to(connection), "no the token is that of another job\n") << token;
    }
    service.put(++connection, 0, "x");
    EXPECT_EQ(service.reply_to(connection), "ok 1\nx");
}

TEST(RendezvousTable, RandomBytesNeverGetAnAnswer) {
    Random random(11);
    TableService service(2);
    service.put(1, 0, "zero");
    for (unsigned connection = 2; connection < 500; ++connection) {
        std::string text = request_line({"secret", 1, 20}) + std::string(20, 'x');
        text[random.below(30)] ^= static_cast<char>(1 + random.below(255));
        service.open(connection);
        service.send(connection, text);
        EXPECT_FALSE(service.reply_to(connection).starts_with("ok")) << text;
        service.table.on_close(connection);
    }
    service.put(1000, 1, "one");
    EXPECT_EQ(service.reply_to(1000), "ok 4 3\nzeroone");
}

TEST(RendezvousTable, ARankThatGivesUpMayTryAgain) {
    TableService service(2);
    service.put(1, 0, "first");
    service.table.on_close(1);
    service.put(2, 0, "second");
    service.put(3, 1, "one");
    EXPECT_EQ(service.reply_to(1), "");
    EXPECT_EQ(service.reply_to(3), "ok 6 3\nsecondone");
}

// The caller may use the descriptor of a closed connection for another one.
TEST(RendezvousTable, AClosedConnectionGetsNoReply) {
    RendezvousTable table({2, "secret"});
    for (const unsigned connection : {1U, 2U}) {
        table.on_open(connection, start);
        table.on_bytes(connection, std::as_bytes(std::span(std::string_view("GET /\n"))));
    }
    table.on_close(1);
    const auto reply = table.next_reply();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->to, 2U);
    EXPECT_FALSE(table.next_reply());
}

TEST(RendezvousTable, AConnectionWithoutAnEntryIsRefusedInTime) {
    TableService service(2);
    service.put(1, 0, "zero");
    service.open(2);
    service.open(3, start + Duration::milliseconds(1));
    service.send(2, "wireproof-rendezvous 1 secret 1 0 3\non");
    const Instant due = start + RendezvousTable::patience;
    EXPECT_EQ(service.table.next_deadline(), due);
    service.table.on_deadline(start + (RendezvousTable::patience - Duration(1)));
    service.collect();
    EXPECT_EQ(service.replies.size(), 0U);
    service.table.on_deadline(due);
    service.collect();
    EXPECT_EQ(service.reply_to(2), "no no complete entry within 120 s\n");
    EXPECT_EQ(service.replies.size(), 1U);  // whose entry is complete may wait for ever
    EXPECT_EQ(service.table.next_deadline(), due + Duration::milliseconds(1));
}

TEST(RendezvousTable, StrangersDoNotTakeThePlaceOfRanks) {
    TableService service(2);
    service.put(1, 0, "zero");
    const std::size_t most = 2 + RendezvousTable::strangers_max;
    for (std::size_t i = 0; i < most; ++i) service.open(10 + i);
    EXPECT_TRUE(service.replies.empty());
    service.open(1000);
    EXPECT_EQ(service.reply_to(10), "no too many connections are open\n");
    EXPECT_EQ(service.replies.size(), 1U);
    service.send(1000, request_line({"secret", 1, 0}));
    EXPECT_EQ(service.reply_to(1), "ok 4 0\nzero");
}

TEST(RendezvousTable, ARankThatEndsBeforeAllAreThereEndsTheWait) {
    TableService service(3);
    service.put(1, 0, "zero");
    service.put(2, 1, "one");
    service.table.on_rank_ended(2);
    service.collect();
    service.put(3, 2, "two");
    for (const unsigned connection : {1U, 2U, 3U}) {
        EXPECT_EQ(service.reply_to(connection),
                  "no rank 2 has ended before all ranks had arrived\n");
    }
    EXPECT_EQ(service.table.exchanges(), 0U);
}

// The first one is the cause: others end because it did.
TEST(RendezvousTable, TheFirstRankThatEndsIsTheReason) {
    TableService service(3);
    service.put(1, 0, "zero");
    service.table.on_rank_ended(2);
    service.table.on_rank_ended(1);
    service.collect();
    service.put(2, 0, "zero");
    for (const unsigned connection : {1U, 2U}) {
        EXPECT_EQ(service.reply_to(connection),
                  "no rank 2 has ended before all ranks had arrived\n");
    }
}

TEST(RendezvousTable, TheNextExchangeBeginsWhenAllHaveArrived) {
    TableService service(2);
    service.put(1, 0, "a");
    service.put(2, 1, "b", "secret", 1);
    EXPECT_EQ(service.reply_to(2), "no rank 1 has missed exchange 0\n");
    service.put(3, 1, "b");
    service.put(4, 0, "c", "secret", 1);
    service.put(5, 1, "d", "secret", 1);
    EXPECT_EQ(service.reply_to(1), "ok 1 1\nab");
    EXPECT_EQ(service.reply_to(3), "ok 1 1\nab");
    EXPECT_EQ(service.reply_to(4), "ok 1 1\ncd");
    EXPECT_EQ(service.reply_to(5), "ok 1 1\ncd");
    service.put(6, 0, "c", "secret", 1);
    EXPECT_EQ(service.reply_to(6), "no rank 0 has got the entries already\n");
    EXPECT_EQ(service.table.exchanges(), 2U);
}

TEST(RendezvousTable, NobodyWaitsForARankThatEndedAfterAnEarlierExchange) {
    TableService service(2);
    service.put(1, 0, "a");
    service.put(2, 1, "b");
    service.put(3, 0, "c", "secret", 1);
    service.table.on_rank_ended(1);
    service.collect();
    EXPECT_EQ(service.reply_to(3), "no rank 1 has ended before all ranks had arrived\n");
}

TEST(RendezvousTable, ARankThatEndsLaterChangesNothing) {
    TableService service(1);
    service.put(1, 0, "x");
    service.table.on_rank_ended(0);
    service.put(2, 0, "x");
    EXPECT_EQ(service.reply_to(2), "no rank 0 has got the entries already\n");
}

}  // namespace
}  // namespace wireproof::host
