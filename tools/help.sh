# To be sourced. If the first word is --help or -h, prints the comment at the head of the script and ends it with 0:
# help_if_asked "$@"

help_if_asked() {
    case ${1:-} in
    --help | -h)
        awk 'NR > 1 { if (!sub(/^# ?/, "")) exit; print }' "$0"
        exit 0
        ;;
    esac
}
