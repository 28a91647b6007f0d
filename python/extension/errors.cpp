#include "errors.hpp"

namespace wireproof::python {

void raise(wireproof_status status, const std::string& text) {
    const py::object error =
        py::module_::import("wireproof._errors")
            .attr("of_status")(status, wireproof_status_name(status),
                               py::reinterpret_steal<py::str>(PyUnicode_DecodeUTF8(
                                   text.data(), static_cast<Py_ssize_t>(text.size()), "replace")));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
    throw py::error_already_set();
}

}  // namespace wireproof::python
