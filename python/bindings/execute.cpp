//===- execute.cpp - Running artifacts, for Python ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CpuFeatures.h"
#include "runtime/ObjectCode.h"

#include "python/bindings/arrays.h"
#include "python/bindings/executable.h"
#include "tessera-c/device.h"
#include <dlfcn.h>
#include <memory>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

using namespace tessera;
using python::checkStatus;
using python::deviceOf;
using python::Executable;
namespace nb = nanobind;

namespace {

/// What the allocator callback needs.
struct Allocation {
  nb::callable callback;
  nb::list made;
};

} // namespace

void python::raiseError(const char *type, const std::string &text) {
  nb::object error = nb::module_::import_("tessera.errors").attr(type);
  PyErr_SetString(error.ptr(), text.c_str());
  throw nb::python_error();
}

const char *python::errorFor(int32_t code) {
  switch (code) {
  case TSR_INVALID_ARGUMENT:
  case TSR_CHECK_FAILED:
  case TSR_ARITHMETIC: // of sizes: they are the caller's
    return "ArgumentError";
  case TSR_DEVICE_ERROR:
  case TSR_UNSUPPORTED:
  case TSR_OUT_OF_MEMORY:
    return "DeviceError";
  default:
    return "InternalError";
  }
}

void python::checkStatus(tsr_status status) {
  if (!status)
    return;
  std::string text = tsr_status_message(status);
  int32_t code = tsr_status_code(status);
  tsr_status_free(status);
  python::raiseError(errorFor(code), text);
}

/// Asks Python for a kernel. What Python raises stays raised, for who called
/// the runtime.
static tsr_status resolveInPython(void *code, const char *name,
                                  tsr_kernel_fn *function) {
  nb::gil_scoped_acquire acquire;
  try {
    auto address = nb::cast<uintptr_t>(
        nb::handle(static_cast<PyObject *>(code)).attr("lookup")(name));
    *function = reinterpret_cast<tsr_kernel_fn>(address);
    return nullptr;
  } catch (nb::python_error &error) {
    error.restore();
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return tsr_status_create(TSR_INTERNAL, "a kernel can't be compiled");
}

Executable::Executable(const std::string &text, nb::object givenCode)
    : code(std::move(givenCode)) {
  checkStatus(tsr_plan_parse(text.data(), text.size(), &plan));
  checkStatus(tsr_executable_create_lazy(plan, resolveInPython, code.ptr(),
                                         &executable));
  describe();
}

Executable::Executable(const std::string &text, nb::list given) {
  checkStatus(tsr_plan_parse(text.data(), text.size(), &plan));
  std::vector<std::string> names;
  std::vector<nb::bytes> bytes;
  for (nb::handle entry : given) {
    auto pair = nb::cast<nb::tuple>(entry);
    names.push_back(nb::cast<std::string>(pair[0]));
    bytes.push_back(nb::cast<nb::bytes>(pair[1]));
  }
  std::vector<tsr_image> images;
  for (size_t i = 0; i < names.size(); ++i)
    images.push_back({names[i].c_str(), bytes[i].c_str(), bytes[i].size()});
  checkStatus(tsr_executable_create_cuda(plan, images.data(), images.size(),
                                         &executable));
  describe();
}

void Executable::describe() {
  for (int32_t i = 0; i < tsr_plan_num_tensors(plan); ++i) {
    tsr_tensor_info info{};
    info.struct_size = sizeof(info);
    checkStatus(tsr_plan_tensor(plan, i, &info));
    tensors.push_back(info);
  }
  for (int32_t i = 0; i < tsr_plan_num_scalars(plan); ++i) {
    const char *name;
    int32_t dtype;
    checkStatus(tsr_plan_scalar(plan, i, &name, &dtype));
    scalars.push_back(dtype);
  }
}

Executable::~Executable() {
  tsr_executable_free(executable);
  tsr_plan_free(plan);
}

nb::list Executable::tensorInfo() const {
  static const char *const modes[] = {"in", "out", "inout", "reduce", "result"};
  nb::list rows;
  for (const tsr_tensor_info &info : tensors)
    rows.append(nb::make_tuple(info.name, tsr_dtype_name(info.dtype), info.rank,
                               modes[info.mode], bool(info.may_be_absent)));
  return rows;
}

nb::list Executable::scalarInfo() const {
  nb::list rows;
  for (int32_t i = 0; i < tsr_plan_num_scalars(plan); ++i) {
    const char *name;
    int32_t dtype;
    checkStatus(tsr_plan_scalar(plan, i, &name, &dtype));
    rows.append(nb::make_tuple(name, tsr_dtype_name(dtype)));
  }
  return rows;
}

static void *allocateInPython(void *context, int32_t index, int32_t dtype,
                              int32_t rank, const int64_t *sizes, size_t) {
  auto &allocation = *static_cast<Allocation *>(context);
  nb::gil_scoped_acquire acquire;
  try {
    nb::list shape;
    for (int32_t axis = 0; axis < rank; ++axis)
      shape.append(sizes[axis]);
    auto made = nb::cast<nb::tuple>(
        allocation.callback(index, tsr_dtype_name(dtype), nb::tuple(shape)));
    allocation.made.append(made[0]);
    return reinterpret_cast<void *>(nb::cast<uintptr_t>(made[1]));
  } catch (nb::python_error &error) {
    error.restore();
    return nullptr;
  }
}

nb::list Executable::run(nb::list given, nb::list values, nb::callable allocate,
                         nb::object device, uintptr_t stream,
                         bool synchronize) {
  struct Shape {
    std::vector<int64_t> sizes, strides;
  };
  std::vector<Shape> shapes(given.size());
  std::vector<tsr_tensor> all(given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    tsr_tensor &tensor = all[i];
    tensor = {};
    if (given[i].is_none()) {
      tensor.rank = TSR_ABSENT;
      tensor.dtype = i < this->tensors.size() ? this->tensors[i].dtype : 0;
      continue;
    }
    auto parts = nb::cast<nb::tuple>(given[i]);
    tensor.data = reinterpret_cast<void *>(nb::cast<uintptr_t>(parts[0]));
    shapes[i].sizes = nb::cast<std::vector<int64_t>>(parts[1]);
    shapes[i].strides = nb::cast<std::vector<int64_t>>(parts[2]);
    tensor.dtype = nb::cast<int32_t>(parts[3]);
    tensor.sizes = shapes[i].sizes.data();
    tensor.strides = shapes[i].strides.data();
    tensor.rank = int32_t(shapes[i].sizes.size());
  }
  std::vector<int64_t> bits = nb::cast<std::vector<int64_t>>(values);
  Allocation allocation{allocate, nb::list()};
  tsr_call call{};
  call.struct_size = sizeof(call);
  call.tensors = all.data();
  call.num_tensors = int32_t(all.size());
  call.scalars = bits.data();
  call.num_scalars = int32_t(bits.size());
  call.allocate = allocateInPython;
  call.allocate_context = &allocation;
  call.device = deviceOf(device);
  call.stream = reinterpret_cast<void *>(stream);
  call.flags = synchronize ? TSR_CALL_SYNCHRONIZE : 0;
  tsr_status status;
  {
    nb::gil_scoped_release release;
    status = tsr_executable_run(executable, &call);
  }
  if (status && PyErr_Occurred()) { // an allocation, or a kernel
    tsr_status_free(status);
    throw nb::python_error();
  }
  checkStatus(status);
  return allocation.made;
}

/// Code may know the function it was compiled from, which knows us.
static int traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self))
    Py_VISIT(nb::inst_ptr<Executable>(self)->code.ptr());
  return 0;
}

