// Finds out whether the server's session is ours alone, where a pooler stands between.
//
// A pooler gives the session that we have just used to whoever comes next, unless it keeps it for
// us until we go. So a second connection looks whether it meets the same server process, and ours
// whether it is still where it was: many times, since where many share a few, one look may find
// nothing by chance.
#pragma once

#include "stores/postgres/session.hpp"

namespace conclave::postgres {

class PoolerProbe {
 public:
  // The server process that was ours all the time; or why there is none.
  using Told = std::function<void(Result<std::int64_t>)>;

  // Tells later, once, on the loop; not after its end. It may be destroyed by whom it tells.
  PoolerProbe(net::AsioLoop& loop, std::shared_ptr<const Settings> settings, Session& ours,
              Told told);
  PoolerProbe(const PoolerProbe&) = delete;
  PoolerProbe& operator=(const PoolerProbe&) = delete;

 private:
  void look(std::int64_t ours, int times);
  void ask(Session& session, std::function<void(std::int64_t)> then);
  void tell(Result<std::int64_t> what);

  net::AsioLoop& loop_;
  Session& ours_;
  const std::shared_ptr<Told> told_;  // nobody is told when it has gone
  Session other_;
};

// What is said of one that shares the sessions of the server among its clients.
[[nodiscard]] Error shared_by_pooler(const std::string& where);

}  // namespace conclave::postgres
