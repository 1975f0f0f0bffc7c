// No sentence about a URL tells a piece of its password, however it is written there.
#include <gtest/gtest.h>

#include <random>

#include <conclave/open.hpp>

namespace conclave::conformance {
namespace {

// Capitals that no sentence of ours contains.
constexpr std::string_view rare = "QXZJ";

class Passwords {
 public:
  explicit Passwords(unsigned seed) : random_(seed) {}

  std::string next(std::string_view signs) {
    std::string password;
    for (auto left = 4 + random_() % 12; left > 0; --left) {
      password += random_() % 2 == 0 ? one_of(rare) : one_of(signs);
    }
    return password;
  }

  char one_of(std::string_view signs) { return signs[random_() % signs.size()]; }

 private:
  std::mt19937 random_;
};

std::string escaped(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string all;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (rare.find(c) != std::string_view::npos) {
      all += c;
    } else {
      all += {'%', digits[byte / 16], digits[byte % 16]};
    }
  }
  return all;
}

// Four signs in a row, a rare one among them.
bool tells(std::string_view text, std::string_view password) {
  for (std::size_t i = 0; i + 4 <= password.size(); ++i) {
    const auto piece = password.substr(i, 4);
    if (piece.find_first_of(rare) != std::string_view::npos &&
        text.find(piece) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

void expect_secret(const std::string& url, std::string_view password) {
  SCOPED_TRACE(url);
  // With a colon in it, what comes before that is a user's name.
  if (url.find("@h") != std::string::npos && password.find(':') == std::string_view::npos) {
    EXPECT_FALSE(tells(public_url(url), password)) << public_url(url);
  }
  const auto store = try_open(url);
  if (store) return;
  EXPECT_FALSE(tells(store.error().message, password)) << store.error().message;
  EXPECT_FALSE(tells(store.error().message, escaped(password))) << store.error().message;
}

constexpr std::string_view signs = "@:/?#[]%&=+ ;,'\"\\~!$()*-_.<>^`{|}09az";

TEST(RedisSecrets, APasswordBeforeTheHostIsNotTold) {
  Passwords passwords(1);
  for (int round = 0; round < 300; ++round) {
    const std::string password = passwords.next(signs);
    for (const std::string& written : {password, escaped(password)}) {
      for (const char* const user : {"u:", ":", ""}) {
        for (const char* const rest : {"@h", "@h:1/2", "@h:x", "@h/x", "@h?x=1", "@h?lease"}) {
          expect_secret("redis://" + std::string(user) + written + rest, password);
        }
      }
    }
  }
}

TEST(RedisSecrets, APasswordAsAnOptionIsNotTold) {
  Passwords passwords(2);
  for (int round = 0; round < 300; ++round) {
    const std::string password = passwords.next(signs);
    for (const std::string& written : {password, escaped(password)}) {
      for (const char* const rest : {"", "&lease", "&lease=x", "&password=", "&x=1"}) {
        expect_secret("redis://h?password=" + written + rest, password);
      }
    }
  }
}

}  // namespace
}  // namespace conclave::conformance