static int clear(PyObject *self) {
  if (nb::inst_ready(self))
    nb::inst_ptr<Executable>(self)->code.reset();
  return 0;
}

static PyType_Slot executableSlots[] = {
    {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
    {Py_tp_clear, reinterpret_cast<void *>(clear)},
    {0, nullptr}};

/// The functions kernels may call: the runtime's, then the C library's.
static void *resolveForCode(const char *name) {
  for (const python::Symbol &symbol : python::symbols())
    if (symbol.name == std::string_view(name))
      return symbol.address;
  return dlsym(RTLD_DEFAULT, name);
}

void python::bindExecute(nb::module_ &module) {
  nb::class_<runtime::ObjectCode>(module, "Code",
                                  "An object file of a kernel, in memory.")
      .def("address",
           [](const runtime::ObjectCode &code, const std::string &name) {
             return reinterpret_cast<uintptr_t>(code.find(name));
           });
  module.def(
      "load_code",
      [](nb::bytes object) {
        auto code = std::make_unique<runtime::ObjectCode>();
        std::string problem =
            code->load({object.c_str(), object.size()}, resolveForCode);
        if (!problem.empty())
          throw nb::value_error(problem.c_str());
        return code;
      },
      "The code of an object file; ValueError says why it can't be loaded.");
  module.def("cpu_signature", &runtime::cpuSignature,
             "What of this machine decides which code is made for it.");
  nb::class_<Executable>(module, "Executable", nb::type_slots(executableSlots))
      .def(nb::init<const std::string &, nb::object>())
      .def_static(
          "of_images",
          [](const std::string &plan, nb::list images) {
            return new Executable(plan, images);
          },
          nb::rv_policy::take_ownership,
          "A plan for GPUs; images: (architecture, cubin or PTX as bytes).")
      .def("load",
           [](const Executable &self, nb::object device) {
             tsr_device *handle = deviceOf(device);
             tsr_status status;
             {
               nb::gil_scoped_release release;
               status = tsr_executable_load(self.executable, handle);
             }
             python::checkStatus(status);
           })
      .def("run", &Executable::run, nb::arg("tensors"), nb::arg("scalars"),
           nb::arg("allocate"), nb::arg("device").none() = nb::none(),
           nb::arg("stream") = 0, nb::arg("synchronize") = false)
      .def_prop_ro("tensors", &Executable::tensorInfo)
      .def_prop_ro("scalars", &Executable::scalarInfo)
      .def_prop_ro("kernels",
                   [](const Executable &self) {
                     std::vector<std::string> names;
                     for (int32_t i = 0; i < tsr_plan_num_kernels(self.plan);
                          ++i)
                       names.push_back(tsr_plan_kernel(self.plan, i));
                     return names;
                   })
      .def_prop_ro(
          "scratch",
          [](const Executable &self) { return tsr_plan_scratch(self.plan); },
          "The most bytes of scratch memory per thread that a launch takes.");
  module.def("set_num_threads", &tsr_set_num_threads);
  module.def("num_threads", &tsr_get_num_threads);
  module.def("threading", &tsr_threading_name);
  module.def("missing_cpu_feature", &runtime::missingCpuFeature,
             "Why this processor feature can't be used; empty if it can.");
  nb::dict dtypes;
  for (int32_t i = 0; i < TSR_NUM_DTYPES; ++i)
    dtypes[tsr_dtype_name(i)] = i;
  module.attr("DTYPES") = dtypes;
}
