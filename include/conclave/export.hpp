// What a shared library of Conclave shows; everything else is hidden in it.
//
// Stands on a function that is used outside of its own library, and on a class that has virtual
// functions or is thrown: two libraries have to agree on its type.
#pragma once

#if __cplusplus < 202002L
#error "Conclave needs C++20: compile with -std=c++20"
#endif

#define CONCLAVE_API __attribute__((visibility("default")))
