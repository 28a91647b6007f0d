// UC and RC as shipped, in small worlds. The wire loses, damages, repeats and reorders any packets,
// up to a number of faults for each world. RC does all work exactly once, or ends in error. UC
// delivers whole messages, in order and at most once.
#include "tests/exhaustive/search_report.hpp"

#include "wireproof/lab/search/search_ib.hpp"

namespace wireproof::lab {
namespace {

using proto::ib::Request;
using proto::ib::Transport;

constexpr IbCall small_send{Request::send, 8};
constexpr IbCall large_send{Request::send, 300};  // two packets
constexpr IbCall small_write{Request::write, 8};
constexpr IbCall large_write{Request::write, 300};
constexpr IbCall write_immediate{Request::write_immediate, 300};
constexpr IbCall small_read{Request::read, 8};
constexpr IbCall large_read{Request::read, 300};
constexpr IbCall fetch_add{Request::fetch_add, 8};

SearchSetting bad_wire(std::size_t in_flight, std::uint32_t faults) {
    return {.in_flight = in_flight,
            .faults = faults,
            .repeat = true,
            .overtake = true,
            .early_timers = false};
}

IbTask uc(std::vector<IbCall> calls) {
    return {.transport = Transport::uc, .calls = std::move(calls)};
}
IbTask rc(std::vector<IbCall> calls) {
    return {.calls = std::move(calls)};
}

std::size_t expect_to_hold(const std::string& what, const IbTask& task,
                           const SearchSetting& setting, IbEnd::Variants variants = {}) {
    IbSearch search(task, setting, std::move(variants));
    return expect_holds(what, search).states;
}

// UC-12, UC-17, UC-26, UC-27
TEST(UcSearch, DeliversWholeMessagesInOrderAtMostOnceWhateverTheWireDoes) {
    SearchSetting any = bad_wire(3, 0);
    any.faults.reset();
    expect_to_hold("UC, any faults, three sends", uc({large_send, small_send, large_send}), any);
    expect_to_hold("UC, any faults, writes",
                   uc({large_write, write_immediate, small_send, large_send}), any);
}

TEST(UcSearch, DuplicationAloneLosesNothing) {
    IbTask task = uc({large_send, write_immediate, small_send, large_send});
    task.all_arrive = true;
    SearchSetting setting = bad_wire(3, 0);
    setting.faults.reset();
    setting.lose = setting.damage = setting.overtake = false;
    expect_to_hold("UC, repeated packets", task, setting);
}

// This test shows why the rule exists. Without it, as in Soft-RoCE, a repeated Only packet is
// delivered as another message.
TEST(UcSearch, WithoutDropBehindAMessageIsDeliveredTwice) {
    IbTask task = uc({small_send, small_send});
    task.uc_drop_behind = false;
    IbSearch search(task, bad_wire(2, 1));
    expect_refuted("UC, mode off", search, SearchVerdict::broken,
                   "a message was delivered twice, or out of order");
}

// RC-1
TEST(RcSearch, SendsAreDeliveredExactlyOnce) {
    expect_to_hold("RC, three sends, 3 faults", rc({large_send, small_send, large_send}),
                   bad_wire(3, 3));
}

// RC-1
TEST(RcSearch, WritesAreDoneExactlyOnce) {
    expect_to_hold("RC, writes, 3 faults", rc({large_write, write_immediate, small_write}),
                   bad_wire(3, 3));
}

// RC-1, RC-26
TEST(RcSearch, ReadsBringTheirBytes) {
    expect_to_hold("RC, reads among sends, 3 faults", rc({large_read, small_send, small_read}),
                   bad_wire(3, 3));
}

// RC-1, RC-5
TEST(RcSearch, AtomicsAreDoneExactlyOnce) {
    expect_to_hold("RC, atomics among sends, 3 faults", rc({fetch_add, small_send, fetch_add}),
                   bad_wire(3, 3));
    expect_to_hold("RC, reads and atomics, 2 faults",
                   rc({fetch_add, large_read, fetch_add, small_send}), bad_wire(3, 2));
}

// RC-1, RC-21
TEST(RcSearch, WaitsForReceivesThatArePostedLate) {
    SearchSetting setting = bad_wire(3, 2);
    setting.users_hesitate = true;
    expect_to_hold("RC, late receives, 2 faults", rc({large_send, write_immediate}), setting);
}

// RC-1, RC-25: two messages that arrive together show the responder how many are outstanding. From
// then on it may hold acknowledgements.
TEST(RcSearch, AcksThatAreHeldLoseNothing) {
    IbTask task = rc({small_send, small_write, small_send, small_send});
    const auto states = expect_to_hold("RC, four sends, 2 faults", task, bad_wire(3, 2));
    task.ack_delay = Duration::nanoseconds(100);
    EXPECT_GT(expect_to_hold("RC, held ACKs, 2 faults", task, bad_wire(3, 2)), states);
    task = rc({small_send, small_write, small_send, small_read, small_send});
    task.ack_delay = Duration::nanoseconds(100);
    expect_to_hold("RC, held ACKs and a Read, 1 fault", task, bad_wire(3, 1));
}

// RC-1, RC-37
TEST(RcSearch, MessagesThatAskForNoAckAreAcknowledged) {
    IbTask task = rc({small_send, large_send, small_write});
    task.acks_unasked = true;
    task.ack_delay = Duration::nanoseconds(100);
    expect_to_hold("RC, no ACK asked for, 2 faults", task, bad_wire(3, 2),
                   {asks_for_nothing(), {}});
    task = rc({small_send, small_read, small_send, fetch_add});
    task.acks_unasked = true;
    task.ack_delay = Duration::nanoseconds(100);
    expect_to_hold("RC, no ACK asked for, a Read and an Atomic, 1 fault", task, bad_wire(3, 1),
                   {asks_for_nothing(), {}});
}

// RC-16, RC-28
TEST(RcSearch, CreditsHoldBackAndNeverForEver) {
    IbTask task = rc({small_send, large_send, small_send});
    task.credits = true;
    SearchSetting setting = bad_wire(2, 2);
    setting.users_hesitate = true;
    expect_to_hold("RC, credits and late receives, 2 faults", task, setting);
}

TEST(RcSearch, TimersMayEndBeforeAnAnswerCanCome) {
    SearchSetting setting = bad_wire(2, 2);
    setting.early_timers = true;
    expect_to_hold("RC, hasty timers, 2 faults", rc({large_send, small_read, fetch_add}), setting);
}

// RC-1, RC-10: the work ends either well or in error, never in both ways and never in neither.
TEST(RcSearch, EndsWellOrInErrorWhenMoreIsLostThanRetriesRepair) {
    IbTask task = rc({large_send, fetch_add, small_read});
    task.retry_count = 1;
    task.may_fail = true;
    expect_to_hold("RC, one retry, 4 faults", task, bad_wire(2, 4));
}

// Delivery exactly once does not show needless recoveries, so this test limits them.
TEST(RcSearch, AFaultIsWorthOneRecovery) {
    SearchSetting setting = bad_wire(3, 2);
    setting.repeat = setting.overtake = false;
    setting.replays_per_fault = 2;
    expect_to_hold("RC, cost of loss", rc({large_send, small_read, fetch_add, small_send}),
                   setting);
}

void expect_soft_roce_to_hold(const std::string& what, const IbTask& task,
                              const SearchSetting& setting) {
    IbSearch search(task, setting, {completes_from_acks(task), {}});
    expect_holds("RC with Soft-RoCE's requester, " + what, search);
}

// RC-4, RC-25: Linux's Soft-RoCE completes a Read or an Atomic when an acknowledgement names it,
// even if the answer has not arrived.
TEST(SoftRoceSearch, NoAcknowledgementNamesAReadOrAnAtomicWhoseAnswerMayBeLost) {
    expect_soft_roce_to_hold("a read among sends, 3 faults",
                             rc({large_send, large_read, small_send}), bad_wire(3, 3));
    expect_soft_roce_to_hold("a read and an atomic, 2 faults",
                             rc({small_write, fetch_add, small_read, small_send}), bad_wire(3, 2));
    expect_soft_roce_to_hold("atomics behind a write, 3 faults",
                             rc({large_write, fetch_add, fetch_add}), bad_wire(2, 3));
}

TEST(SoftRoceSearch, NorDoesANegativeOne) {
    SearchSetting setting = bad_wire(2, 2);
    setting.users_hesitate = true;
    expect_soft_roce_to_hold("late receives, 2 faults", rc({small_read, large_send, fetch_add}),
                             setting);
}

TEST(SoftRoceSearch, NorOneOfAResponderThatNoLongerKeepsTheRead) {
    IbTask task = rc({small_send, small_read, fetch_add, small_send});
    task.resources = std::uint8_t{1};
    task.retry_count = 1;
    task.may_fail = true;
    expect_soft_roce_to_hold("one resource for two, 3 faults", task, bad_wire(2, 3));
}

// PSNs wrap after four packets. So after the sixth Read the responder is in the state that it had
// after the second, except for the key that it needs to answer the Read again.
TEST(RcSearch, ReadsByAnotherKeyAreAnotherStateWhenPsnsComeAround) {
    constexpr IbCall other_key{Request::read, 8, 1};
    IbTask task = rc({small_read, small_read, small_read, small_read, small_read, other_key});
    task.modulus = 4;
    task.max_rd_atomic = 1;
    expect_to_hold("RC, two keys", task,
                   {.in_flight = 1, .faults = 2, .damage = false, .early_timers = false});
}

// The search treats ends with equal fingerprints as equal. This test checks that they behave the
// same.
TEST(IbSearchTest, EqualFingerprintsHaveEqualFutures) {
    SearchSetting setting = bad_wire(3, 2);
    setting.doubt = true;
    for (const IbTask& task :
         {uc({large_send, write_immediate}), rc({large_send, small_read, fetch_add})}) {
        IbSearch search(task, setting);
        expect_holds("doubted", search);
        EXPECT_GT(search.doubt().compared, 20U);
        EXPECT_EQ(search.doubt().differing, 0U);
    }
}

}  // namespace
}  // namespace wireproof::lab
