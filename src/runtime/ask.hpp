// Asks a store from any thread, and waits for the answer.
#pragma once

#include <future>
#include <memory>

#include <conclave/loop.hpp>
#include <conclave/result.hpp>
#include <conclave/store.hpp>

#include "runtime/patience.hpp"

namespace conclave::runtime {

// `call` is given the function that takes the answer, on the store's executor, and returns the
// operation. A call that takes too long is cancelled, and its answer is not waited for. In a child
// after fork() nobody would answer: the loop is the parent's.
template <typename Answered, typename Call>
Result<Answered> ask(Store& store, Duration limit, Call call) {
  if (const auto* loop = dynamic_cast<const Loop*>(&store.executor());
      loop != nullptr && loop->in_forked_child()) {
    return Error{ErrorCode::invalid_state,
                 "the store was opened before a fork(): open one in the child", false, false};
  }
  struct Question {
    std::promise<Answered> promise;
    Operation operation = 0;
  };
  auto question = std::make_shared<Question>();
  auto answer = question->promise.get_future();
  store.executor().post([question, call] {
    question->operation =
        call([question](Answered given) { question->promise.set_value(std::move(given)); });
  });
  if (answer.wait_for(bounded(limit)) == std::future_status::ready) return answer.get();
  store.executor().post([question, &store] {
    if (question->operation != 0) store.cancel(question->operation);
  });
  return Error{ErrorCode::timed_out, "the store did not answer in time", true, true};
}

}  // namespace conclave::runtime
