// The first rule that was broken in a run, if any.
#pragma once

#include <string>

namespace conclave::sim {

class Verdict {
 public:
  void broken(std::string rule, std::string detail) {
    if (!rule_.empty()) return;
    rule_ = std::move(rule);
    detail_ = std::move(detail);
  }
  [[nodiscard]] bool is_clean() const { return rule_.empty(); }
  [[nodiscard]] const std::string& rule() const { return rule_; }
  [[nodiscard]] const std::string& detail() const { return detail_; }

 private:
  std::string rule_;
  std::string detail_;
};

inline std::string name_of(std::uint32_t process) {
  return std::string(1, static_cast<char>('a' + process));
}

}  // namespace conclave::sim
