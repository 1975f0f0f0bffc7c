#include "stores/file/turns.hpp"

#include <exception>

namespace conclave::file {

// A disk that hangs must not hang whoever destroys the store: the thread ends by itself.
Turns::~Turns() {
  if (const auto disk = std::move(disk_)) disk->post([disk] {});
}

Executor& Turns::disk() {
  if (disk_ != nullptr) return *disk_;
  try {
    disk_ = std::make_shared<net::AsioLoop>();
  } catch (const std::exception&) {
    return *loop_;  // no thread to be had
  }
  return *disk_;
}

void Turns::run(const std::string& election, Task task) {
  const auto busy = waiting_.find(election);
  if (busy == waiting_.end()) return task();
  busy->second.push_back(std::move(task));
}

void Turns::go_on(const std::string& election) {
  auto busy = waiting_.extract(election);
  std::deque<Task>& tasks = busy.mapped();
  while (!tasks.empty()) {
    const Task task = std::move(tasks.front());
    tasks.pop_front();
    task();
    const auto again = waiting_.find(election);
    if (again == waiting_.end()) continue;
    again->second = std::move(tasks);
    return;
  }
}

}  // namespace conclave::file
