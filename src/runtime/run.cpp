#include <conclave/run.hpp>

#include "runtime/contain.hpp"
#include "runtime/engine.hpp"

namespace conclave {

void run(Candidate& candidate, const std::stop_token& stop, const Work& work) {
  struct Run {
    explicit Run(runtime::Engine& of) : engine(of) { engine.begin_run(); }
    ~Run() { engine.end_run(); }
    runtime::Engine& engine;
  };
  const Run meanwhile(*candidate.engine_);
  while (std::optional<Leadership> term = candidate.lead(stop)) {
    auto error = runtime::contain("the work", [&] { work(*term); });
    term.reset();
    if (error) candidate.report(*std::move(error));
  }
}

}  // namespace conclave
