// How an Endpoint joins the job of its launcher.
//
// The ranks exchange entries twice. The first entry says on which host the rank runs, so that each
// rank chooses its own address. The second says at which addresses its sockets listen, and which
// ranks of its host it reaches. A third exchange ends the meeting: all nodes are open. A rank that
// fails puts its error in place of its entry, so that no rank waits for it. A rank has a node for
// each of its threads.
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <system_error>
#include <utility>

#include "wireproof/base/random.hpp"
#include "wireproof/front/am/endpoint_inside.hpp"
#include "wireproof/front/am/job_paths.hpp"
#include "wireproof/front/am/opened_wires.hpp"
#include "wireproof/host/job/host_facts.hpp"
#include "wireproof/host/job/job_board.hpp"
#include "wireproof/host/job/sharing_proof.hpp"
#include "wireproof/host/rendezvous/deadline.hpp"
#include "wireproof/host/wait.hpp"

namespace wireproof::am {
namespace {

using std::chrono::milliseconds;

tl::unexpected<Error> of_rank(std::size_t rank, const Error& error) {
    return unexpected("rank " + std::to_string(rank) + ": " + error.message);
}

/// Exchanges a text, and reads those of all ranks. `read` makes an Expected<T> of a text.
template <class T, class Read>
Expected<std::vector<T>> exchange(host::JobBoard& board, const std::string& text,
                                  const host::Deadline& deadline, Read&& read) {
    const auto texts = board.exchange(text, deadline.left());
    if (!texts) return tl::unexpected(texts.error());
    std::vector<T> all;
    for (std::size_t rank = 0; rank < texts->size(); ++rank) {
        const std::string failure = failure_in((*texts)[rank]);
        if (!failure.empty()) return of_rank(rank, Error{failure});
        Expected<T> one = read((*texts)[rank]);
        if (!one) return of_rank(rank, one.error());
        all.push_back(std::move(*one));
    }
    return all;
}

std::string with_port_0(const std::string& host) {
    return host.find(':') == host.npos ? host + ":0" : '[' + host + "]:0";
}

/// The number in the names of sockets. Each user of the host can read these names, so they do not
/// tell the number of the job.
std::uint64_t public_number_of(std::uint64_t job) {
    return mix64(job ^ 0x6A6F62);
}

std::string shm_name_of_job(std::uint64_t job) {
    std::array<char, 24> name{};
    std::snprintf(name.data(), name.size(), "job-%016" PRIx64, public_number_of(job));
    return name.data();
}

/// How many descriptors this process has for shared memory. The rest is for the program.
std::size_t free_descriptors() {
    constexpr rlim_t of_the_program = 256;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur <= of_the_program) return 0;
    return static_cast<std::size_t>(std::min<rlim_t>(limit.rlim_cur - of_the_program, 1 << 20));
}

/// What the ranks of a job have told each other.
struct Meeting {
    std::vector<host::HostFacts> hosts;  // by rank
    std::vector<RankEntry> entries;      // by rank
};

/// Without a proof, this rank is on UDP with all others.
std::vector<std::size_t> reached_from(const host::JobPlace& place,
                                      const Expected<host::SharingProof>& proof,
                                      const std::vector<host::HostFacts>& hosts) {
    std::vector<std::size_t> reached;
    if (!proof) return reached;
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
        const bool may_share = rank != place.rank && hosts[rank].key == hosts[place.rank].key;
        if (may_share && proof->reaches(rank)) reached.push_back(rank);
    }
    return reached;
}

/// The configuration of the connections to nodes that share memory. The longest message is the same
/// as that to other nodes, wherever the ranks run.
Config near_config(const ReadOptions& read, milliseconds peer_timeout) {
    Config config = Config::shared_memory();
    config.node = read.config.node;
    config.job = read.config.job;
    config.seed = read.config.seed;
    config.message_max = std::min(config.message_max, read.config.message_max);
    config.give_up_after(host::duration_of(peer_timeout));
    return config;
}

/// The last text of a rank whose nodes are open.
constexpr std::string_view joined_text = "joined";

Expected<std::string> read_end(const std::string& text) {
    if (text == joined_text) return text;
    return unexpected("\"" + text.substr(0, 80) + "\" is not what a rank sends when it has joined");
}

constexpr std::size_t nodes_max = std::size_t{1} << 16;

/// A node of this process whose socket is open.
struct OwnNode {
    ReadOptions read;
    UdpNode udp;
};

}  // namespace

/// One process that joins its job.
class Endpoint::Joining {
public:
    Joining(const Options& options, std::size_t threads, milliseconds limit)
        : options_(options), threads_(threads), deadline_(limit) {}

