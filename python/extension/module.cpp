// The extension _wireproof: the functions of wireproof.h for the package wireproof, which gives
// them the form that its users see.
#include "laboratory.hpp"

#include "wireproof/wireproof.h"

PYBIND11_MODULE(_wireproof, module) {
    module.doc() = "Functions of the library libwireproof. Programs import wireproof.";
    module.attr("version") = wireproof_version_text();
    wireproof::python::add_laboratory(module);
    wireproof::python::add_searches(module);
    wireproof::python::add_endpoint(module);
}
