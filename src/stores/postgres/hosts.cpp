#include "stores/postgres/hosts.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "net/lookup.hpp"

namespace conclave::postgres {
namespace {

std::vector<std::string> list_of(const std::map<std::string, std::string, std::less<>>& words,
                                 std::string_view name) {
  std::vector<std::string> parts(1);
  const auto found = words.find(name);
  if (found == words.end()) return parts;
  for (const char c : found->second) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

bool is_name(const Target& target) {
  return target.hostaddr.empty() && !target.host.empty() && !is_socket(target.host) &&
         net::numeric_addresses(target.host).empty();
}

// What is asked, and the answers so far, in the order of the targets.
struct Resolving {
  std::vector<std::vector<Target>> found{};
  std::size_t missing = 0;
  std::optional<Error> failure{};
  std::function<void(Result<std::vector<Target>>)> done{};

  // With those that are there by now, if any; `is_all` when no more will come.
  void finish(bool is_all) {
    std::vector<Target> all;
    for (const auto& each : found) all.insert(all.end(), each.begin(), each.end());
    if (!done || (all.empty() && !is_all)) return;
    const auto tell = std::exchange(done, {});
    if (all.empty() && failure) return tell(*failure);
    tell(std::move(all));
  }
};

}  // namespace

bool is_socket(const std::string& host) { return host.starts_with('/') || host.starts_with('@'); }

std::vector<Target> targets_in(const std::map<std::string, std::string, std::less<>>& words) {
  const auto hosts = list_of(words, "host");
  const auto addresses = list_of(words, "hostaddr");
  const auto ports = list_of(words, "port");
  const auto at = [](const std::vector<std::string>& list, std::size_t index) {
    return index < list.size() ? list[index] : std::string{};
  };
  std::vector<Target> targets;
  for (std::size_t i = 0; i < std::max(hosts.size(), addresses.size()); ++i) {
    targets.push_back(
        {at(hosts, i), at(addresses, i), ports.size() == 1 ? ports[0] : at(ports, i)});
  }
  return targets;
}

void resolve(net::AsioLoop& loop, const std::vector<Target>& targets, Duration moment,
             std::function<void(Result<std::vector<Target>>)> done) {
  const auto state = std::make_shared<Resolving>();
  state->done = std::move(done);
  state->found.resize(targets.size());
  std::vector<std::size_t> names;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (is_name(targets[i])) {
      names.push_back(i);
    } else {
      state->found[i] = {targets[i]};
    }
  }
  state->missing = names.size();
  if (names.empty()) return state->finish(true);
  const Instant late_at = loop.clock().now() + moment;
  if (targets.size() > 1) {
    loop.post_at(late_at, [state] { state->finish(false); });
  }
  for (const std::size_t i : names) {
    net::look_up(
        loop, targets[i].host,
        [&loop, late_at, state, i, target = targets[i]](const auto& addresses) {
          if (addresses) {
            for (const auto& each : *addresses) {
              state->found[i].push_back({target.host, net::numeric_text(each), target.port});
            }
          } else if (!state->failure) {
            state->failure = addresses.error();
          }
          state->missing -= 1;
          const bool is_late = loop.clock().now() >= late_at;
          if (state->missing == 0 || is_late) state->finish(state->missing == 0);
        });
  }
}

}  // namespace conclave::postgres
