#!/bin/sed -f
# Doxygen reads comments that begin with ///. The comment at the top of a header is about the file, and one behind a
# declaration is about it.
1,/^#pragma once/s@^//\( \|$\)@///\1@
1s|^|/// @file\n|
s@^\( *[^ /#].*[^ ]\)  // @\1  ///< @
