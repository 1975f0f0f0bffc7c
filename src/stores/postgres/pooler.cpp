#include "stores/postgres/pooler.hpp"

#include <utility>

namespace conclave::postgres {
namespace {

constexpr int looks = 20;

}  // namespace

PoolerProbe::PoolerProbe(net::AsioLoop& loop, std::shared_ptr<const Settings> settings,
                         Session& ours, Told told)
    : loop_(loop),
      ours_(ours),
      told_(std::make_shared<Told>(std::move(told))),
      other_(loop, std::move(settings), Session::Handlers{}) {
  ask(ours_, [this](std::int64_t first) {
    other_.prepare([this, first](const std::optional<Error>& failed) {
      failed ? tell(*failed) : look(first, looks);
    });
  });
}

void PoolerProbe::look(std::int64_t ours, int times) {
  if (times == 0) return tell(ours);
  ask(other_, [this, ours, times](std::int64_t theirs) {
    if (theirs == ours) return tell(shared_by_pooler(ours_.where()));
    ask(ours_, [this, ours, times](std::int64_t still) {
      still == ours ? look(ours, times - 1) : tell(shared_by_pooler(ours_.where()));
    });
  });
}

void PoolerProbe::ask(Session& session, std::function<void(std::int64_t)> then) {
  session.send({"select pg_backend_pid()", {}},
               [this, then = std::move(then),
                alive = std::weak_ptr(told_)](const Result<Delivered>& answer) {
                 if (alive.expired()) return;
                 answer ? then(answer->rows.number(0, 0).value_or(0)) : tell(answer.error());
               });
}

// Not within a callback of the session that ends with this.
void PoolerProbe::tell(Result<std::int64_t> what) {
  loop_.post([what = std::move(what), alive = std::weak_ptr(told_)] {
    if (const auto told = alive.lock()) (*told)(what);
  });
}

Error shared_by_pooler(const std::string& where) {
  return {ErrorCode::unsupported,
          where +
              " is behind a pooler in transaction mode, where no lock is ours alone: "
              "connect directly, or write mode=lease",
          false, false};
}

}  // namespace conclave::postgres
