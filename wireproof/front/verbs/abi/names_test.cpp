// Compares texts, rates and copies with those of the genuine library, where it is installed.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <infiniband/sa.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>

#include <string>
#include <vector>

#include "wireproof/front/verbs/abi/api.hpp"

extern "C" {
void ibv_copy_ah_attr_from_kern(ibv_ah_attr* to, ib_uverbs_ah_attr* from);
void ibv_copy_qp_attr_from_kern(ibv_qp_attr* to, ib_uverbs_qp_attr* from);
void ibv_copy_path_rec_from_kern(ibv_sa_path_rec* to, ib_user_path_rec* from);
void ibv_copy_path_rec_to_kern(ib_user_path_rec* to, ibv_sa_path_rec* from);
}

namespace wireproof::verbs {
namespace {

class VerbsNames : public testing::Test {
protected:
    void SetUp() override {
        library_ = ::dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
        if (library_ == nullptr) GTEST_SKIP() << "libibverbs1 is not installed";
    }
    /// The genuine function of the same name and type.
    template <class Function>
    Function* genuine(const char* name, Function*) const {
        void* const found = ::dlsym(library_, name);
        EXPECT_NE(found, nullptr) << name;
        return reinterpret_cast<Function*>(found);
    }

    void* library_ = nullptr;
};

TEST_F(VerbsNames, TextsAreThoseOfTheGenuineLibrary) {
    const auto same = [this](const char* name, auto* ours) {
        auto* const theirs = genuine(name, ours);
        for (int value = -2; value < 40; ++value) {
            const auto as = [value](auto* function) {
                return [function, value]<class Value>(const char* (*)(Value)) {
                    return std::string(function(static_cast<Value>(value)));
                }(function);
            };
            EXPECT_EQ(as(ours), as(theirs)) << name << " " << value;
        }
    };
    same("ibv_node_type_str", ibv_node_type_str);
    same("ibv_port_state_str", ibv_port_state_str);
    same("ibv_event_type_str", ibv_event_type_str);
    same("ibv_wc_status_str", ibv_wc_status_str);
}

TEST_F(VerbsNames, RatesAreThoseOfTheGenuineLibrary) {
    auto* const to_multiple = genuine("ibv_rate_to_mult", ibv_rate_to_mult);
    auto* const to_megabits = genuine("ibv_rate_to_mbps", ibv_rate_to_mbps);
    auto* const of_multiple = genuine("mult_to_ibv_rate", mult_to_ibv_rate);
    auto* const of_megabits = genuine("mbps_to_ibv_rate", mbps_to_ibv_rate);
    for (int value = -1; value < 40; ++value) {
        const auto rate = static_cast<ibv_rate>(value);
        EXPECT_EQ(ibv_rate_to_mult(rate), to_multiple(rate)) << value;
        EXPECT_EQ(ibv_rate_to_mbps(rate), to_megabits(rate)) << value;
    }
    for (int value = -1; value < 600; ++value) {
        EXPECT_EQ(mult_to_ibv_rate(value), of_multiple(value)) << value;
    }
    for (int value = -1; value < 1'300'000; ++value) {
        ASSERT_EQ(mbps_to_ibv_rate(value), of_megabits(value)) << value;
    }
}

/// All bytes differ, so that no member can be mistaken for another.
template <class Type>
Type filled() {
    Type value;
    auto* const bytes = reinterpret_cast<unsigned char*>(&value);
    for (std::size_t i = 0; i < sizeof value; ++i) bytes[i] = static_cast<unsigned char>(i + 1);
    return value;
}

template <class To, class From>
void expect_same(void (*ours)(To*, From*), void (*theirs)(To*, From*)) {
    From from = filled<From>();
    To a{};
    To b{};
    ours(&a, &from);
    theirs(&b, &from);
    const auto bytes_of = [](const To& of) {
        const auto* const bytes = reinterpret_cast<const unsigned char*>(&of);
        return std::vector<int>(bytes, bytes + sizeof of);
    };
    EXPECT_EQ(bytes_of(a), bytes_of(b));
}

TEST_F(VerbsNames, CopiesAreThoseOfTheGenuineLibrary) {
    expect_same(ibv_copy_ah_attr_from_kern,
                genuine("ibv_copy_ah_attr_from_kern", ibv_copy_ah_attr_from_kern));
    expect_same(ibv_copy_qp_attr_from_kern,
                genuine("ibv_copy_qp_attr_from_kern", ibv_copy_qp_attr_from_kern));
    expect_same(ibv_copy_path_rec_from_kern,
                genuine("ibv_copy_path_rec_from_kern", ibv_copy_path_rec_from_kern));
    expect_same(ibv_copy_path_rec_to_kern,
                genuine("ibv_copy_path_rec_to_kern", ibv_copy_path_rec_to_kern));
}

}  // namespace
}  // namespace wireproof::verbs
