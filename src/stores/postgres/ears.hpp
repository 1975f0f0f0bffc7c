// Who listens to which election here, and who holds it as far as that is known.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <conclave/store.hpp>

namespace conclave::postgres {

class Ears {
 public:
  // Whether it is the first on this election.
  bool listen(const std::string& election, const std::string& candidate, Operation operation,
              Sink sink);
  // The election, when nobody listens to it any more.
  std::optional<std::string> cancel(Operation operation);

  [[nodiscard]] bool is_heard(const std::string& election) const {
    return spots_.contains(election);
  }
  [[nodiscard]] bool is_empty() const noexcept { return spots_.empty(); }
  [[nodiscard]] std::vector<std::string> elections() const;
  // Whose bid has found somebody else there, and who has not left since.
  void waits(const std::string& election, const std::string& candidate, bool does);
  [[nodiscard]] std::vector<std::string> waiting(const std::string& election) const;

  // A sink may do anything meanwhile, also end the life of this.
  void tell(const std::string& election, const Observation& what);
  // That it is the turn of these.
  void ask(const std::string& election, const std::vector<std::string>& candidates);

  // Whose session holds it; zero: nobody's lock. Whether that is news.
  bool note_holder(const std::string& election, std::int64_t life, Term term, Instant now);
  // The term of who holds it, as far as the rows said so; a letter may be anybody's.
  [[nodiscard]] Term term_of(const std::string& election) const;
  // Its session has ended, as far as could be seen: its elections, each with the term that was
  // seen. Whoever is shown with the same term nevertheless may be on another server than we looked
  // at, and its end is not waited for before `until`: it would be seen again and again.
  [[nodiscard]] std::vector<std::pair<std::string, Term>> end_of(std::int64_t life, Instant until);
  // Of the lives that hold something here, the one with the most, besides those given.
  [[nodiscard]] std::optional<std::int64_t> busiest(const std::vector<std::int64_t>& besides) const;

 private:
  struct Ear {
    std::string candidate{};
    Sink sink{};
  };
  struct Spot {
    std::map<Operation, Ear> ears{};  // in the order in which they came
    std::set<std::string> waiting{};
    std::int64_t life = 0;
    Term term{};
    Term ended{};  // with its holder's session
    Instant ended_until{};
  };

  void tell_some(const std::string& election, const Observation& what,
                 const std::function<bool(const Ear&)>& wanted);

  std::map<std::string, Spot> spots_;
  std::map<Operation, std::string> elections_;
  std::map<std::int64_t, std::size_t> counts_;  // how many elections each life holds
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace conclave::postgres
