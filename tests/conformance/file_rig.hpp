// What the tests of the file store have in common: a folder that goes with the test, and verbs that
// wait for their answer.
#pragma once

#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>

#include <conclave/file.hpp>

namespace conclave::conformance {

inline constexpr std::chrono::seconds hang_guard{60};

// On a disk, where the store belongs.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path().string() + "/conclave-file-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary directory");
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string file(const std::string& name = "election.election") const {
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

// Asks on the executor of the store, and waits for the one answer.
template <typename Answered, typename Call>
Answered ask(Store& store, Call call) {
  const auto answer = std::make_shared<std::promise<Answered>>();
  auto given = answer->get_future();
  store.executor().post(
      [=] { call([answer](Answered each) { answer->set_value(std::move(each)); }); });
  if (given.wait_for(hang_guard) != std::future_status::ready) {
    throw std::runtime_error("a call was not answered");
  }
  return given.get();
}

// Runs that on the executor of the store, and waits for its end.
inline void on(Store& store, const std::function<void()>& what) {
  ask<bool>(store, [&](auto done) {
    what();
    done(true);
  });
}

inline CampaignAnswer campaign(Store& store, const Bid& bid) {
  return ask<CampaignAnswer>(store, [&](auto done) { store.campaign(bid, done); });
}
inline RenewAnswer renew(Store& store, const Bid& bid, Term term, bool valid = true) {
  return ask<RenewAnswer>(store, [&](auto done) {
    store.renew({{bid.election, bid.candidate, term, bid.attempt, valid}},
                [done](std::size_t, RenewAnswer answer) { done(std::move(answer)); });
  });
}
inline Answer resign(Store& store, const Bid& bid, std::optional<Term> term, bool was_valid) {
  return ask<Answer>(store, [&](auto done) {
    store.resign({bid.election, bid.candidate, bid.attempt, term, was_valid}, done);
  });
}
inline InspectAnswer inspect(Store& store, const std::string& election = "election") {
  return ask<InspectAnswer>(store, [&](auto done) { store.inspect(election, done); });
}
inline Answer end(Store& store, const std::string& election = "election") {
  return ask<Answer>(store, [&](auto done) { store.end(election, done); });
}
inline Answer remove(Store& store, const std::string& election = "election") {
  return ask<Answer>(store, [&](auto done) { store.remove(election, Remains::trace, done); });
}

// One number is one attempt.
inline Bid bid(const std::string& candidate, std::uint64_t attempt, Term highest_term_seen = {}) {
  return {"election",        candidate, Attempt{7, attempt}, "info of " + candidate,
          highest_term_seen, {}};
}

}  // namespace conclave::conformance
