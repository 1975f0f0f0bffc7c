// A TLS server that echoes, by OpenSSL on sockets that block.
#pragma once

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "net/certificates.hpp"
#include "net/peers.hpp"
#include "net/signals_blocked.hpp"
#include "net/waiting.hpp"

namespace conclave::net {

struct TlsServerOptions {
  Certificate certificate{};
  std::string client_authority{};  // set: clients have to have a certificate of it
  int oldest = TLS1_2_VERSION;
  int newest = TLS1_3_VERSION;
  std::string unix_path{};
};

class TlsServer {
 public:
  explicit TlsServer(const TlsServerOptions& options)
      : context_(::SSL_CTX_new(::TLS_server_method()), &::SSL_CTX_free),
        listener_(options.unix_path.empty() ? std::make_unique<Listener>()
                                            : std::make_unique<Listener>(options.unix_path)) {
    auto* const context = context_.get();
    if (options.newest < TLS1_2_VERSION) ::SSL_CTX_set_security_level(context, 0);
    ::SSL_CTX_set_min_proto_version(context, options.oldest);
    ::SSL_CTX_set_max_proto_version(context, options.newest);
    EXPECT_EQ(::SSL_CTX_use_certificate_chain_file(context, options.certificate.file.c_str()), 1);
    EXPECT_EQ(
        ::SSL_CTX_use_PrivateKey_file(context, options.certificate.key.c_str(), SSL_FILETYPE_PEM),
        1);
    if (!options.client_authority.empty()) {
      ::SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
      EXPECT_EQ(::SSL_CTX_load_verify_locations(context, options.client_authority.c_str(), nullptr),
                1);
    }
    listener_->listen();
    const SignalsBlocked while_it_starts;  // SSL_write() would raise SIGPIPE
    thread_ = std::jthread([this] { serve(); });
  }

  ~TlsServer() { listener_->stop(); }
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  [[nodiscard]] Endpoint endpoint(TlsOptions options = {}) const {
    Endpoint endpoint = listener_->endpoint();
    endpoint.tls = std::move(options);
    return endpoint;
  }

  // What became of the connections, one after the other. Waits for so many.
  struct Visit {
    bool accepted = false;    // the handshake succeeded here
    bool goodbye = false;     // the client ended TLS before it closed
    std::string asked_for{};  // by SNI
  };
  [[nodiscard]] Visit visit(std::size_t number) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, hang_guard, [&] { return visits_.size() > number; }));
    return visits_.size() > number ? visits_[number] : Visit{};
  }

 private:
  void serve() {
    for (int accepted = 0; (accepted = listener_->accept_socket()) >= 0;) {
      const Peer peer(accepted);
      const auto done = talk(peer);
      const std::scoped_lock lock(mutex_);
      visits_.push_back(done);
      changed_.notify_all();
    }
  }

  // Until the client ends it, or says "leave", or "slam" for an end without TLS's goodbye.
  Visit talk(const Peer& peer) {
    const std::unique_ptr<SSL, decltype(&::SSL_free)> session(::SSL_new(context_.get()),
                                                              &::SSL_free);
    ::SSL_set_fd(session.get(), peer.get());
    Visit visit;
    visit.accepted = ::SSL_accept(session.get()) == 1;
    const char* const name = ::SSL_get_servername(session.get(), TLSEXT_NAMETYPE_host_name);
    if (name != nullptr) visit.asked_for = name;
    std::array<char, 16384> buffer{};
    while (visit.accepted) {
      const int size = ::SSL_read(session.get(), buffer.data(), buffer.size());
      if (size <= 0) {
        visit.goodbye = ::SSL_get_error(session.get(), size) == SSL_ERROR_ZERO_RETURN;
        return visit;
      }
      const std::string_view said(buffer.data(), static_cast<std::size_t>(size));
      if (said == "leave") ::SSL_shutdown(session.get());
      if (said == "leave" || said == "slam") return visit;
      if (::SSL_write(session.get(), buffer.data(), size) <= 0) return visit;
    }
    return visit;
  }

  std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context_;
  std::unique_ptr<Listener> listener_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Visit> visits_;
  std::jthread thread_;
};

}  // namespace conclave::net
