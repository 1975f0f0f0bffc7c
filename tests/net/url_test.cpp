#include "net/url.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace conclave::net {
namespace {

using namespace std::chrono_literals;
using Options = std::map<std::string, std::string, std::less<>>;

struct Good {
  std::string_view text;
  Url url;
};

Url plain(std::string scheme, std::string host, std::string path) {
  Url url;
  url.scheme = std::move(scheme);
  url.host = std::move(host);
  url.path = std::move(path);
  return url;
}

Url full(std::string user, std::string password, std::string host, std::uint16_t port,
         std::string path, Options query) {
  Url url = plain("redis", std::move(host), std::move(path));
  url.user = std::move(user);
  url.password = std::move(password);
  url.port = port;
  url.query = std::move(query);
  return url;
}

Url with(Url url, Options query) {
  url.query = std::move(query);
  return url;
}

TEST(Url, IsTakenApart) {
  const std::vector<Good> table = {
      {"file:", plain("file", "", "")},
      {"FILE:", plain("file", "", "")},
      {"file:/var/lib/a b", plain("file", "", "/var/lib/a b")},
      {"file:relative/path", plain("file", "", "relative/path")},
      {"file:///var/lib/x", plain("file", "", "/var/lib/x")},
      {"file:///var/me@home", plain("file", "", "/var/me@home")},
      {"file:/a%20b%25%2f", plain("file", "", "/a b%/")},
      {"memory:?", plain("memory", "", "")},
      {"memory:?&", plain("memory", "", "")},
      {"memory:?lease=3s", with(plain("memory", "", ""), {{"lease", "3s"}})},
      {"memory:?a=1&b=&c=x%26y=z",
       with(plain("memory", "", ""), {{"a", "1"}, {"b", ""}, {"c", "x&y=z"}})},
      {"memory:?a=b?c", with(plain("memory", "", ""), {{"a", "b?c"}})},
      {"git+ssh.2-x://h", plain("git+ssh.2-x", "h", "")},
      {"etcd://h/", plain("etcd", "h", "/")},
      {"etcd://h?a=1", with(plain("etcd", "h", ""), {{"a", "1"}})},
      {"redis://u:p@h:6379/0?db=1", full("u", "p", "h", 6379, "/0", {{"db", "1"}})},
      {"redis://:p@h:1", full("", "p", "h", 1, "", {})},
      {"redis://u:@h:65535", full("u", "", "h", 65535, "", {})},
      {"redis://u:p@x@h:1", full("u", "p@x", "h", 1, "", {})},
      {"redis://u:p:x@h:1", full("u", "p:x", "h", 1, "", {})},
      {"redis://u%40v:%2F%3F%23%40%3A@h:1", full("u@v", "/?#@:", "h", 1, "", {})},
      {"redis://u:p@[::1]:6379", full("u", "p", "::1", 6379, "", {})},
      {"redis://[fe80::1%25eth0]/", plain("redis", "fe80::1%eth0", "/")},
      {"postgres://%2Fvar%2Frun/db", plain("postgres", "/var/run", "/db")},
  };
  for (const Good& each : table) {
    SCOPED_TRACE(each.text);
    const Result<Url> url = parse_url(each.text);
    ASSERT_TRUE(url) << url.error().message;
    EXPECT_EQ(url->scheme, each.url.scheme);
    EXPECT_EQ(url->user, each.url.user);
    EXPECT_EQ(url->password, each.url.password);
    EXPECT_EQ(url->host, each.url.host);
    EXPECT_EQ(url->port, each.url.port);
    EXPECT_EQ(url->path, each.url.path);
    EXPECT_EQ(url->query, each.url.query);
  }
}

TEST(Url, WithoutCredentialsHasNone) {
  const Result<Url> url = parse_url("redis://h");
  ASSERT_TRUE(url);
  EXPECT_FALSE(url->user || url->password || url->port);
}

TEST(Url, WithUserAloneHasNoPassword) {
  const Result<Url> url = parse_url("redis://me@h");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->user, "me");
  EXPECT_FALSE(url->password);
}

// One sentence that names the part, and nothing of a password: "secret" in all of these.
void expect_sentence(const Error& error, std::string_view names) {
  EXPECT_EQ(error.code, ErrorCode::invalid_argument);
  EXPECT_FALSE(error.retryable || error.in_doubt);
  EXPECT_NE(error.message.find(names), std::string::npos) << error.message;
  EXPECT_EQ(error.message.find_first_of("\r\n"), std::string::npos) << error.message;
  EXPECT_EQ(error.message.find(". "), std::string::npos) << error.message;
  for (const std::string_view part : {"secret", "sec", "ret"}) {
    EXPECT_EQ(error.message.find(part), std::string::npos) << error.message;
  }
}

