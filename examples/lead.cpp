// Five lines: of several instances of this program, one writes the reports.
#include <cstdio>

#include <conclave/conclave.hpp>

int main(int argc, char** argv) {
  auto store = conclave::open(argc > 1 ? argv[1] : "file:");
  conclave::Candidate me(store, "reports");
  for (int report = 1; report <= 3; ++report) {
    auto term = me.lead();
    if (!term) break;
    // Hand the term to whatever the report is written to: it refuses a lower one.
    std::printf("report %d, written in a term that is %s\n", report,
                term->valid() ? "valid" : "over");
    if (report == 1) std::printf("the next one waits until others had their turn\n");
  }
}
