// Tests that fork a process with threads need an allocator that survives a fork. That of glibc
// does. Those of the sanitizers do not: the child inherits their locks from threads that are gone,
// and hangs in its first allocation. Such tests therefore run in the builds without sanitizers, in
// scripts/test in the release build.
#pragma once

#include <gtest/gtest.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CONCLAVE_SKIP_WHERE_FORKS_HANG() \
  GTEST_SKIP() << "a sanitizer's allocator hangs in a forked child"
#else
#define CONCLAVE_SKIP_WHERE_FORKS_HANG() static_cast<void>(0)
#endif