TEST(Url, IsRefusedWithOneSentenceThatKeepsThePassword) {
  struct Bad {
    std::string_view text;
    std::string_view names;
  };
  using namespace std::string_view_literals;
  const std::vector<Bad> table = {
      {"", "scheme"},
      {":", "scheme"},
      {"/var/lib", "scheme"},
      {"secret", "scheme"},
      {"3com:x", "scheme"},
      {"secret@h:1", "scheme"},
      {"re dis://h", "scheme"},
      {"redis://u:secret@h:0", "port"},
      {"redis://u:secret@h:", "port"},
      {"redis://u:secret@h:65536", "port"},
      {"redis://u:secret@h:-1", "port"},
      {"redis://u:secret@h:6379x", "port"},
      {"redis://u:secret@h:+1", "port"},
      {"redis://u:secret@::1", "port"},
      {"redis://u:secret@[::1", "["},
      {"redis://u:secret@[::1]6379", "]"},
      {"redis://u:secret@[]", "["},
      {"redis://u:secret@[%]", "host"},
      {"redis://u:secret@h%zz", "host"},
      {"redis://u%1:secret@h", "user name"},
      {"redis://u:secret%@h", "password"},
      {"redis://u:secret%4@h", "password"},
      {"redis://u:secret%gg@h", "password"},
      {"redis://u:secret%00@h", "NUL"},
      {"redis://u:sec#ret@h", "%23"},
      {"redis://u:sec/ret@h", "%2F"},
      {"redis://u:12/secret@h", "%2F"},
      {"redis://u:sec?ret@h", "%3F"},
      {"redis://u:sec?ret&more@h", "%3F"},
      {"redis://u:sec?ret=1@h", "%3F"},
      {"redis://h/x?a=b@c", "%40"},
      {"file:/a%", "path"},
      {"file:/a%0", "path"},
      {"file:/%00", "NUL"},
      {"file:/#x", "%23"},
      {"redis://u:se@cr/et1@h", "%2F"},
      {"redis://?secret=1@h", "%3F"},
      {"redis://u:se@cr?et=1@h", "%3F"},
      {"redis://u:p@h?a=b@c", "%40"},
      {"redis://h?password=x&secret", "%26"},
      {"redis://h?password=x&secret&", "%26"},
      {"redis://h?password=x&secret=%", "after the password"},
      {"redis://h?password=x&secret=%00", "after the password"},
      {"redis://h?password=x&secret=1&secret=2", "twice"},
      {"redis://h?password=secret&password=x", "password is given twice"},
      {"redis://h?password=x&secret y", "%26"},
      {"memory:?lease", "lease"},
      {"memory:?a=1&a=2", "twice"},
      {"memory:?a=%", "the option a"},
      {"memory:?%=1", "query"},
      {"memory:?=1", "name of an option"},
      {"memory:?a%0Ab=1", "name of an option"},
      {"memory:?u:secret@h", "name of an option"},
  };
  for (const Bad& each : table) {
    SCOPED_TRACE(each.text);
    const Result<Url> url = parse_url(each.text);
    ASSERT_FALSE(url);
    expect_sentence(url.error(), each.names);
  }
}

std::string escaped(unsigned char byte) {
  constexpr std::string_view digits = "0123456789abcdef";
  return {'%', digits[byte / 16], digits[byte % 16]};
}

// As docs/stores/redis.md lists them: these signs of a password have to be escaped, and no others.
// Whatever a sign does to the rest: nothing of it becomes the host, which is told when it does not
// answer.
TEST(Url, TakesAPasswordOfAnySigns) {
  for (int byte = 1; byte < 256; ++byte) {
    SCOPED_TRACE(byte);
    const char sign = static_cast<char>(byte);
    const std::string password = std::string("ab") + sign + "cd";
    const std::string written = "ab" + escaped(static_cast<unsigned char>(byte)) + "cd";
    const auto before = parse_url("redis://:" + password + "@h");
    EXPECT_EQ(before && before->password == password,
              std::string_view("%/?#").find(sign) == std::string_view::npos);
    EXPECT_TRUE(!before || before->host == "h");
    const auto option = parse_url("redis://h?password=" + password);
    EXPECT_EQ(option && option->query.at("password") == password,
              std::string_view("%&#@").find(sign) == std::string_view::npos);
    EXPECT_EQ(parse_url("redis://:" + written + "@h").value().password, password);
    EXPECT_EQ(parse_url("redis://h?password=" + written).value().query.at("password"), password);
    const auto user = parse_url("redis://" + password + ":p@h");
    EXPECT_EQ(user && user->user == password,
              std::string_view("%/?#:").find(sign) == std::string_view::npos);
  }
}

TEST(Url, OfAnyBytesIsParsedOrRefused) {
  for (int first = 0; first < 256; ++first) {
    for (const std::string_view around : {"redis://u:p@h", "redis://[", "memory:?a=", "x"}) {
      const std::string text = std::string(around) + static_cast<char>(first);
      static_cast<void>(parse_url(text));
      static_cast<void>(parse_url(text + "%"));
      static_cast<void>(parse_url(static_cast<char>(first) + text));
    }
  }
}

}  // namespace
}  // namespace conclave::net
