// How an Endpoint joins the job of its launcher.
//
// The ranks exchange entries twice. The first entry says on which host the rank runs, so that each
// rank chooses its own address. The second says at which addresses its sockets listen, and which
// ranks of its host it reaches. A rank has a node for each of its threads.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <system_error>
#include <utility>

#include "wireproof/front/am/endpoint_inside.hpp"
#include "wireproof/front/am/job_paths.hpp"
#include "wireproof/front/am/opened_wires.hpp"
#include "wireproof/host/job/host_facts.hpp"
#include "wireproof/host/job/job_board.hpp"
#include "wireproof/host/job/sharing_proof.hpp"
#include "wireproof/host/wait.hpp"

namespace wireproof::am {
namespace {

using std::chrono::milliseconds;

/// The time that is left of a limit.
class Patience {
public:
    explicit Patience(milliseconds limit) : end_(clock_.now() + host::duration_of(limit)) {}
    milliseconds left() const {
        return std::max(milliseconds(1),
                        milliseconds((end_ - clock_.now()).nanoseconds() / 1'000'000));
    }

private:
    host::SteadyClock clock_;
    Instant end_;
};

tl::unexpected<Error> of_rank(std::size_t rank, const Error& error) {
    return unexpected("rank " + std::to_string(rank) + ": " + error.message);
}

/// Exchanges a text, and reads those of all ranks. `read` makes an Expected<T> of a text.
template <class T, class Read>
Expected<std::vector<T>> exchange(host::JobBoard& board, const std::string& text,
                                  const Patience& patience, Read&& read) {
    const auto texts = board.exchange(text, patience.left());
    if (!texts) return tl::unexpected(texts.error());
    std::vector<T> all;
    for (std::size_t rank = 0; rank < texts->size(); ++rank) {
        Expected<T> one = read((*texts)[rank]);
        if (!one) return of_rank(rank, one.error());
        all.push_back(std::move(*one));
    }
    return all;
}

std::string with_port_0(const std::string& host) {
    return host.find(':') == host.npos ? host + ":0" : '[' + host + "]:0";
}

std::string shm_name_of(std::uint64_t job) {
    std::array<char, 24> name{};
    std::snprintf(name.data(), name.size(), "job-%016" PRIx64, job);
    return name.data();
}

/// What the ranks of a job have told each other.
struct Meeting {
    std::vector<host::HostFacts> hosts;  // by rank
    std::vector<RankEntry> entries;      // by rank
};

std::vector<std::size_t> reached_from(const host::JobPlace& place, const host::SharingProof& proof,
                                      const std::vector<host::HostFacts>& hosts) {
    std::vector<std::size_t> reached;
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
        const bool may_share = rank != place.rank && hosts[rank].key == hosts[place.rank].key;
        if (may_share && proof.reaches(rank)) reached.push_back(rank);
    }
    return reached;
}

/// The configuration of the connections to nodes that share memory, beside others.
Config near_config(const ReadOptions& read, milliseconds peer_timeout) {
    Config config = Config::shared_memory();
    config.node = read.config.node;
    config.job = read.config.job;
    config.seed = read.config.seed;
    config.message_max = std::min(config.message_max, read.config.message_max);
    config.give_up_after(host::duration_of(peer_timeout));
    return config;
}

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
        : options_(options), threads_(threads), patience_(limit) {}

