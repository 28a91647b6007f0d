// SHA-256 of the added bytes, computed by libcrypto.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "wireproof/base/bytes.hpp"

struct evp_md_ctx_st;

namespace wireproof::app {

using Sha256 = std::array<std::byte, 32>;

class Digest {
public:
    Digest();
    void add(ConstBytes bytes);
    /// Call it once, after the last byte.
    Sha256 finish();

private:
    struct Free {
        void operator()(evp_md_ctx_st* context) const;
    };
    std::unique_ptr<evp_md_ctx_st, Free> context_;
};

std::string to_hex(const Sha256& digest);

}  // namespace wireproof::app
