// What a call returns that may fail for a reason worth a line. Standard library only.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace wireproof {

/// A value, or one line that says why there is none. The value of a failure and the error() of a
/// success do not exist: std::bad_variant_access is thrown.
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

/// Success, or one line that says why not. The error() of a success does not exist:
/// std::bad_variant_access is thrown.
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
