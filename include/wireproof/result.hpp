// What a call returns that may fail for a reason worth a line. Standard library only.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace wireproof {

/// A value, or one line that says why there is none.
template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    static Result failure(std::string why) { return Result(Failure{std::move(why)}); }

    explicit operator bool() const { return state_.index() == 0; }
    T& operator*() { return std::get<0>(state_); }
    T* operator->() { return &std::get<0>(state_); }
    const T& operator*() const { return std::get<0>(state_); }
    const T* operator->() const { return &std::get<0>(state_); }
    const std::string& error() const { return std::get<1>(state_).why; }

private:
    struct Failure {
        std::string why;
    };
    explicit Result(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}
    std::variant<T, Failure> state_;
};

/// Done, or one line that says why not.
template <>
class [[nodiscard]] Result<void> {
public:
    Result() = default;
    static Result failure(std::string why) {
        Result failed;
        failed.why_ = std::move(why);
        return failed;
    }

    explicit operator bool() const { return !why_; }
    /// Of a failure.
    const std::string& error() const { return why_.value(); }

private:
    std::optional<std::string> why_;
};

}  // namespace wireproof
