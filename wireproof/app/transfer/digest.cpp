#include "wireproof/app/transfer/digest.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include "wireproof/app/common/failure.hpp"

namespace wireproof::app {

void Digest::Free::operator()(evp_md_ctx_st* context) const {
    EVP_MD_CTX_free(context);
}

Digest::Digest() : context_(EVP_MD_CTX_new()) {
    if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1) {
        throw Failure("libcrypto offers no SHA-256");
    }
}

void Digest::add(ConstBytes bytes) {
    EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
}

Sha256 Digest::finish() {
    std::array<unsigned char, 32> raw{};
    EVP_DigestFinal_ex(context_.get(), raw.data(), nullptr);
    Sha256 digest;
    for (std::size_t i = 0; i < raw.size(); ++i) digest[i] = std::byte{raw[i]};
    return digest;
}

std::string to_hex(const Sha256& digest) {
    std::string text;
    for (const std::byte byte : digest)
        text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
    return text;
}

}  // namespace wireproof::app
