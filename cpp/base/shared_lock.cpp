#include "base/shared_lock.hpp"

#include <chrono>

namespace boscage {

template <class Ready, class GiveUp>
void SharedLock::wait(Guard& guard, const Poll& poll, const Ready& ready, const GiveUp& give_up) {
  while (!changed_.wait_for(guard, std::chrono::milliseconds(50), ready)) {
    guard.unlock();
    try {
      poll();
    } catch (...) {
      guard.lock();
      give_up();
      throw;
    }
    guard.lock();
  }
}

void SharedLock::admit_readers() {
  readers_ += waiting_readers_;
  waiting_readers_ = 0;
  ++admissions_;
  changed_.notify_all();
}

bool SharedLock::try_lock_shared() {
  const Guard guard(mutex_);
  if (!may_read()) return false;
  ++readers_;
  return true;
}

void SharedLock::lock_shared(const Poll& poll) {
  Guard guard(mutex_);
  if (may_read()) {
    ++readers_;
    return;
  }
  ++waiting_readers_;
  const uint64_t before = admissions_;
  const auto admitted = [&] { return admissions_ != before; };  // and counted in readers_ already
  wait(guard, poll, admitted, [&] {
    if (!admitted()) {
      --waiting_readers_;
    } else if (--readers_ == 0) {
      changed_.notify_all();
    }
  });
}

void SharedLock::unlock_shared() {
  const Guard guard(mutex_);
  if (--readers_ == 0 && waiting_writers_ > 0) changed_.notify_all();
}

bool SharedLock::try_lock() {
  const Guard guard(mutex_);
  if (!may_write()) return false;
  writing_ = true;
  return true;
}

void SharedLock::lock(const Poll& poll) {
  Guard guard(mutex_);
  ++waiting_writers_;
  wait(
      guard, poll, [&] { return may_write(); },
      [&] {
        --waiting_writers_;
        if (may_read()) admit_readers();
      });
  --waiting_writers_;
  writing_ = true;
}

void SharedLock::unlock() {
  const Guard guard(mutex_);
  writing_ = false;
  admit_readers();
}

}  // namespace boscage
