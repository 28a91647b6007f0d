#!/bin/sed -f
# Doxygen 1.9.4 has no anchors for the headings of a page, so it gets links without them.
s@\[\([^]]*\)\](#[^)]*)@\1@g
s@\](\([^)#]*\.md\)#[^)]*)@](\1)@g
