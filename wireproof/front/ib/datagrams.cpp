// Queue pairs for datagrams, the addresses to which they send, and the services by which hosts
// learn such addresses.
#include "wireproof/front/ib/device.hpp"
#include "wireproof/front/ib/private_data.hpp"
#include "wireproof/proto/ib/packet/psn.hpp"

namespace wireproof::ib {
namespace {

std::string refusal(proto::ib::CmServiceStatus status) {
    const std::string_view name = proto::ib::name_of(status);
    if (status == proto::ib::CmServiceStatus::rejected) return std::string(name);
    return "refused: " + (name.empty() ? "status " + std::to_string(static_cast<int>(status))
                                       : std::string(name));
}

}  // namespace

void QueuePair::Inside::begin_datagrams() {
    const auto key =
        port().memory().add_region({.domain = domain->number,
                                    .address = reinterpret_cast<std::uintptr_t>(front.data()),
                                    .memory = front,
                                    .access = {.local_write = true}});
    WIREPROOF_CHECK(key);
    front_key = *key;
    using State = proto::ib::QueuePairState;
    const auto modify = [this](const proto::ib::QueuePairChange& change) {
        WIREPROOF_CHECK(port().modify(number, change) == proto::ib::ModifyStatus::done);
    };
    modify({.state = State::init, .partition_index = 0, .port = 1, .qkey = options.qkey});
    modify({.state = State::rtr});
    modify({.state = State::rts, .send_psn = proto::ib::Psn(psn)});
}

Result<AddressHandle> AddressHandle::create(const Device& device, std::string_view host,
                                            std::uint32_t queue_pair, std::uint32_t qkey) {
    using Handle = Result<AddressHandle>;
    const std::shared_ptr<Device::Inside>& inside = device.inside_.get();
    if (inside->fork.forked()) return Handle::failure(closed_in_child);
    const host::OneUser::Call call(inside->user);
    if (!proto::ib::wire_circle.holds(queue_pair)) {
        return Handle::failure("queue_pair is " + std::to_string(queue_pair) +
                               ", not 0 to 16777215");
    }
    const auto address = Address::parse_host(host);
    if (!address) return Handle::failure(address.error().message);
    const auto peer = inside->peer_at(*address);
    if (!peer) return Handle::failure(peer.error().message);
    return AddressHandle(std::make_shared<const Inside>(inside, *peer, queue_pair, qkey));
}

Result<ResolvedService> AddressHandle::resolve(const Device& device, std::string_view host,
                                               std::uint64_t service,
                                               std::span<const std::byte> tell,
                                               std::chrono::milliseconds limit) {
    const std::shared_ptr<Device::Inside> inside = device.inside_.get();
    const auto failed = [&](const std::string& why) {
        return Result<ResolvedService>::failure("service " + std::to_string(service) + " of " +
                                                std::string(host) + ": " + why);
    };
    if (inside->fork.forked()) return failed(closed_in_child);
    const host::OneUser::Call call(inside->user);
    const auto address = Address::parse_host(host);
    if (!address) return failed(address.error().message);
    const auto peer = inside->peer_at(*address);
    if (!peer) return failed(peer.error().message);
    proto::ib::CmServiceRequest request{.service = service};
    if (proto::ib::is_ip_service(service)) {
        put_addresses(inside->wire.local_address(), *address, service, request.private_bytes);
    }
    if (!put(tell, told_at(service), request.private_bytes))
        return failed("there are too many private bytes");
    const auto id = inside->cm.resolve(inside->clock.now(), *peer, request);
    if (!id) return failed("too many questions");
    inside->wait([&] { return inside->cm.has_answer(*id); }, limit);
    const auto event = inside->cm.take_answer(*id);
    if (!event) inside->cm.give_up(*id);
    if (!event || event->what != proto::ib::CmEvent::What::resolved) {
        return failed(inside->no_answer_of(*peer));
    }
    const auto& reply = std::get<proto::ib::CmServiceReply>(event->message);
    if (reply.status != proto::ib::CmServiceStatus::valid) return failed(refusal(reply.status));
    return ResolvedService{.address = AddressHandle(std::make_shared<const Inside>(
                               inside, *peer, reply.queue_pair, reply.qkey)),
                           .told = {reply.private_bytes.begin(), reply.private_bytes.end()}};
}

std::string AddressHandle::host() const {
    return inside_->device->host_of(inside_->peer);
}

std::uint32_t AddressHandle::queue_pair() const {
    return inside_->queue_pair;
}

std::uint32_t AddressHandle::qkey() const {
    return inside_->qkey;
}

DatagramQuery::Inside::~Inside() {
    if (answered || device->fork.forked()) return;
    const host::OneUser::Call call(device->user);
    device->cm.management().answer(device->clock.now(), event.id,
                                   {.status = proto::ib::CmServiceStatus::rejected});
}

const std::string& DatagramQuery::address() const {
    return inside_->address;
}

std::span<const std::byte> DatagramQuery::told() const {
    const auto& request = std::get<proto::ib::CmServiceRequest>(inside_->event.message);
    return std::span(request.private_bytes).subspan(told_at(request.service));
}

Result<void> DatagramQuery::answer(const QueuePair& pair, std::span<const std::byte> tell) {
    const auto failed = [this](const std::string& reason) {
        return Result<void>::failure("question from " + inside_->address + ": " + reason);
    };
    Device::Inside& device = *inside_->device;
    if (device.fork.forked()) return failed(closed_in_child);
    const host::OneUser::Call call(device.user);
    const QueuePair::Inside& named = *pair.inside_;
    if (inside_->answered) return failed("answered before");
    if (&named.device() != &device) return failed("the queue pair is of another device");
    if (!named.is_datagram()) return failed("the queue pair is not one for datagrams");
    proto::ib::CmServiceReply reply{.queue_pair = named.number, .qkey = named.options.qkey};
    if (!put(tell, 0, reply.private_bytes)) return failed("there are too many private bytes");
    inside_->answered = true;
    if (device.cm.management().answer(device.clock.now(), inside_->event.id, reply)) return {};
    return failed("the host no longer waits");
}

void DatagramQuery::reject(std::span<const std::byte> why) {
    Device::Inside& device = *inside_->device;
    if (inside_->answered || device.fork.forked()) return;
    const host::OneUser::Call call(device.user);
    proto::ib::CmServiceReply reply{.status = proto::ib::CmServiceStatus::rejected};
    put(why.first(std::min(why.size(), reply.private_bytes.size())), 0, reply.private_bytes);
    inside_->answered = true;
    device.cm.management().answer(device.clock.now(), inside_->event.id, reply);
}

DatagramListener::Inside::~Inside() {
    if (device->fork.forked()) return;
    const host::OneUser::Call call(device->user);
    device->cm.stop_listening_datagrams(device->clock.now(), service);
}

Result<DatagramListener> DatagramListener::open(const Device& device, std::uint64_t service) {
    Device::Inside& inside = *device.inside_;
    if (inside.fork.forked()) return Result<DatagramListener>::failure(closed_in_child);
    const host::OneUser::Call call(inside.user);
    if (!inside.cm.listen_datagrams(service)) {
        return Result<DatagramListener>::failure("datagram service " + std::to_string(service) +
                                                 " already has a listener");
    }
    auto listener = std::make_shared<Inside>();
    listener->device = device.inside_.get();
    listener->service = service;
    return DatagramListener(std::move(listener));
}

std::optional<DatagramQuery> DatagramListener::poll() {
    if (inside_->device->fork.forked()) return std::nullopt;
    const host::OneUser::Call call(inside_->device->user);
    auto event = inside_->device->cm.next_query(inside_->service);
    if (!event) return std::nullopt;
    auto query = std::make_shared<DatagramQuery::Inside>();
    query->device = inside_->device;
    query->address = inside_->device->host_of(event->peer);
    query->event = std::move(*event);
    return DatagramQuery(std::move(query));
}

std::optional<DatagramQuery> DatagramListener::wait(std::chrono::milliseconds limit) {
    return wait_for(*inside_->device, limit, [this] { return poll(); });
}

}  // namespace wireproof::ib
