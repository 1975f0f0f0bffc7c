// Certificates for tests, made by the openssl command in a folder of their own.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace conclave::net {

// A certificate and its key.
struct Certificate {
  std::string file;
  std::string key;
};

class Certificates {
 public:
  Certificates() {
    std::string name = ::testing::TempDir() + "conclave_certificates_XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~Certificates() { std::filesystem::remove_all(folder_); }
  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }

  Certificate authority(const std::string& name) {
    auto made = at(name);
    run("req -x509 " + new_key + " -days 3650 -subj /CN=" + name + " -keyout " + made.key +
        " -out " + made.file);
    return made;
  }

  // For names such as "DNS:localhost,IP:127.0.0.1".
  Certificate issue(const Certificate& authority, const std::string& name,
                    const std::string& is_for, int days = 30) {
    auto made = at(name);
    write(name + ".ext", "subjectAltName=" + is_for + "\n");
    run("req " + new_key + " -subj /CN=" + name + " -keyout " + made.key + " -out " +
        path(name + ".csr"));
    run("x509 -req -in " + path(name + ".csr") + " -CA " + authority.file + " -CAkey " +
        authority.key + " -CAcreateserial -days " + std::to_string(days) + " -extfile " +
        path(name + ".ext") + " -out " + made.file);
    return made;
  }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }

  // As a renewal does: what is at the path becomes another file.
  static void replace(const std::string& path, const std::string& by) {
    std::filesystem::copy_file(by, path + ".new",
                               std::filesystem::copy_options::overwrite_existing);
    std::filesystem::rename(path + ".new", path);
  }

  void run(const std::string& arguments) const {
    const auto log = path("log");
    const auto command = "openssl " + arguments + " >" + log + " 2>&1 </dev/null";
    const int status = ::system(command.c_str());  // NOLINT: paths of our own
    std::ifstream said(log);
    ASSERT_EQ(status, 0) << command << "\n" << said.rdbuf();
  }

 private:
  [[nodiscard]] Certificate at(const std::string& name) const {
    return {path(name + ".pem"), path(name + ".key")};
  }

  inline static const std::string new_key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
  std::string folder_;
};

}  // namespace conclave::net
