// Memory that the library allocated for an endpoint, as an object of Python that has bytes.
#pragma once

#include "endpoint.hpp"

namespace wireproof::python {

/// Used with the GIL held. It keeps the object of its endpoint, which knows it only by its address.
class Allocation {
public:
    Allocation(Endpoint& endpoint, void* bytes, std::size_t length);
    Allocation(const Allocation&) = delete;
    Allocation& operator=(const Allocation&) = delete;
    ~Allocation();

    void* bytes() const { return bytes_; }
    std::size_t length() const { return length_; }
    /// Whether an object of Python shows the bytes.
    bool is_shown() const { return shown_ > 0; }
    bool has(const void* bytes, std::size_t length) const;
    /// The library has freed the memory.
    void take_away() { bytes_ = nullptr; }

    static int get_buffer(PyObject* self, Py_buffer* view, int flags);
    static void release_buffer(PyObject* self, Py_buffer* view);

private:
    py::object kept_;
    Endpoint& endpoint_;
    void* bytes_;  // null: it was freed
    std::size_t length_;
    std::size_t shown_ = 0;  // how many buffers
};

void add_allocation(py::module_& module);

}  // namespace wireproof::python
