#include <nlohmann/json.hpp>

#include <conclave/open.hpp>
#include <conclave/version.hpp>

#include "apps/conclave/exit_codes.hpp"
#include "apps/conclave/output.hpp"
#include "apps/conclave/verbs.hpp"

namespace conclave::app {

int version(const VersionArguments& arguments) {
  if (arguments.json) {
    const nlohmann::ordered_json line = {{"version", std::string(library_version)},
                                         {"stores", schemes()}};
    return say_all(line.dump());
  }
  std::string stores;
  for (const std::string& scheme : schemes()) stores += " " + scheme + ":";
  return say_all("conclave " + std::string(library_version) + ", stores" + stores);
}

}  // namespace conclave::app
