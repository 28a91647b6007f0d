// Memory windows: keys that give peers access to a part of a region for a while.
#include "wireproof/front/verbs/objects/windows.hpp"

#include "wireproof/front/verbs/device/limits.hpp"
#include "wireproof/front/verbs/objects/memory.hpp"

namespace wireproof::verbs {

std::optional<proto::ib::WindowBind> bind_of(const ibv_mw& window, std::uint32_t key,
                                             const ibv_mw_bind_info& info) {
    constexpr unsigned zero_based = IBV_ACCESS_ZERO_BASED;
    const auto access = access_of(info.mw_access_flags & ~zero_based);
    if (!access || access->window_bind) return std::nullopt;
    return proto::ib::WindowBind{.window = window.rkey,
                                 .key_byte = static_cast<std::uint8_t>(key & 0xFF),
                                 .region = info.mr != nullptr ? info.mr->lkey : 0,
                                 .address = info.addr,
                                 .length = info.mr != nullptr ? info.length : 0,
                                 .access = *access,
                                 .zero_based = (info.mw_access_flags & zero_based) != 0};
}

ibv_mw* allocate_window(ibv_pd* domain, ibv_mw_type type) {
    return made<ibv_mw>([&](ibv_mw*& created) {
        Context& context = Context::of(domain->context);
        if (context.is_dead()) return EIO;
        if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) return EINVAL;
        auto window = std::make_unique<ibv_mw>();
        window->context = domain->context;
        window->pd = domain;
        window->type = type;
        const int error = context.device->locked([&](proto::ib::Port& port) {
            if (port.memory().size() >= static_cast<std::size_t>(limits::memory_regions)) {
                return ENOMEM;
            }
            window->rkey = port.memory().add_window(
                domain->handle, type == IBV_MW_TYPE_1 ? proto::ib::WindowType::type_1
                                                      : proto::ib::WindowType::type_2b);
            return 0;
        });
        if (error != 0) return error;
        window->handle = window->rkey;
        ++ProtectionDomain::of(domain).users;
        created = window.release();
        return 0;
    });
}

int free_window(ibv_mw* window) {
    Context& context = Context::of(window->context);
    if (context.is_dead()) return EIO;
    return called([&] {
        const bool gone = context.device->ending(
            0, [&](proto::ib::Port& port) { return port.memory().remove_window(window->rkey); });
        if (!gone) return EINVAL;
        --ProtectionDomain::of(window->pd).users;
        delete window;
        return 0;
    });
}

// The caller knows the new key before the bind is done.
int bind_window(ibv_qp* pair, ibv_mw* window, ibv_mw_bind* bind) {
    ibv_send_wr request{};
    request.wr_id = bind->wr_id;
    request.opcode = IBV_WR_BIND_MW;
    request.send_flags = bind->send_flags;
    request.bind_mw.mw = window;
    request.bind_mw.rkey = ibv_inc_rkey(window->rkey);
    request.bind_mw.bind_info = bind->bind_info;
    ibv_send_wr* bad = nullptr;
    const int error = post_sends(pair, &request, &bad);
    if (error == 0) window->rkey = request.bind_mw.rkey;
    return error;
}

}  // namespace wireproof::verbs
