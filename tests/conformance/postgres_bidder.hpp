// A process as the statements of the PostgreSQL store know it: a session of its own, and what it
// says.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "servers/postgres_server.hpp"
#include "stores/postgres/statements.hpp"
#include "stores/postgres/texts.hpp"

namespace conclave::conformance {

inline const postgres::Tables& tables() {
  static const postgres::Tables names("", "conclave");
  return names;
}

inline std::string sql(std::string_view text) { return postgres::statement(text, tables()); }

enum class Kind { advisory, lease, strict };

inline std::string to_text(Kind kind) {
  if (kind == Kind::advisory) return "advisory";
  return kind == Kind::lease ? "lease" : "strict";
}

struct Asked {
  std::string name;
  std::string attempt;
  std::int64_t floor = 0;
  std::optional<std::int64_t> seen_term{};
  std::optional<std::int64_t> seen_stamp{};
  std::optional<std::int64_t> expected{};  // server time
};

struct Told {
  std::string word;
  std::int64_t term = 0;  // of the grant
  std::string vacancy;
  std::int64_t now = 0;
  // of who holds it
  std::string leader;
  std::int64_t held_term = 0;
  std::int64_t stamp = 0;
};

class Bidder {
 public:
  Bidder(const servers::PostgresServer& server, Kind kind, std::string name,
         std::chrono::milliseconds lease = std::chrono::seconds{60})
      : Bidder(std::make_shared<servers::PostgresClient>(server.client()), kind, std::move(name),
               lease) {}
  // On a session that others use, too, as a pooler makes it.
  Bidder(std::shared_ptr<servers::PostgresClient> client, Kind kind, std::string name,
         std::chrono::milliseconds lease = std::chrono::seconds{60})
      : shared_(std::move(client)), kind_(kind), name_(std::move(name)), lease_(lease) {
    if (kind_ != Kind::lease) client_.exec("select pg_advisory_lock($1)", {number(life_)});
    if (kind_ != Kind::advisory) open_anew();
  }

  // As after a new connection: another life, with what is led in the old one.
  void open_anew() {
    postgres::Array before;
    for (const std::int64_t each : lives_) before.add(each);
    if (!lives_.empty()) life_ = random_life();
    lives_.push_back(life_);
    postgres::Array led;
    for (const std::string& each : led_) led.add(each);
    news_ = std::stoll(
        client_.value(sql(postgres::open_session),
                      {number(life_), number(lease_in_micros()), before.text(), led.text()}));
  }
  // As what was asked for before, and comes late.
  void go_back_to_the_life_before() { life_ = lives_.at(lives_.size() - 2); }

  Told campaign(const std::string& election, const std::string& attempt) {
    return campaign(std::vector<Asked>{{.name = election, .attempt = attempt}}).at(0);
  }
  Told campaign(const Asked& asked) { return campaign(std::vector<Asked>{asked}).at(0); }
  std::vector<Told> campaign(const std::vector<Asked>& all) {
    postgres::Array names, attempts, candidates, metadata, floors, terms, stamps, expected,
        channels;
    for (const Asked& each : all) {
      names.add(each.name);
      attempts.add(each.attempt);
      candidates.add(name_);
      metadata.add("");
      floors.add(each.floor);
      terms.add(each.seen_term);
      stamps.add(each.seen_stamp);
      expected.add(each.expected);
      channels.add("channel");
    }
    std::vector<Told> told(all.size());
    for (const auto& row :
         client_.exec(unlimited(sql(postgres::campaign)),
                      {names.text(), attempts.text(), candidates.text(), metadata.text(),
                       floors.text(), terms.text(), stamps.text(), expected.text(), number(life_),
                       to_text(kind_), number(lease_in_micros()), channels.text(), backend_})) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].name != row.at(0)) continue;
        told[i] = told_in(row);
        if (told[i].word == "granted") led_.insert(all[i].attempt);
      }
    }
    return told;
  }

  // The short way to a place that was released.
  servers::PostgresRows take(const std::string& election, const std::string& attempt,
                             std::int64_t floor = 0) {
    const auto verb =
        kind_ == Kind::advisory ? postgres::take_released : postgres::take_released_by_clock;
    auto taken = client_.exec(unlimited(sql(verb)),
                              {election, attempt, name_, "", number(floor), number(life_),
                               number(lease_in_micros()), to_text(kind_), backend_});
    if (!taken.empty()) led_.insert(attempt);
    return taken;
  }

  // Behind a pooler: nothing is granted on another session than that.
  void grant_only_on(std::optional<std::string> backend) { backend_ = std::move(backend); }

  // The word, and whether there are news that make it worthless.
  std::pair<std::string, bool> renew(const std::string& election, const std::string& attempt,
                                     std::int64_t term) {
    postgres::Array names, attempts, terms;
    names.add(election);
    attempts.add(attempt);
    terms.add(term);
    const auto rows =
        client_.exec(sql(postgres::renew),
                     {names.text(), attempts.text(), terms.text(), number(life_), to_text(kind_)});
    const auto& row = rows.at(0);
    const bool has_news = row.at(2).has_value() && std::stoll(*row.at(2)) != news_;
    if (has_news) news_ = std::stoll(*row.at(2));
    return {*row.at(1), has_news};
  }

  bool resign(const std::string& election, const std::string& attempt,
              std::optional<std::int64_t> term, const std::string& mark = "released") {
    led_.erase(attempt);
    return !client_
                .exec(
                    sql(postgres::resign),
                    {election, attempt, term ? std::optional(std::to_string(*term)) : std::nullopt,
                     mark, "channel", "f"})
                .empty();
  }

  servers::PostgresClient& client() { return client_; }
  [[nodiscard]] std::string life() const { return number(life_); }
  [[nodiscard]] std::int64_t lease_in_micros() const { return postgres::micros(lease_); }

 private:
  // How long it may be silent is the tests' affair, not the server's.
  static std::string unlimited(std::string statement) {
    constexpr std::string_view limit = "'idle_session_timeout'";
    return statement.replace(statement.find(limit), limit.size(), "'conclave.no_limit'");
  }
  static std::string number(std::int64_t value) { return std::to_string(value); }
  static std::int64_t random_life() {
    static thread_local std::mt19937_64 random{std::random_device{}()};
    return static_cast<std::int64_t>(random() >> 2U);
  }
  static Told told_in(const servers::PostgresRow& row) {
    const auto count = [&](std::size_t i) { return row.at(i) ? std::stoll(*row.at(i)) : 0; };
    return {row.at(1).value_or(""),
            count(2),
            row.at(3).value_or(""),
            count(6),
            row.at(7).value_or(""),
            count(9),
            count(11)};
  }

  std::shared_ptr<servers::PostgresClient> shared_;
  servers::PostgresClient& client_ = *shared_;
  std::optional<std::string> backend_{};
  Kind kind_;
  std::string name_;
  std::chrono::milliseconds lease_;
  std::int64_t life_ = random_life();
  std::vector<std::int64_t> lives_;
  std::set<std::string> led_;  // attempts
  std::int64_t news_ = 0;
};

}  // namespace conclave::conformance
