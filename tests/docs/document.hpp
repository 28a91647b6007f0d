// A page of docs/. A test compares its figures with values that the program computes.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

namespace wireproof::docs {

class Document {
public:
    explicit Document(const std::string& name) : name_(name) {
        std::ifstream file(std::string(WIREPROOF_DOCS) + "/" + name, std::ios::binary);
        text_.assign(std::istreambuf_iterator<char>(file), {});
        EXPECT_FALSE(text_.empty()) << name << " is missing";
        // Patterns match a sentence wherever its lines break.
        line_ = std::regex_replace(text_, std::regex("\\s+"), " ");
    }

    const std::string& text() const { return text_; }

    /// The text of each group of the pattern. The pattern must match once.
    std::vector<std::string> groups(const std::string& pattern) const {
        const std::regex regex(pattern);
        std::vector<std::string> found;
        int places = 0;
        for (std::sregex_iterator at(line_.begin(), line_.end(), regex), end; at != end; ++at) {
            ++places;
            for (std::size_t i = 1; i < at->size(); ++i) found.push_back((*at)[i].str());
        }
        EXPECT_EQ(places, 1) << name_ << " should have this once: " << pattern;
        return places == 1 ? found : std::vector<std::string>();
    }

    /// Expects that the groups of the pattern match the figures `computed`, rounded as the page
    /// writes them.
    void expect_figures(const std::string& pattern, const std::vector<double>& computed) const {
        const std::vector<std::string> written = groups(pattern);
        if (written.empty()) return;
        ASSERT_EQ(written.size(), computed.size()) << pattern;
        for (std::size_t i = 0; i < computed.size(); ++i) {
            EXPECT_TRUE(is_rounded(written[i], computed[i]))
                << name_ << " says " << written[i] << ", computed is " << computed[i] << ": "
                << pattern;
        }
    }

private:
    // "3.79e-6" stands for each number that rounds to it. "10 160" and "10,160" are one number.
    static bool is_rounded(std::string written, double computed) {
        std::erase_if(written, [](char c) { return c == ' ' || c == ','; });
        char* end = nullptr;
        const double value = std::strtod(written.c_str(), &end);
        if (end != written.c_str() + written.size()) return false;
        const std::string mantissa = written.substr(0, written.find('e'));
        const std::size_t point = mantissa.find('.');
        const auto decimals =
            point == std::string::npos ? 0 : static_cast<int>(mantissa.size() - point - 1);
        const int power =
            mantissa.size() == written.size() ? 0 : std::stoi(written.substr(mantissa.size() + 1));
        return std::abs(computed - value) <= 0.5000001 * std::pow(10.0, power - decimals);
    }

    std::string name_;
    std::string text_;
    std::string line_;
};

}  // namespace wireproof::docs
