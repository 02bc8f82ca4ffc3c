// The lock of objects that learn while others read them, as two context managers.
//
// One rule against deadlock: no thread waits here with the GIL. A thread may take the GIL while it holds the lock.
#include "base/shared_lock.hpp"

#include <nanobind/nanobind.h>

#include <memory>

namespace nb = nanobind;
using boscage::SharedLock;

namespace {

struct Reading {
  std::shared_ptr<SharedLock> lock;
  bool attempt() const { return lock->try_lock_shared(); }
  void wait(const SharedLock::Poll& poll) const { lock->lock_shared(poll); }
  void leave() const { lock->unlock_shared(); }
};

struct Writing {
  std::shared_ptr<SharedLock> lock;
  bool attempt() const { return lock->try_lock(); }
  void wait(const SharedLock::Poll& poll) const { lock->lock(poll); }
  void leave() const { lock->unlock(); }
};

void check_signals() {
  nb::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

template <class Access>
void enter(const Access& access) {
  if (access.attempt()) return;
  nb::gil_scoped_release release;
  access.wait(check_signals);
}

template <class Access>
void leave(const Access& access, nb::handle, nb::handle, nb::handle) {
  access.leave();
}

template <class Access>
void bind_access(nb::module_& module, const char* name, const char* doc) {
  nb::class_<Access>(module, name, doc)
      .def("__enter__", &enter<Access>)
      .def("__exit__", &leave<Access>, nb::arg().none(), nb::arg().none(), nb::arg().none());
}

}  // namespace

namespace boscage::bind {

void bind_shared_lock(nb::module_& module) {
  bind_access<Reading>(module, "Reading", "Context manager: others may read too, nobody writes.");
  bind_access<Writing>(module, "Writing", "Context manager: nobody else reads or writes.");
  module.def(
      "shared_lock",
      [] {
        const auto lock = std::make_shared<SharedLock>();
        return nb::make_tuple(Reading{lock}, Writing{lock});
      },
      "A new lock: its two context managers, for reading and for writing. A thread must not enter one inside another.");
}

}  // namespace boscage::bind
