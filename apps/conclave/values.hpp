// The options as they were given: text by name, wherever it came from.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <conclave/result.hpp>
#include <conclave/time.hpp>

namespace conclave::app {

class Values {
 public:
  void set(const std::string& option, std::string text) { texts_[option] = std::move(text); }
  [[nodiscard]] bool is_from_file(std::string_view option) const {
    return from_file_.contains(option);
  }
  [[nodiscard]] bool has(std::string_view option) const { return texts_.contains(option); }

  [[nodiscard]] std::string text(std::string_view option, std::string_view fallback = {}) const;
  // The first of these that finds something wrong keeps its sentence in error().
  [[nodiscard]] bool flag(std::string_view option);
  [[nodiscard]] std::optional<Duration> duration(std::string_view option);
  [[nodiscard]] int number(std::string_view option, int fallback);

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  void refuse(std::string sentence);

  // Lines such as `store = file:`; # begins a comment. Does not touch what is set already.
  void read_file(const std::string& path);

 private:
  std::map<std::string, std::string, std::less<>> texts_;
  std::set<std::string, std::less<>> from_file_;
  std::optional<Error> error_;
};

}  // namespace conclave::app
