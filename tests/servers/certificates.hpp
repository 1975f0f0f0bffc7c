// Certificates for one test, good and bad ones, made by the openssl command.
#pragma once

#include <string>

#include "servers/temporary_folder.hpp"

namespace conclave::servers {

// Paths of PEM files.
struct Certificate {
  std::string certificate;
  std::string key;
};

class Certificates {
 public:
  Certificates();  // makes two authorities, of which the second is a stranger
  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;

  [[nodiscard]] const std::string& authority() const noexcept { return ours_.certificate; }
  [[nodiscard]] const std::string& stranger() const noexcept { return strangers_.certificate; }

  // `names` as openssl takes them: "DNS:localhost,IP:127.0.0.1".
  Certificate server(const std::string& names = here);
  Certificate client(const std::string& name);
  Certificate expired_server(const std::string& names = here);
  Certificate expired_client(const std::string& name);
  Certificate strange_server(const std::string& names = here);
  Certificate strange_client(const std::string& name);

 private:
  static constexpr const char* here = "DNS:localhost,IP:127.0.0.1";

  Certificate make_authority(const std::string& name);
  Certificate make_server(const Certificate& authority, const std::string& names, bool expired);
  Certificate make_client(const Certificate& authority, const std::string& name, bool expired);

  TemporaryFolder folder_{"certificates"};
  int made_ = 0;
  Certificate ours_;
  Certificate strangers_;
};

}  // namespace conclave::servers
