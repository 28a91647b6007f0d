#include "wireproof/app/common/version.hpp"

namespace wireproof::app {

std::string version() {
    return "wireproof " WIREPROOF_APP_VERSION;
}

}  // namespace wireproof::app
