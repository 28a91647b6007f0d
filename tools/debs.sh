#!/usr/bin/env bash
# tools/debs.sh [--out DIR]: builds the Debian packages of this checkout and checks them with lintian. The packages
# are then in DIR; the default is build/debs. What is in DIR before is removed.
set -euo pipefail

. "$(dirname "$0")/out_option.sh"
out_option debs "$@"
# The script removes only a folder that it made itself.
[ ! -e "$out" ] || [ -e "$out/made-by-debs.sh" ] || [ -z "$(ls -A -- "$out" 2>&1)" ] ||
    fail "$out is not empty, and not a folder of this script"

cd "$source"
. tools/packages.sh
need "${build_packages[@]}" "${deb_packages[@]}"

rm -rf -- "$out"
mkdir -p -- "$out/wireproof"
touch "$out/made-by-debs.sh"
# dpkg-buildpackage writes into the folder of the sources and into the one above it.
git ls-files -z | xargs -0 cp --parents -t "$out/wireproof"
cd "$out/wireproof"
DEB_BUILD_OPTIONS="parallel=$(nproc) ${DEB_BUILD_OPTIONS:-}" dpkg-buildpackage --build=binary --unsigned-source \
    --unsigned-changes
cd ..
rm -rf wireproof
lintian --fail-on error,warning --tag-display-limit 0 ./*.changes
ls ./*.deb
