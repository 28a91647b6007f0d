# To be sourced. need PACKAGE…: installs the Debian packages that are missing, and names those that it cannot get.

need() {
    local missing=() package
    for package in "$@"; do
        dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
            missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "These Debian packages are needed; as root: apt-get install ${missing[*]}" >&2
            return 1
        fi
        as_root=(sudo)
    fi
    echo "Installing ${missing[*]}"
    local log
    log=$(mktemp)
    if ! { "${as_root[@]}" apt-get update -qq &&
        DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends \
            "${missing[@]}"; } >"$log" 2>&1; then
        tail -n 5 "$log" >&2
        for package in "${missing[@]}"; do
            apt-cache show "$package" >/dev/null 2>&1 ||
                echo "$package is not in this system's package lists (it is in Debian 12, section main)" >&2
        done
        echo "Not installed. By hand, as root: apt-get install ${missing[*]}" >&2
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
}

build_packages=(g++ cmake ninja-build libcli11-dev libfmt-dev nlohmann-json3-dev libexpected-dev libssl-dev
    libtomlplusplus-dev libjs-dygraphs zlib1g-dev libpmix-dev)
# For ./run, which also builds the RDMA device: its header, and programs that run on it.
run_packages=(libibverbs-dev ibverbs-utils)
unit_packages=(libgtest-dev libibverbs-dev pybind11-dev python3-dev python3-jsonschema)
# For ./test.
quick_packages=(ibverbs-utils rdma-core perftest tshark iproute2 python3-pytest mandoc)
# For ./test --all.
test_packages=(abigail-tools dpkg-dev lintian pkg-config clang-14 libclang-rt-14-dev clang-format-14 clang-tidy-14 lld-14
    chromium poppler-utils tshark nftables iproute2 ibverbs-utils librdmacm-dev rdma-core rdmacm-utils perftest
    python3-pyverbs ucx-utils openmpi-bin libopenmpi-dev libfabric-bin qperf libasio-dev openssh-server openssh-client
    slurm-wlm munge libpmi2-0 mandoc zsh fish python3-prometheus-client
    python3-numpy python3-pandas python3-pytest mypy python3-distributed python3-nbclient python3-ipykernel)
# For tools/debs.sh and the test of the packages.
deb_packages=(debhelper fakeroot lintian libibverbs-dev mmdebstrap pybind11-dev python3-dev dh-python)
# For tools/site.sh.
site_packages=(doxygen doxygen-awesome-css)
# For the RDMA device only.
device_packages=(g++ cmake ninja-build libexpected-dev libtomlplusplus-dev libibverbs-dev)
