#include "wireproof/app/common/version.hpp"

namespace wireproof::cli {

std::string version() {
    return "wireproof " WIREPROOF_CLI_VERSION;
}

}  // namespace wireproof::cli
