// Just enough JSON to write one flat object on one line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace conclave::runtime {

class JsonObject {
 public:
  void add(std::string_view name, std::string_view text);
  void add(std::string_view name, const char* text) { add(name, std::string_view(text)); }
  void add(std::string_view name, std::uint64_t number) { raw(name, std::to_string(number)); }
  void add(std::string_view name, bool truth) { raw(name, truth ? "true" : "false"); }
  void add_seconds(std::string_view name, double seconds);
  void raw(std::string_view name, std::string_view json);

  [[nodiscard]] std::string text() const { return "{" + content_ + "}"; }

 private:
  std::string content_;
};

[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace conclave::runtime
