// What `conclave doctor` asks. On the session that looks: nothing is made or locked for it.
#include <algorithm>

#include "stores/postgres/findings.hpp"
#include "stores/postgres/postgres_calls.hpp"
#include "stores/postgres/texts.hpp"

namespace conclave::postgres {
namespace {

constexpr std::size_t round_trips = 9;
constexpr const char* server_clock =
    "select (extract(epoch from clock_timestamp()) * 1000000)::bigint";

Duration middle(std::vector<Duration> all) {
  const auto half = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), half, all.end());
  return *half;
}

}  // namespace

struct PostgresStore::Examination {
  net::CallPtr<CheckAnswer> call;
  std::vector<Duration> trips{};
  Circumstances seen{};
};

Operation PostgresStore::check(std::function<void(CheckAnswer)> done) {
  const auto examination = std::make_shared<Examination>();
  examination->call = calls_.begin<CheckAnswer>(std::move(done));
  side_.prepare(calls_.while_alive([this, examination](const std::optional<Error>& failed) {
    if (failed) return calls_.answer(examination->call, CheckAnswer{Unknown{*failed}});
    examination->seen.is_pooled = side_.is_pooled();
    examination->seen.has_tls = side_.has_tls();
    measure(examination);
  }));
  return examination->call->operation;
}

void PostgresStore::measure(const std::shared_ptr<Examination>& examination) {
  side_.send({server_clock}, calls_.while_alive([=, this](const Result<Delivered>& answer) {
    if (!answer) return calls_.answer(examination->call, CheckAnswer{Unknown{answer.error()}});
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    examination->seen.clock_ahead = from_micros(answer->rows.number(0, 0).value_or(0)) -
                                    std::chrono::duration_cast<Duration>(now);
    examination->trips.push_back(answer->received - answer->sent);
    if (examination->trips.size() < round_trips) return measure(examination);
    examination->seen.round_trip = middle(examination->trips);
    probe(examination);
  }));
}

void PostgresStore::probe(const std::shared_ptr<Examination>& examination) {
  if (!examination->seen.is_pooled || settings_->mode != PostgresMode::advisory) {
    return examine(examination);
  }
  probes_[examination->call->operation] = std::make_unique<PoolerProbe>(
      *loop_, settings_, side_, [this, examination](const Result<std::int64_t>& ours) {
        probes_.erase(examination->call->operation);
        examination->seen.is_shared = !ours && ours.error().code == ErrorCode::unsupported;
        if (ours || examination->seen.is_shared) return examine(examination);
        calls_.answer(examination->call, CheckAnswer{Unknown{ours.error()}});
      });
}

void PostgresStore::examine(const std::shared_ptr<Examination>& examination) {
  std::optional<std::string> schema;
  if (!settings_->schema.empty()) schema = settings_->schema;
  side_.send({facts(), {tables_.election, tables_.session, tables_.server, schema}},
             calls_.while_alive([=, this](const Result<Delivered>& answer) {
               if (!answer) {
                 return calls_.answer(examination->call, CheckAnswer{Unknown{answer.error()}});
               }
               if (has_rows_to_read(answer->rows, *settings_)) {
                 return read_rows(examination, answer->rows);
               }
               calls_.answer(examination->call,
                             CheckAnswer{findings_in(answer->rows, *settings_, examination->seen)});
             }));
}

void PostgresStore::read_rows(const std::shared_ptr<Examination>& examination, const Rows& facts) {
  side_.send({kinds_of(tables_)}, calls_.while_alive([=, this](const Result<Delivered>& answer) {
    if (!answer) return calls_.answer(examination->call, CheckAnswer{Unknown{answer.error()}});
    for (std::size_t i = 0; i < answer->rows.size(); ++i) {
      const std::string* const kind = answer->rows.text(i, 0);
      const std::string* const election = answer->rows.text(i, 1);
      if (kind != nullptr && election != nullptr) {
        examination->seen.kinds.emplace_back(*kind, *election);
      }
    }
    calls_.answer(examination->call,
                  CheckAnswer{findings_in(facts, *settings_, examination->seen)});
  }));
}

}  // namespace conclave::postgres