    Result<std::vector<Endpoint>> join() {
        using Joined = Result<std::vector<Endpoint>>;
        if (!options_.peers.empty() || options_.self != 0 || options_.job != 0) {
            return Joined::failure("join() itself finds peers, self and job: set none of them");
        }
        if (threads_ == 0) return Joined::failure("join_threads() needs at least 1 thread");
        Options alone = options_;
        alone.peers = {"127.0.0.1:0"};
        if (const auto read = read_options(alone); !read) {
            return Joined::failure(read.error().message);
        }
        static std::atomic_flag joined = ATOMIC_FLAG_INIT;
        if (joined.test_and_set()) {
            return Joined::failure("a process joins its job once, and this one did so before");
        }
        const auto board = host::find_job(deadline_.left());
        if (!board) return Joined::failure(board.error().message);
        place_ = (*board)->place();
        if (const auto& known = (*board)->addresses(); !known.empty()) return open_at(known);
        if (threads_ > nodes_max / place_.size) {
            return Joined::failure(std::to_string(place_.size) + " processes of " +
                                   std::to_string(threads_) +
                                   " threads are more nodes than 16 bits can number");
        }
        if (place_.size * threads_ == 1) return open_at({"127.0.0.1:0"});
        auto all =
            meet(**board).and_then([this](const Meeting& meeting) { return open_all(meeting); });
        if (!met_) return Joined::failure(all.error().message);
        const std::string end = all ? std::string(joined_text) : failed_rank(all.error().message);
        const auto ends = exchange<std::string>(**board, end, deadline_, read_end);
        if (!all) return Joined::failure(all.error().message);
        return ends ? Joined(*std::move(all)) : Joined::failure(ends.error().message);
    }

private:
    std::size_t nodes() const { return place_.size * threads_; }

    /// The options as open() gets them.
    Options options_of(std::size_t node, std::vector<std::string> peers) const {
        Options options = options_;
        options.peers = std::move(peers);
        options.self = node;
        options.job = place_.job;
        if (options.seed != 0) options.seed += node;  // each node has its own random numbers
        return options;
    }

    Result<std::vector<Endpoint>> open_at(const std::vector<std::string>& addresses) {
        using Joined = Result<std::vector<Endpoint>>;
        if (threads_ > 1) {
            return Joined::failure(
                "WIREPROOF_PEERS has one address for each process, so a process "
                "has one Endpoint");
        }
        auto opened = open_as(options_of(place_.rank, addresses));
        if (!opened) return Joined::failure(opened.error());
        std::vector<Endpoint> all;
        all.push_back(std::move(*opened));
        return all;
    }

    Expected<Meeting> meet(host::JobBoard& board) {
        const auto own = host::HostFacts::of_this_host();
        const auto proof = host::SharingProof::listen(public_number_of(place_.job), place_.rank);
        const auto hosts = exchange<host::HostFacts>(
            board, own ? own->to_text() : failed_rank(own.error().message), deadline_,
            host::HostFacts::parse);
        if (!own) return tl::unexpected(own.error());
        if (!hosts) return tl::unexpected(hosts.error());
        const auto opened =
            host::own_address_to(*own, *hosts).and_then([this](const std::string& address) {
                return open_sockets(with_port_0(address));
            });
        RankEntry entry{.addresses = {},
                        .descriptors = free_descriptors(),
                        .reached = reached_from(place_, proof, *hosts)};
        for (const OwnNode& node : own_) {
            entry.addresses.push_back(node.udp.socket().local_address().to_string());
        }
        const std::string text = opened ? entry.to_text() : failed_rank(opened.error().message);
        const auto entries =
            exchange<RankEntry>(board, text, deadline_, [this](const std::string& of_rank) {
                return RankEntry::parse(of_rank, place_.size, threads_);
            });
        if (!opened) return tl::unexpected(opened.error());
        if (!entries) return tl::unexpected(entries.error());
        met_ = true;
        return Meeting{*hosts, *entries};
    }

    Expected<void> open_sockets(const std::string& address) {
        for (std::size_t thread = 0; thread < threads_; ++thread) {
            const std::size_t node = place_.rank * threads_ + thread;
            std::vector<std::string> peers(nodes());
            peers[node] = address;
            const Options options = options_of(node, std::move(peers));
            auto read = read_options(options);
            if (!read) return tl::unexpected(read.error());
            if (read->config.seed == 0) read->config.seed = random_seed();
            read->config.message_max =
                std::min(read->config.message_max, Config::shared_memory().message_max);
            auto udp = open_udp(*read, congestion_of(*read, options));
            if (!udp) return tl::unexpected(udp.error());
            own_.push_back({*std::move(read), *std::move(udp)});
        }
        return {};
    }

