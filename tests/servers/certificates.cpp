#include "servers/certificates.hpp"

#include <chrono>
#include <vector>

#include "servers/process.hpp"
#include "servers/stepped_clock.hpp"

namespace conclave::servers {
namespace {

using namespace std::chrono_literals;

struct Wanted {
  std::string name;
  std::vector<std::string> extensions;
  const Certificate* authority = nullptr;  // none: signs itself
  bool expired = false;
};

Certificate make(const TemporaryFolder& folder, int number, const Wanted& wanted) {
  const auto stem = folder.file(std::to_string(number));
  Certificate made{stem + ".crt", stem + ".key"};
  Launch launch{{CONCLAVE_OPENSSL, "req", "-x509", "-newkey", "ec", "-pkeyopt",
                 "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                 "/CN=" + wanted.name, "-keyout", made.key, "-out", made.certificate},
                {},
                stem + ".log"};
  auto& arguments = launch.arguments;
  for (const auto& each : wanted.extensions) {
    arguments.insert(arguments.end(), {"-addext", each});
  }
  if (wanted.authority != nullptr) {
    arguments.insert(arguments.end(),
                     {"-CA", wanted.authority->certificate, "-CAkey", wanted.authority->key});
  }
  // openssl makes no certificate that has expired, except in the past.
  SteppedClock clock(stem + ".clock");
  if (wanted.expired) {
    clock.step(-24h * 30);
    launch.environment = clock.environment();
  }
  run(launch);
  return made;
}

}  // namespace

Certificates::Certificates()
    : ours_(make_authority("Conclave test authority")), strangers_(make_authority("Stranger")) {}

Certificate Certificates::make_authority(const std::string& name) {
  return make(folder_, ++made_,
              {name, {"basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign"}});
}

Certificate Certificates::make_server(const Certificate& authority, const std::string& names,
                                      bool expired) {
  return make(folder_, ++made_,
              {"server",
               {"basicConstraints=critical,CA:FALSE", "subjectAltName=" + names,
                "extendedKeyUsage=serverAuth"},
               &authority,
               expired});
}

Certificate Certificates::make_client(const Certificate& authority, const std::string& name,
                                      bool expired) {
  return make(folder_, ++made_,
              {name,
               {"basicConstraints=critical,CA:FALSE", "extendedKeyUsage=clientAuth"},
               &authority,
               expired});
}

Certificate Certificates::server(const std::string& names) {
  return make_server(ours_, names, false);
}
Certificate Certificates::client(const std::string& name) {
  return make_client(ours_, name, false);
}
Certificate Certificates::expired_server(const std::string& names) {
  return make_server(ours_, names, true);
}
Certificate Certificates::expired_client(const std::string& name) {
  return make_client(ours_, name, true);
}
Certificate Certificates::strange_server(const std::string& names) {
  return make_server(strangers_, names, false);
}
Certificate Certificates::strange_client(const std::string& name) {
  return make_client(strangers_, name, false);
}

}  // namespace conclave::servers
