#include "wireproof/cli/write_signals.hpp"

#include <array>
#include <csignal>

namespace wireproof::cli {
namespace {

struct WriteSignal {
    int number;
    void (*before)(int);
};
std::array<WriteSignal, 2> write_signals = {{{SIGPIPE, SIG_DFL}, {SIGXFSZ, SIG_DFL}}};

}  // namespace

void ignore_write_signals() {
    for (WriteSignal& one : write_signals) one.before = std::signal(one.number, SIG_IGN);
}

void restore_write_signals() {
    for (const WriteSignal& one : write_signals) std::signal(one.number, one.before);
}

}  // namespace wireproof::cli