    Expected<std::vector<Endpoint>> open_all(const Meeting& meeting) {
        std::vector<std::string> groups;
        for (const host::HostFacts& host : meeting.hosts) groups.push_back(host.key);
        const auto ranks = sharing_ranks(place_.rank, groups, meeting.entries);
        std::vector<Endpoint> all;
        for (OwnNode& own : own_) {
            const std::size_t self = own.read.config.node;
            std::vector<bool> sharing(nodes());
            for (std::size_t node = 0; node < nodes(); ++node) {
                sharing[node] = node != self && ranks[node / threads_];
            }
            auto inside = open_node(std::move(own), meeting, sharing);
            if (!inside) return tl::unexpected(inside.error());
            (*inside)->paths = paths(meeting, sharing);
            if (options_.publish_counters) (*inside)->publish_counters();
            all.push_back(Endpoint(*std::move(inside)));
        }
        return all;
    }

    std::vector<PeerCounters::Path> paths(const Meeting& meeting,
                                          const std::vector<bool>& sharing) const {
        using Path = PeerCounters::Path;
        std::vector<Path> paths(nodes(), Path::udp);
        for (std::size_t node = 0; node < nodes(); ++node) {
            const auto& there = meeting.hosts[node / threads_];
            const bool one_host = there.machine == meeting.hosts[place_.rank].machine;
            if (one_host) paths[node] = Path::udp_on_one_host;
            if (sharing[node]) paths[node] = Path::shared_memory;
        }
        return paths;
    }

    Expected<std::unique_ptr<Inside>> open_node(OwnNode own, const Meeting& meeting,
                                                const std::vector<bool>& sharing) {
        ReadOptions& read = own.read;
        const std::size_t self = read.config.node;
        const auto near_count = std::count(sharing.begin(), sharing.end(), true);
        for (std::size_t node = 0; node < nodes(); ++node) {
            if (node == self || sharing[node]) continue;
            const std::string& there = meeting.entries[node / threads_].addresses[node % threads_];
            const auto set =
                Address::parse(there).and_then([&](const Address& address) -> Expected<void> {
                    const auto why = address.why_no_peer();
                    if (!why.empty()) return unexpected(there + " " + std::string(why));
                    return own.udp.socket().set_peer(PeerId(node), address);
                });
            if (!set) return of_rank(node / threads_, set.error());
        }
        const auto congestion = congestion_of(read, options_of(self, {}));
        if (near_count == 0) {
            return std::make_unique<Inside>(std::move(own.udp), read.config, congestion,
                                            options_.active_peers);
        }
        const NearPeers near{near_config(read, options_.peer_timeout), sharing};
        read.shm_name = shm_name_of_job(place_.job);
        std::vector<bool> members = sharing;
        members[self] = true;
        auto shm = open_shm(read, nodes(), near.config.packet_max, std::move(members));
        if (!shm) return tl::unexpected(shm.error());
        if (static_cast<std::size_t>(near_count) + 1 == nodes()) {
            const std::vector<Congestion> alone(nodes(), Congestion::off);
            auto inside = std::make_unique<Inside>(*std::move(shm), near.config, alone,
                                                   options_.active_peers);
            inside->shm_name = "shm:" + read.shm_name;
            return inside;
        }
        auto wire = host::SplitWire::make(*std::move(shm), own.udp.wire(), sharing);
        if (!wire) return tl::unexpected(wire.error());
        return std::make_unique<Inside>(std::move(own.udp), *std::move(wire), read.config,
                                        congestion, options_.active_peers, near);
    }

    Options options_;
    std::size_t threads_;
    host::Deadline deadline_;
    host::JobPlace place_;
    std::vector<OwnNode> own_;
    bool met_ = false;  // each rank has told the others how it is reached
};

Result<std::vector<Endpoint>> Endpoint::join_threads(std::size_t threads, const Options& options,
                                                     milliseconds limit) {
    try {
        return Joining(options, threads, limit).join();
    } catch (const std::system_error& error) {  // from LoopHandle
        return Result<std::vector<Endpoint>>::failure(host::no_loop_handle(error));
    }
}

Result<Endpoint> Endpoint::join(const Options& options, milliseconds limit) {
    auto one = join_threads(1, options, limit);
    if (!one) return Result<Endpoint>::failure(one.error());
    return std::move(one->front());
}

}  // namespace wireproof::am
