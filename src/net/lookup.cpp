#include "net/lookup.hpp"

#include <netdb.h>

#include <array>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/post.hpp>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "net/signals_blocked.hpp"

namespace conclave::net {
namespace {

Error not_found(const std::string& host, int failure) {
  // Also of a name that does not exist: servers and their names come up in any order.
  Error error{ErrorCode::unavailable, {}, true, false};
  if (failure == EAI_NONAME || failure == EAI_NODATA) {
    error.message = "the host " + host + " is not known: check its spelling, and the DNS";
  } else {
    error.message = "the host " + host + " could not be looked up (" + ::gai_strerror(failure) +
                    "): is the DNS reachable?";
  }
  return error;
}

Addresses addresses_of(const std::string& host, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (failure != 0) return not_found(host, failure);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    if (each->ai_family != AF_INET && each->ai_family != AF_INET6) continue;
    auto& address = addresses.emplace_back();
    std::memcpy(&address.bytes, each->ai_addr, each->ai_addrlen);
    address.size = each->ai_addrlen;
  }
  if (addresses.empty()) return not_found(host, EAI_NODATA);
  return addresses;
}

// One for each loop, which owns it.
class Lookups final : public boost::asio::execution_context::service {
 public:
  using key_type = Lookups;
  using Done = std::function<void(const Addresses&)>;

  static boost::asio::execution_context::id id;

  explicit Lookups(boost::asio::io_context& context) : service(context), context_(context) {}

  void ask(const std::string& host, Done done) {
    auto& lookup = under_way_[host];
    if (lookup != nullptr) return lookup->waiting.push_back(std::move(done));
    lookup = std::make_shared<Lookup>();
    lookup->waiting.push_back(std::move(done));
    lookup->asker = this;
    const SignalsBlocked while_it_starts;
    try {
      std::thread([lookup = lookup, host] { look_up_and_tell(lookup, host); }).detach();
    } catch (const std::system_error& failed) {
      tell(*lookup, host,
           Error{ErrorCode::unavailable,
                 std::string("no thread could be made to look its name up (") + failed.what() + ")",
                 true, false});
    }
  }

 private:
  // Shared with the thread.
  struct Lookup {
    std::mutex mutex;
    Lookups* asker = nullptr;   // none when the loop is over
    std::vector<Done> waiting;  // on the loop's thread only
  };

  static void look_up_and_tell(const std::shared_ptr<Lookup>& lookup, const std::string& host) {
    auto found = addresses_of(host, 0);
    const std::scoped_lock lock(lookup->mutex);  // the loop cannot end before this has been posted
    if (lookup->asker != nullptr) lookup->asker->tell(*lookup, host, std::move(found));
  }

  void tell(Lookup& lookup, const std::string& host, Addresses found) {
    boost::asio::post(context_, [this, &lookup, host, found = std::move(found)] {
      const auto kept = std::move(under_way_[host]);
      under_way_.erase(host);
      for (const Done& done : std::exchange(lookup.waiting, {})) done(found);
    });
  }

  void shutdown() override {
    for (auto& [host, lookup] : under_way_) {
      const std::scoped_lock lock(lookup->mutex);
      lookup->asker = nullptr;
      lookup->waiting.clear();
    }
  }

  boost::asio::io_context& context_;
  std::map<std::string, std::shared_ptr<Lookup>> under_way_;
};

boost::asio::execution_context::id Lookups::id;

}  // namespace

std::vector<SocketAddress> numeric_addresses(const std::string& host) {
  auto found = addresses_of(host, AI_NUMERICHOST);
  return found ? *std::move(found) : std::vector<SocketAddress>{};
}

std::string numeric_text(const SocketAddress& address) {
  std::array<char, NI_MAXHOST> text{};
  const int failure = ::getnameinfo(reinterpret_cast<const sockaddr*>(&address.bytes), address.size,
                                    text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return failure == 0 ? text.data() : std::string{};
}

void look_up(AsioLoop& loop, const std::string& host, std::function<void(const Addresses&)> done) {
  boost::asio::use_service<Lookups>(loop.context()).ask(host, std::move(done));
}

}  // namespace conclave::net
