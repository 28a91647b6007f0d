# To be sourced by a script with the option --out DIR: out_option DEFAULT "$@". Sets `source`, the folder of the
# repository, and `out`, the folder for the results: build/DEFAULT, or DIR.
. "$(dirname "${BASH_SOURCE[0]}")/help.sh"

fail() {
    echo "tools/$(basename "$0"): $1" >&2
    exit 2
}

out_option() {
    local default=$1
    shift
    help_if_asked "$@"
    source=$(realpath -- "$(dirname "$0")/..")
    out=$source/build/$default
    while [ $# -gt 0 ]; do
        case $1 in
        --out)
            [ $# -ge 2 ] && [ -n "$2" ] || fail "--out needs a folder"
            out=$(realpath -m -- "$2")
            shift
            ;;
        *) fail "what is $1? It takes --out DIR" ;;
        esac
        shift
    done
}
