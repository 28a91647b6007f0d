// The result of a call that can fail: a value, or a text of one line that says why there is none.
// This header includes only the standard library.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace wireproof {

/// A value (success), or one line of text that says why there is none (failure). Converted to bool,
/// it is true for a success. The value of a failure and the error() of a success do not exist: a
/// call that asks for them throws std::bad_variant_access.
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

/// The same for a call that returns no value. The error() of a success does not exist: a call that
/// asks for it throws std::bad_variant_access.
template <>
class [[nodiscard]] Result<void> {
public:
    Result() = default;
    static Result failure(std::string why) { return Result(Failure{std::move(why)}); }

    explicit operator bool() const { return state_.index() == 0; }
    const std::string& error() const { return std::get<1>(state_).why; }

private:
    struct Failure {
        std::string why;
    };
    explicit Result(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}
    std::variant<std::monostate, Failure> state_;
};

}  // namespace wireproof
