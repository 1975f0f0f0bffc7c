#include "runtime/listener.hpp"

#include "runtime/engine.hpp"
#include "runtime/ready.hpp"

namespace conclave::runtime {
namespace {

struct Listener : std::enable_shared_from_this<Listener> {
  // The task holds the engine: the last events are told also when its candidate is gone.
  void post(const std::shared_ptr<Engine>& engine) {
    engine->strand()->post([self = shared_from_this(), engine] { self->drain(engine); });
  }

  void drain(const std::shared_ptr<Engine>& engine) {
    const auto strand = engine->strand();
    while (!strand->is_held()) {
      const auto event = next();
      if (!event) return;
      hear(*event);
    }
    post(engine);  // the rest, when stop() lets them go on
  }

  // The queue is held only while popping: user code may be what lets it go.
  std::optional<Event> next() const {
    const auto alive = queue.lock();
    return alive ? alive->try_pop() : std::nullopt;
  }

  std::weak_ptr<EventQueue> queue;
  std::function<void(const Event&)> hear;
};

}  // namespace

std::shared_ptr<EventQueue> listen(const std::shared_ptr<Engine>& engine,
                                   std::function<void(const Event&)> hear) {
  auto queue = engine->subscribe(64);
  auto listener = std::make_shared<Listener>();
  listener->queue = queue;
  listener->hear = std::move(hear);
  Ready::tell(*queue, [weak = std::weak_ptr(engine), listener] {
    if (const auto alive = weak.lock()) listener->post(alive);
  });
  return queue;
}

}  // namespace conclave::runtime
