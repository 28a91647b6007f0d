// Settings in a file: `address = "10.0.0.7"`.
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>

#include "wireproof/base/toml_text.hpp"
#include "wireproof/front/verbs/device/settings.hpp"

namespace wireproof::verbs {
namespace {

using namespace toml_text;

/// A value as text, as the environment would have it. The result is empty if no setting can have a
/// value of this kind.
std::optional<std::string> text_of(const toml::node& node) {
    if (const auto text = node.value_exact<std::string>()) return text;
    if (const auto whole = node.value_exact<std::int64_t>()) return std::to_string(*whole);
    if (const auto real = node.value_exact<double>()) {
        std::array<char, 32> room{};
        const auto written = std::to_chars(room.data(), room.data() + room.size(), *real);
        return std::string(room.data(), written.ptr);
    }
    return std::nullopt;
}

void read_one(Section& root, const Setting& setting, Settings& settings) {
    const toml::node* const node = root.take(setting.key);
    if (node == nullptr) return;
    const auto text = text_of(*node);
    if (!text || text->empty()) {
        root.complain(*node, quoted(setting.key) + " must be a text or a number");
        return;
    }
    const auto read = setting.read(settings, *text);
    if (!read) root.complain(*node, quoted(setting.key) + ": " + read.error().message);
}

}  // namespace

Expected<void> read_settings_file(std::string_view text, const std::string& name,
                                  Settings& settings) {
    Complaints complaints;
    const bool good = read_toml(text, complaints, [&settings](Section& root) {
        for (const Setting& setting : all_settings()) read_one(root, setting, settings);
        root.finish();
    });
    if (!good) return complaints.in(name);
    return {};
}

Expected<std::string> file_text(const std::string& path) {
    constexpr std::size_t most = 1 << 20;
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    const auto because = [] { return unexpected(std::strerror(errno)); };
    const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "re"));
    if (!file) return because();
    std::string text(most + 1, '\0');
    errno = 0;
    text.resize(std::fread(text.data(), 1, text.size(), file.get()));
    if (std::ferror(file.get()) != 0) return because();
    if (text.size() > most) return unexpected("it has more than a megabyte");
    return text;
}

}  // namespace wireproof::verbs
