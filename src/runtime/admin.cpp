#include <conclave/admin.hpp>

#include "runtime/ask.hpp"

namespace conclave {
namespace {

// The value that an answer holds, or its error.
template <typename Value, typename Answered>
Result<Value> unpacked(Result<Answered> answer) {
  if (!answer) return answer.error();
  Answered given = *std::move(answer);
  if (auto* value = std::get_if<Value>(&given)) return std::move(*value);
  if (auto* unknown = std::get_if<Unknown>(&given)) return std::move(unknown->error);
  return std::move(std::get<Refused>(given).error);
}

Result<bool> was_there(const Result<Answer>& answer) {
  if (!answer) return answer.error();
  if (std::holds_alternative<Done>(*answer)) return true;
  if (std::holds_alternative<Gone>(*answer)) return false;
  if (const auto* unknown = std::get_if<Unknown>(&*answer)) return unknown->error;
  return std::get<Refused>(*answer).error;
}

}  // namespace

Result<Inspection> inspect(Store& store, const std::string& election, Duration limit) {
  return unpacked<Inspection>(runtime::ask<InspectAnswer>(
      store, limit, [&store, election](auto done) { return store.inspect(election, done); }));
}

Result<bool> end(Store& store, const std::string& election, Duration limit) {
  return was_there(runtime::ask<Answer>(
      store, limit, [&store, election](auto done) { return store.end(election, done); }));
}

Result<bool> remove(Store& store, const std::string& election, Remains remains, Duration limit) {
  return was_there(runtime::ask<Answer>(store, limit, [&store, election, remains](auto done) {
    return store.remove(election, remains, done);
  }));
}

Result<std::vector<Finding>> check(Store& store, Duration limit) {
  return unpacked<std::vector<Finding>>(
      runtime::ask<CheckAnswer>(store, limit, [&store](auto done) { return store.check(done); }));
}

}  // namespace conclave
