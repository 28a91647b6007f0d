#include "wireproof/app/launch/rank_command.hpp"

#include <algorithm>

#include "wireproof/app/launch/shell_word.hpp"

namespace wireproof::launch {
namespace {

// Arguments: the folder, the launcher's address or nothing, the port, then what env(1) takes.
// The script is one line, so that a login shell of another family can pass it on, too.
//
// A shell lets the processes that it starts with "&" ignore SIGINT, so the program is not started
// so. It has a session of its own, with the process that reads the lifeline: signals for the group
// reach the program and its children, and this process ignores them. When the program has ended,
// the script kills the group. The substitution $() gets the number of the group and the exit code.
// The subshell around exec keeps dash from printing "Killed" among the errors of the program.
// In a session of its own, the kernel does not stop a group by SIGTSTP, and SIGSTOP would stop this
// process, too: only the program itself is stopped.
// The descriptors are 3: the lifeline, 4 and 6: the output and the errors of the program, 5: $().
constexpr auto script =
    R"(cd -- "$1" || exit 1; IFS= read -r WIREPROOF_TOKEN || exit 1; )"
    R"(a=$2; [ -n "$a" ] || a=${SSH_CONNECTION%% *}; )"
    R"(case $a in "") a=127.0.0.1;; *:*) a="[$a]";; esac; )"
    R"(WIREPROOF_RENDEZVOUS=$a:$3; export WIREPROOF_TOKEN WIREPROOF_RENDEZVOUS; )"
    R"(shift 3; exec 3<&0 4>&1 6>&2 </dev/null 2>/dev/null; )"
    R"(r=$( (exec setsid sh -c 'echo $$ >&5; exec 5>&-; )"
    R"(( { trap "" HUP INT TERM USR1 USR2 TSTP; while IFS= read -r s; do )"
    R"(case "$s" in (TSTP) kill -s STOP "$$";; (*) kill -s "$s" -- "-$$";; esac; done; )"
    R"(kill -s TERM -- "-$$"; kill -s CONT -- "-$$"; sleep 1; kill -s KILL -- "-$$"; } )"
    R"(<&3 >/dev/null 2>&1 & ); exec 3<&-; )"
    R"(exec env "$@"' wireproof "$@" 5>&1 >&4 2>&6 4>&- 6>&-); echo $?); )"
    R"(set -- $r; [ -z "$2" ] || kill -s KILL -- "-$1"; exit "${2:-$1}")";

}  // namespace

Variables rank_variables(const JobNames& names, std::size_t rank, const std::string& host) {
    return {{"WIREPROOF_RANK", std::to_string(rank)},
            {"WIREPROOF_SIZE", std::to_string(names.size)},
            {"WIREPROOF_JOB", names.job},
            {"WIREPROOF_HOST", host}};
}

std::vector<std::string> remote_command(const RemoteRank& rank) {
    std::vector<std::string> words;
    for (std::size_t at = 0; at < rank.ssh.size();) {
        const std::size_t end = std::min(rank.ssh.find(' ', at), rank.ssh.size());
        if (end > at) words.push_back(rank.ssh.substr(at, end - at));
        at = end + 1;
    }
    words.insert(words.end(), {rank.host, "--", "sh", "-c", shell_word(script), "wireproof"});
    for (const std::string& one : {rank.folder, rank.address, std::to_string(rank.port)}) {
        words.push_back(shell_word(one));
    }
    for (const auto& [name, value] : rank.variables)
        words.push_back(shell_word(name + "=" + value));
    for (const std::string& one : rank.program) words.push_back(shell_word(one));
    return words;
}

}  // namespace wireproof::launch
