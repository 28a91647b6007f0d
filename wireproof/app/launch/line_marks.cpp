#include "wireproof/app/launch/line_marks.hpp"

#include <algorithm>

namespace wireproof::launch {

void LineMarks::pass(std::string_view bytes, std::string& out) {
    while (!bytes.empty()) {
        const std::size_t room = line_max - begun_.size();
        const std::size_t end = bytes.substr(0, room + 1).find('\n');
        const std::size_t length = end == bytes.npos ? std::min(room, bytes.size()) : end;
        begun_ += bytes.substr(0, length);
        bytes.remove_prefix(end == bytes.npos ? length : length + 1);
        if (end == bytes.npos && bytes.empty()) return;
        out += mark_ + begun_ + "\n";
        begun_.clear();
    }
}

void LineMarks::finish(std::string& out) {
    if (!begun_.empty()) out += mark_ + begun_ + "\n";
    begun_.clear();
}

}  // namespace wireproof::launch
