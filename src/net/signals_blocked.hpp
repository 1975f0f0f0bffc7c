// A thread inherits the signal mask of its maker. Signals are the application's, so ours have none:
// one of these lives while a thread is made.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace conclave::net {

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t blocked;
    ::sigfillset(&blocked);
    // A thread's own faults come to it whatever it blocks; blocked, they bypass the application's
    // handler and its crash report.
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
      ::sigdelset(&blocked, fault);
    }
    ::pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace conclave::net
