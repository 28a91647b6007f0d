// The settings of a search. They exist without the laboratory, too.
#include "wireproof/front/c/search_structs.hpp"

#include "wireproof/front/c/sized.hpp"

namespace wireproof::c {

wireproof_search_settings default_search() {
    wireproof_search_settings settings{};
    settings.size = sizeof settings;
    settings.protocol = "pcie";
    settings.window = 2;
    settings.in_flight = 2;
    settings.damage = 1;
    settings.faults = WIREPROOF_AS_USUAL;
    settings.duplicates = WIREPROOF_AS_USUAL;
    settings.reorder = WIREPROOF_AS_USUAL;
    settings.early_timers = WIREPROOF_AS_USUAL;
    settings.states_max = 20'000'000;
    return settings;
}

}  // namespace wireproof::c

wireproof_status wireproof_search_settings_init(wireproof_search_settings* settings, size_t size) {
    return wireproof::c::init_sized(wireproof::c::default_search(), settings, size);
}
