// A list of types, and a call for the type at a place that is known only at run time.
#pragma once

#include <array>
#include <cstddef>

#include "wireproof/base/check.hpp"

namespace wireproof {

template <class... Types>
struct TypeList {
    static constexpr std::size_t size = sizeof...(Types);

    /// Calls `visit.template operator()<Type>()` for each type, in order.
    template <class Visit>
    static constexpr void for_each(Visit&& visit) {
        (visit.template operator()<Types>(), ...);
    }

    /// Calls it for the type at the place `at` and returns the result. All calls must return the
    /// same type. `at` must be less than `size`.
    template <class Visit>
    static constexpr decltype(auto) visit(std::size_t at, Visit&& visit) {
        using Result = decltype(call_first<Types...>(visit));
        using Call = Result (*)(Visit&);
        constexpr std::array<Call, size> calls = {
            [](Visit& one) -> Result { return one.template operator()<Types>(); }...};
        WIREPROOF_CHECK(at < size);
        return calls[at](visit);
    }

    /// `Template<Types..., More...>`
    template <template <class...> class Template, class... More>
    using Into = Template<Types..., More...>;

private:
    template <class First, class... Rest, class Visit>
    static constexpr decltype(auto) call_first(Visit& visit) {
        return visit.template operator()<First>();
    }
};

}  // namespace wireproof
