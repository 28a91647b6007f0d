// Compares two links at a bit error rate of 1e-6, and draws how PCI Express recovers from its first
// bad packet.
#include <wireproof/lab.hpp>

#include <cstdio>

using namespace wireproof::lab;

int main() {
    PointSettings settings;
    settings.bit_error_rate = 1e-6;
    for (const char* const protocol : {"pcie", "hippi6400"}) {
        settings.protocol = protocol;
        const auto point = run_point(settings, {.relative_error = 0.05});
        if (!point) {
            std::fprintf(stderr, "link_retry: %s\n", point.error().c_str());
            return 1;
        }
        std::printf("%-9s ETR %.1f %%, by the closed form %.1f %%\n", protocol, 100 * point->etr,
                    100 * point->closed_etr.value_or(0));
    }

    settings.protocol = "pcie";
    const auto ladder = draw_first_failure(settings);
    if (!ladder) return 1;
    std::printf("\n%s", ladder->text.c_str());
}
