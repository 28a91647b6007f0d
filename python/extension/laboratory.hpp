// The functions of the laboratory in the extension.
#pragma once

#include <pybind11/pybind11.h>

namespace wireproof::python {

void add_laboratory(pybind11::module_& module);
void add_searches(pybind11::module_& module);
void add_endpoint(pybind11::module_& module);

}  // namespace wireproof::python
