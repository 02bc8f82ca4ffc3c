// Long work beside a waiting Python thread: Ctrl-C, progress and the GIL live here alone.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/parallel.hpp"

namespace boscage::bind {

namespace nb = nanobind;

// Runs work(control) with the GIL released. Long work goes to a thread of its own, while the calling
// thread wakes every 50 ms to look for Ctrl-C and to call progress(done) (None: no progress).
// If Ctrl-C comes, the stop flag is set, the work ends by throwing Interrupted, and the signal's
// exception is raised; work that catches Interrupted itself (an anytime search) returns normally
// and the exception is dropped when keep_result is true.
template <class Work>
void run(bool is_short, nb::object progress, Work&& work, bool keep_result = false) {
  Control control;
  if (is_short) {
    nb::gil_scoped_release release;
    work(control);
    return;
  }
  std::mutex mutex;
  std::condition_variable finished;
  bool done = false;
  std::exception_ptr error;
  bool signalled = false;
  std::thread job;
  {
    nb::gil_scoped_release release;
    job = std::thread([&] {
      try {
        work(control);
      } catch (...) {
        error = std::current_exception();
      }
      {
        std::lock_guard lock(mutex);
        done = true;
      }
      finished.notify_one();
    });
    std::unique_lock lock(mutex);
    while (!finished.wait_for(lock, std::chrono::milliseconds(50), [&] { return done; })) {
      lock.unlock();
      {
        nb::gil_scoped_acquire acquire;
        if (!signalled) {
          if (PyErr_CheckSignals() != 0) {
            signalled = true;
          } else if (!progress.is_none()) {
            try {
              progress(control.done());
            } catch (nb::python_error& raised) {
              raised.restore();
              signalled = true;
            }
          }
          if (signalled) control.stop();
        }
      }
      lock.lock();
    }
    lock.unlock();
    job.join();
  }
  if (signalled) {
    if (keep_result && !error && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
      PyErr_Clear();
      return;
    }
    throw nb::python_error();
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace boscage::bind
