// Many readers or one writer, without starving either.
//
// Readers that arrive while a writer waits queue behind it; all readers that wait when a writer is done go before the
// next writer. A thread must not lock twice. Waiting is interruptible: `poll` is called every 50 ms without any lock
// held, and may throw to give up.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

namespace boscage {

class SharedLock {
 public:
  using Poll = std::function<void()>;

  bool try_lock_shared();
  void lock_shared(const Poll& poll);
  void unlock_shared();

  bool try_lock();
  void lock(const Poll& poll);
  void unlock();

 private:
  using Guard = std::unique_lock<std::mutex>;

  bool may_read() const { return !writing_ && waiting_writers_ == 0; }
  bool may_write() const { return !writing_ && readers_ == 0; }
  // Waits until ready(); if poll throws, gives the caller's cleanup a chance with the mutex held.
  template <class Ready, class GiveUp>
  void wait(Guard& guard, const Poll& poll, const Ready& ready, const GiveUp& give_up);
  // Turns the readers that wait into readers.
  void admit_readers();

  std::mutex mutex_;  // held for a few instructions only
  std::condition_variable changed_;
  int64_t readers_ = 0, waiting_readers_ = 0, waiting_writers_ = 0;
  bool writing_ = false;
  uint64_t admissions_ = 0;
};

}  // namespace boscage
