#!/bin/sh
# run.sh TARGET CORPUS: runs a fuzz target for some seconds on a copy of its seed corpus. An input that takes two minutes
# hangs.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$2"/* "$work"
set -- "$1" -seed=1 -max_len=1024 -len_control=10 -max_total_time=8 -timeout=120 -rss_limit_mb=2048 "$work"
echo "$@"
"$@"
