// pybind11 does not tell when a buffer is released, so the type has functions of its own for that.
#include "allocation.hpp"

#include <algorithm>

#include "endpoint_inside.hpp"

namespace wireproof::python {
namespace {

bool is_within(const void* begin, std::size_t size, const void* bytes, std::size_t length) {
    const auto from = reinterpret_cast<std::uintptr_t>(begin);
    const auto at = reinterpret_cast<std::uintptr_t>(bytes);
    return at >= from && at - from <= size && length <= size - (at - from);
}

}  // namespace

Allocation::Allocation(Endpoint& endpoint, void* bytes, std::size_t length)
    : kept_(py::cast(&endpoint, py::return_value_policy::reference)),
      endpoint_(endpoint),
      bytes_(bytes),
      length_(length) {}

Allocation::~Allocation() {
    endpoint_.forget(*this);
}

bool Allocation::has(const void* bytes, std::size_t length) const {
    return bytes_ != nullptr && is_within(bytes_, length_, bytes, length);
}

int Allocation::get_buffer(PyObject* self, Py_buffer* view, int flags) {
    auto* const allocation = py::handle(self).cast<Allocation*>();
    if (allocation->bytes_ == nullptr) {
        view->obj = nullptr;
        PyErr_SetString(PyExc_BufferError, "the endpoint is closed, and so the memory is freed");
        return -1;
    }
    const auto length = static_cast<Py_ssize_t>(allocation->length_);
    if (PyBuffer_FillInfo(view, self, allocation->bytes_, length, 0, flags) != 0) return -1;
    ++allocation->shown_;
    return 0;
}

void Allocation::release_buffer(PyObject* self, Py_buffer*) {
    --py::handle(self).cast<Allocation*>()->shown_;
}

py::object Endpoint::allocate(std::size_t length) {
    const Use use(*this);
    free_forgotten();
    void* bytes = nullptr;
    check(wireproof_endpoint_allocate(handle_, length, &bytes));
    auto allocation = std::make_unique<Allocation>(*this, bytes, length);
    allocations_.push_back(allocation.get());
    return py::cast(std::move(allocation));
}

void Endpoint::forget(const Allocation& allocation) {
    if (std::erase(allocations_, &allocation) == 0 || allocation.bytes() == nullptr) return;
    forgotten_.emplace_back(allocation.bytes(), allocation.length());
}

void Endpoint::free_forgotten() {
    std::erase_if(forgotten_, [this](const auto& one) {
        const auto status = wireproof_endpoint_deallocate(handle_, one.first, one.second);
        return status != WIREPROOF_WOULD_BLOCK;  // else it is registered, or a transfer uses it
    });
}

void Endpoint::release_if_allocated(Export& bytes) const {
    const bool allocated =
        std::any_of(allocations_.begin(), allocations_.end(),
                    [&](const Allocation* one) { return one->has(bytes.bytes(), bytes.length()); });
    if (allocated) bytes.release();
}

void Endpoint::check_nothing_shows_allocations() const {
    const auto shown = std::count_if(allocations_.begin(), allocations_.end(),
                                     [](const Allocation* one) { return one->is_shown(); });
    if (shown == 0) return;
    throw py::buffer_error(
        "an object shows bytes of allocate(): release it before the endpoint ends");
}

void Endpoint::take_allocations() {
    for (Allocation* const one : allocations_) one->take_away();
    forgotten_.clear();
}

void add_allocation(py::module_& module) {
    const auto buffers = [](PyHeapTypeObject* type) {
        type->as_buffer.bf_getbuffer = &Allocation::get_buffer;
        type->as_buffer.bf_releasebuffer = &Allocation::release_buffer;
        type->ht_type.tp_as_buffer = &type->as_buffer;
    };
    py::class_<Allocation>(module, "Allocation", py::custom_type_setup(buffers),
                           "Memory of Endpoint.allocate(). It has the bytes, as a bytearray has.")
        .def("__len__", &Allocation::length);
}

}  // namespace wireproof::python
