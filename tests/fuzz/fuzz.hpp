// What a fuzzer offers to whoever drives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Takes one input to pieces. Ends the process when what must hold does not.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace conclave::fuzz {

// Inputs to begin with, and words that are put into them.
std::vector<std::string> seeds();
std::vector<std::string> words();

// Ends the process, with the input of this run, unless it holds.
void expect(bool holds, const char* what);

}  // namespace conclave::fuzz
