#!/usr/bin/env bash
# tools/site.sh [--out DIR]: makes the documentation as HTML pages: the public headers and all pages of the
# repository. They are then in DIR; the default is build/site. A warning of Doxygen is an error.
set -euo pipefail

. "$(dirname "$0")/out_option.sh"
out_option site "$@"

cd "$source"
. tools/packages.sh
need "${site_packages[@]}"
mkdir -p -- "$out"
version=$(sed -n 's/^#define WIREPROOF_VERSION_[A-Z]* \([0-9]*\)$/\1/p' include/wireproof/version.h* | paste -s -d .)
{
    cat docs/site/Doxyfile
    printf '%s\n' "OUTPUT_DIRECTORY = \"$out\"" "PROJECT_NUMBER = $version" "STRIP_FROM_PATH = \"$source\"" \
        "USE_MDFILE_AS_MAINPAGE = \"$source/README.md\""
    # The menu has the pages in this order: those for users, for contributors, and those beside the code.
    {
        for folder in start guide/rdma guide/messages guide/links reference rules developers; do
            find "./docs/$folder" -name '*.md' | sort
        done
        find . \( -path ./tests -o -path ./build -o -path ./debian -o -path './obj-*' -o -path ./docs \) -prune -o \
            -name '*.md' -print | sort
    } | sed 's/.*/INPUT += "&"/'
} | doxygen -
# All pages are in one folder. Links to a header lead to its page.
sed -i -e 's|href="\(\.\./\)*|href="|g' -e 's|href="include/wireproof/\([a-z]*\)\.\([a-z]*\)"|href="\1_8\2.html"|g' "$out"/*.html
# Pages link to pictures, grids, examples and the notebook by the paths of the repository.
cp -r --parents -t "$out" docs/pictures docs/sweeps docs/guide/links/*.ipynb examples
