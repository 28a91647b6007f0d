// A rank of a job, for the tests of launchers. It joins the job, exchanges entries as its arguments
// say, and prints one line about each thing that it sees.
//
//     job_rank [--rounds N] [--length BYTES] [--patience MS] [--late RANK:MS]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "wireproof/host/job/host_facts.hpp"
#include "wireproof/host/job/job_board.hpp"
#include "wireproof/host/job/sharing_proof.hpp"

namespace wireproof::host {
namespace {

constexpr std::chrono::milliseconds join_patience(120'000);  // it only ends a test that hangs

struct Arguments {
    std::size_t rounds = 1;
    std::size_t length = 10;
    std::chrono::milliseconds patience = join_patience;  // in each exchange
    std::size_t late = SIZE_MAX;  // this rank sleeps before the last exchange
    std::chrono::milliseconds late_by{0};
};

Arguments arguments_of(int count, char** words) {
    Arguments arguments;
    for (int i = 1; i + 1 < count; i += 2) {
        const std::string name = words[i];
        const std::size_t number = std::strtoull(words[i + 1], nullptr, 10);
        if (name == "--rounds") arguments.rounds = number;
        if (name == "--length") arguments.length = number;
        if (name == "--patience") arguments.patience = std::chrono::milliseconds(number);
        if (name == "--late") {
            arguments.late = number;
            const char* const colon = std::strchr(words[i + 1], ':');
            arguments.late_by = std::chrono::milliseconds(std::strtoull(colon + 1, nullptr, 10));
        }
    }
    return arguments;
}

int fail(const std::string& why) {
    std::printf("error %s\n", why.c_str());
    return 1;
}

/// Bytes of all values, and as many as its place makes them.
std::string entry_of(std::size_t rank, std::size_t round, std::size_t length) {
    std::string entry(length - std::min(length, rank + round), '\0');
    for (std::size_t i = 0; i < entry.size(); ++i) {
        entry[i] = static_cast<char>(i * 7 + rank * 31 + round);
    }
    return entry;
}

int run(const Arguments& arguments) {
    auto board = find_job(join_patience);
    if (!board) return fail(board.error().message);
    const JobPlace& place = (*board)->place();
    std::printf("place %s %zu/%zu %016llx\n", place.launcher.c_str(), place.rank, place.size,
                static_cast<unsigned long long>(place.job));
    for (std::size_t round = 0; round < arguments.rounds; ++round) {
        if (round + 1 == arguments.rounds && place.rank == arguments.late) {
            std::this_thread::sleep_for(arguments.late_by);
        }
        const auto entries =
            (*board)->exchange(entry_of(place.rank, round, arguments.length), arguments.patience);
        if (!entries) return fail(entries.error().message);
        for (std::size_t rank = 0; rank < place.size; ++rank) {
            if (entries->size() != place.size ||
                (*entries)[rank] != entry_of(rank, round, arguments.length)) {
                return fail("the entry of rank " + std::to_string(rank) + " is another");
            }
        }
    }
    std::printf("exchanged %zu\n", arguments.rounds);

    const auto facts = HostFacts::of_this_host();
    if (!facts) return fail(facts.error().message);
    const auto proof = SharingProof::listen(place.job, place.rank);
    const auto texts = (*board)->exchange(facts->to_text(), arguments.patience);
    if (!texts) return fail(texts.error().message);
    std::vector<HostFacts> others;
    for (const std::string& text : *texts) {
        auto other = HostFacts::parse(text);
        if (!other) return fail(other.error().message);
        others.push_back(std::move(*other));
    }
    const auto address = own_address_to(*facts, others);
    std::printf("address %s\n", address ? address->c_str() : address.error().message.c_str());
    std::string shared;
    for (std::size_t rank = 0; rank < place.size; ++rank) {
        shared += proof && proof->reaches(rank) ? '1' : '0';
    }
    std::printf("shares %s\n", shared.c_str());
    const auto last = (*board)->exchange("", arguments.patience);  // nobody ends before all looked
    if (!last) return fail(last.error().message);
    std::printf("done\n");
    return 0;
}

}  // namespace
}  // namespace wireproof::host

int main(int count, char** words) {
    return wireproof::host::run(wireproof::host::arguments_of(count, words));
}
