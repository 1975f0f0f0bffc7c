// How the verbs ask and answer.
#pragma once

#include "stores/postgres/answers.hpp"
#include "stores/postgres/postgres_store.hpp"
#include "stores/postgres/trouble.hpp"

namespace conclave::postgres {

template <typename Answered, typename Through, typename Act>
Operation PostgresStore::ask(Through& through, std::function<void(Answered)> done,
                             Statement statement, Act understand) {
  const auto call = calls_.begin<Answered>(std::move(done));
  const Operation operation = call->operation;
  put(through, call, std::move(statement), std::move(understand));
  return operation;
}

template <typename Answered, typename Through, typename Act>
void PostgresStore::put(Through& through, const net::CallPtr<Answered>& call, Statement statement,
                        Act understand) {
  through.prepare(calls_.while_alive([=, this, &through, statement = std::move(statement)](
                                         const std::optional<Error>& failed) mutable {
    if (failed) return calls_.answer(call, Answered{Unknown{*failed}});
    if (!call->is_open()) return;
    if constexpr (std::is_same_v<Answered, InspectAnswer>) {
      if (sees_no_locks_) {
        return calls_.answer(call, Answered{Unknown{is_standby(home_.where())}});
      }
    }
    through.send(std::move(statement),
                 calls_.while_alive([=, this](const Result<Delivered>& answer) {
                   if constexpr (std::is_same_v<Answered, InspectAnswer>) {
                     if (!answer && has_no_tables(answer.error())) return look_for_site(call);
                     // Without tables: it may be that others have them.
                     if (answer && !settings_->tables && answer->rows.empty()) {
                       return look_for_site(call);
                     }
                   }
                   if (!answer) return calls_.answer(call, Answered{Unknown{answer.error()}});
                   if (answer->replication_cancelled) {
                     return calls_.answer(call, Answered{Unknown{not_replicated(home_.where())}});
                   }
                   leave_if_idle();  // before whoever is told ends the life of this
                   calls_.answer(call, Answered{understand(*answer)});
                 }));
  }));
}

}  // namespace conclave::postgres
