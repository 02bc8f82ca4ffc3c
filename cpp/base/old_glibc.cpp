// For wheels that must run on glibc 2.28: what newer headers ask for and that glibc does not have.
//
// Linked into the Python module only when CMake's BOSCAGE_GLIBC is set. Both names stay inside the module.
#include <pthread.h>
#include <time.h>

extern "C" {

// "One thread so far" is never promised: shared pointers always count atomically.
[[gnu::visibility("hidden")]] extern char __libc_single_threaded;
char __libc_single_threaded = 0;

// A wait against any clock, measured on the clock that condition variables know.
[[gnu::visibility("hidden")]] int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                                         clockid_t clock, const timespec* until) {
  constexpr long long second = 1'000'000'000;
  timespec now{}, real{};
  if (clock_gettime(clock, &now) != 0 || clock_gettime(CLOCK_REALTIME, &real) != 0) return 22;  // EINVAL
  const long long left = (until->tv_sec - now.tv_sec) * second + (until->tv_nsec - now.tv_nsec);
  const long long end = real.tv_nsec + (left > 0 ? left : 0);
  const timespec then{real.tv_sec + static_cast<time_t>(end / second), static_cast<long>(end % second)};
  return pthread_cond_timedwait(condition, mutex, &then);
}
}
