#include "wireproof/lab/ladder/built_in.hpp"

namespace wireproof::lab {

const BuiltIn* find_built_in(std::string_view name) {
    for (const BuiltIn& one : built_in_scenarios()) {
        if (one.name == name) return &one;
    }
    return nullptr;
}

}  // namespace wireproof::lab
