// The verbs, one file each. What each gives back is the exit code.
#pragma once

#include "apps/conclave/arguments.hpp"

namespace conclave::app {

int run(const RunArguments& arguments);
int join(const JoinArguments& arguments);
int status(const StatusArguments& arguments);
int watch(const WatchArguments& arguments);
int end(const EndArguments& arguments);
int remove(const RemoveArguments& arguments);
int doctor(const DoctorArguments& arguments);
int sql(const SqlArguments& arguments);
int bench(const BenchArguments& arguments);
int demo(const DemoArguments& arguments);
int completion(const CompletionArguments& arguments);
int man(const ManArguments& arguments);
int version(const VersionArguments& arguments);

}  // namespace conclave::app
