#!/usr/bin/env bash
# tools/device.sh [--prefix DIR] [--github]: builds the RDMA device for unmodified programs and installs its
# libraries into DIR/lib/wireproof. The default of DIR is /usr/local, or ~/.local for a user other than root.
# No program finds the libraries there by itself. The script prints the two variables with which it does.
#   --github: also sets the variables for all later steps of a job of GitHub Actions.
set -euo pipefail
. "$(dirname "$0")/help.sh"
help_if_asked "$@"

fail() {
    echo "tools/device.sh: $1" >&2
    exit 2
}

prefix=$([ "$(id -u)" -eq 0 ] && echo /usr/local || echo "$HOME/.local")
github=
while [ $# -gt 0 ]; do
    case $1 in
    --prefix)
        [ $# -ge 2 ] && [ -n "$2" ] || fail "--prefix needs a folder"
        prefix=$(realpath -m -- "$2")
        shift
        ;;
    --github)
        github=${GITHUB_ENV:-}
        [ -n "$github" ] || fail "--github: GITHUB_ENV names no file; this is no step of GitHub Actions"
        ;;
    *) fail "what is $1? It takes --prefix DIR and --github" ;;
    esac
    shift
done

cd "$(dirname "$0")/.."
. tools/packages.sh
need "${device_packages[@]}"
[ -f build/device/build.ninja ] || cmake --preset device >/dev/null
cmake --build --preset device

folder=$prefix/lib/wireproof
mkdir -p "$folder"
for library in libibverbs.so.1 libwireproof-hooks.so libwireproof-verbs-preload.so; do
    # A library gets its final name when it is complete, because a program may use the old one.
    cp -L "build/device/lib/wireproof/$library" "$folder/.$library.new"
    mv "$folder/.$library.new" "$folder/$library"
done

variables=("LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    "LD_PRELOAD=$folder/libwireproof-hooks.so${LD_PRELOAD:+:$LD_PRELOAD}")
[ -z "$github" ] || printf '%s\n' "${variables[@]}" >>"$github"
printf '%s\n' "${variables[@]}"