    Result<std::vector<Endpoint>> join() {
        using Joined = Result<std::vector<Endpoint>>;
        if (!options_.peers.empty() || options_.self != 0 || options_.job != 0) {
            return Joined::failure("join() itself finds peers, self and job: set none of them");
        }
        if (threads_ == 0) return Joined::failure("0 threads have no Endpoint");
        const auto board = host::find_job(patience_.left());
        if (!board) return Joined::failure(board.error().message);
        place_ = (*board)->place();
        if (const auto& known = (*board)->addresses(); !known.empty()) return open_at(known);
        if (place_.size * threads_ == 1) return open_at({"127.0.0.1:0"});
        auto joined =
            meet(**board).and_then([this](const Meeting& meeting) { return open(meeting); });
        return joined ? Joined(*std::move(joined)) : Joined::failure(joined.error().message);
    }

private:
    std::size_t first_node() const { return place_.rank * threads_; }
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
        if (!own) return tl::unexpected(own.error());
        const auto proof = host::SharingProof::listen(place_.job, place_.rank);
        if (!proof) return tl::unexpected(proof.error());
        const auto hosts =
            exchange<host::HostFacts>(board, own->to_text(), patience_, host::HostFacts::parse);
        if (!hosts) return tl::unexpected(hosts.error());
        const auto address = host::own_address_to(*own, *hosts);
        if (!address) return tl::unexpected(address.error());
        if (const auto opened = open_sockets(with_port_0(*address)); !opened) {
            return tl::unexpected(opened.error());
        }
        RankEntry entry{.addresses = {}, .reached = reached_from(place_, *proof, *hosts)};
        for (const OwnNode& node : own_) {
            entry.addresses.push_back(node.udp.socket().local_address().to_string());
        }
        const auto entries =
            exchange<RankEntry>(board, entry.to_text(), patience_, [this](const std::string& text) {
                return RankEntry::parse(text, place_.size, threads_);
            });
        if (!entries) return tl::unexpected(entries.error());
        return Meeting{*hosts, *entries};
    }

    Expected<void> open_sockets(const std::string& address) {
        for (std::size_t thread = 0; thread < threads_; ++thread) {
            const std::size_t node = first_node() + thread;
            std::vector<std::string> peers(nodes());
            peers[node] = address;
            const Options options = options_of(node, std::move(peers));
            auto read = read_options(options);
            if (!read) return tl::unexpected(read.error());
            if (read->config.seed == 0) read->config.seed = random_seed();
            auto udp = open_udp(*read, congestion_of(*read, options));
            if (!udp) return tl::unexpected(udp.error());
            own_.push_back({*std::move(read), *std::move(udp)});
        }
        return {};
    }

    Expected<std::vector<Endpoint>> open(const Meeting& meeting) {
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
            auto inside = open(std::move(own), meeting, sharing);
            if (!inside) return tl::unexpected(inside.error());
            (*inside)->paths = paths(meeting, sharing);
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

    Expected<std::unique_ptr<Inside>> open(OwnNode own, const Meeting& meeting,
                                           const std::vector<bool>& sharing) {
        ReadOptions& read = own.read;
        const std::size_t self = read.config.node;
        const auto near_count = std::count(sharing.begin(), sharing.end(), true);
        if (static_cast<std::size_t>(near_count) + 1 == nodes()) {
            const std::vector<std::string> on_shm(nodes(), "shm:" + shm_name_of(place_.job));
            auto opened = open_as(options_of(self, on_shm));
            if (!opened) return unexpected(opened.error());
            return std::move(opened->inside_);
        }
        for (std::size_t node = 0; node < nodes(); ++node) {
            if (node == self || sharing[node]) continue;
            const std::string& there = meeting.entries[node / threads_].addresses[node % threads_];
            const auto set = Address::parse(there).and_then([&](const Address& address) {
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
        read.shm_name = shm_name_of(place_.job);
        std::vector<bool> members = sharing;
        members[self] = true;
        auto shm = open_shm(read, nodes(), near.config.packet_max, std::move(members));
        if (!shm) return tl::unexpected(shm.error());
        auto wire = host::SplitWire::make(*std::move(shm), own.udp.wire(), sharing);
        if (!wire) return tl::unexpected(wire.error());
        return std::make_unique<Inside>(std::move(own.udp), *std::move(wire), read.config,
                                        congestion, options_.active_peers, near);
    }

    Options options_;
    std::size_t threads_;
    Patience patience_;
    host::JobPlace place_;
    std::vector<OwnNode> own_;
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
