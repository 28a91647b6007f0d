// Statuses and texts of the library as exceptions of Python.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <string>

#include "wireproof/wireproof.h"

namespace wireproof::python {

namespace py = pybind11;

/// Throws the exception of wireproof._errors that belongs to the status. Needs the GIL.
[[noreturn]] void raise(wireproof_status status, const std::string& text);

/// The room for the text of a function without an endpoint.
class Why {
public:
    char* room() { return text_.data(); }
    std::size_t bytes() const { return text_.size(); }
    void check(wireproof_status status) const {
        if (status != WIREPROOF_OK) raise(status, text_.data());
    }

private:
    std::array<char, 4096> text_{};
};

/// A Python exception that is kept until the call of the library has returned. Needs the GIL.
class KeptError {
public:
    KeptError() = default;
    KeptError(const KeptError&) = delete;
    KeptError& operator=(const KeptError&) = delete;
    ~KeptError() { drop(); }

    bool is_set() const { return type_ != nullptr; }
    /// Takes the exception that is set in the interpreter. If there is an earlier one, the new one
    /// goes to sys.unraisablehook, with `where`.
    void take(PyObject* where) {
        if (is_set()) return PyErr_WriteUnraisable(where);
        PyErr_Fetch(&type_, &value_, &trace_);
    }
    /// Throws it, if there is one.
    void rethrow() {
        if (!is_set()) return;
        PyErr_Restore(type_, value_, trace_);
        type_ = value_ = trace_ = nullptr;
        throw py::error_already_set();
    }
    void drop() {
        Py_CLEAR(type_);
        Py_CLEAR(value_);
        Py_CLEAR(trace_);
    }

private:
    PyObject* type_ = nullptr;
    PyObject* value_ = nullptr;
    PyObject* trace_ = nullptr;
};

/// Runs code of Python inside a callback of the library: no C++ exception leaves. An exception of
/// Python is kept. Needs the GIL.
template <class Run>
void run_kept(KeptError& error, PyObject* where, Run&& run) {
    try {
        run();
        return;
    } catch (py::error_already_set& thrown) {
        thrown.restore();
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::exception& thrown) {
        PyErr_SetString(PyExc_RuntimeError, thrown.what());
    }
    error.take(where);
}

}  // namespace wireproof::python
