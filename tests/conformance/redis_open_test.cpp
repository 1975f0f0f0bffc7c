// Opening a Redis store: URLs and options, what is refused with which sentence, and that no
// password is ever part of one.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <conclave/open.hpp>
#include <conclave/redis.hpp>

#include "servers/temporary_folder.hpp"
#include "stores/redis/keys.hpp"
#include "stores/redis/settings.hpp"

namespace conclave::conformance {
namespace {

using namespace std::chrono_literals;

void expect_sentence(const Error& error, const std::string& names, const std::string& fix) {
  EXPECT_EQ(error.code, ErrorCode::invalid_argument);
  EXPECT_FALSE(error.retryable || error.in_doubt);
  EXPECT_NE(error.message.find(names), std::string::npos) << error.message;
  EXPECT_NE(error.message.find(fix), std::string::npos) << error.message;
  EXPECT_EQ(error.message.find_first_of("\r\n"), std::string::npos) << error.message;
  EXPECT_EQ(error.message.find(". "), std::string::npos) << error.message;
  EXPECT_EQ(error.message.find("geheim"), std::string::npos) << error.message;
}

TEST(RedisOpen, UrlsOfAllForms) {
  for (const char* const url : {
           "redis://h",
           "redis://h:1",
           "REDIS://h:1/",
           "redis://h:1/15",
           "redis://[::1]:6379/0",
           "redis://:p@h",
           "redis://u:p@h:1/2?prefix=a:&request_timeout=100ms&lease=3s",
           "redis://h?user=u&password=p",
           "redis://u@h?password=p",
           "redis://u@h?password_file=/run/secret",
           "redis://h?database=3",
           "rediss://h",
           "rediss://h:1/2?ca_file=/a&certificate_file=/b&key_file=/c&server_name=n",
           "rediss://h?skip_verify=true",
           "rediss://h?skip_verify=false&ca_file=/a",
           "redis+unix:///run/redis.sock",
           "redis+unix:/run/redis.sock?database=3&user=u&password=p",
           "redis+unix://u:p@/run/redis.sock",
       }) {
    const auto store = try_open(url);
    EXPECT_TRUE(store) << url << ": " << store.error().message;
  }
}

TEST(RedisOpen, AUrlThatIsWrongIsRefusedWithASentenceThatNamesThePartAndTheFix) {
  const std::string long_name(108, 'x');
  const struct {
    std::string url;
    std::string names;
    std::string fix;
  } table[] = {
      {"redis:", "host", "redis://host:port"},
      {"rediss://", "host", "rediss://host:port"},
      {"redis:///3", "host", "redis://host:port"},
      {"redis://:geheim@", "host", "redis://host:port"},
      {"redis:u:geheim@h", "host", "redis://host:port"},
      {"redis://h:0", "port", "1 to 65535"},
      {"redis://h:99999", "port", "1 to 65535"},
      {"redis://h/x", "database", "redis://host:port/2"},
      {"redis://h/-1", "database", "redis://host:port/2"},
      {"redis://h/1/2", "database", "redis://host:port/2"},
      {"redis://h/4294967296", "database", "redis://host:port/2"},
      {"redis://h?database=two", "database", "redis://host:port/2"},
      {"redis://h/1?database=1", "database", "as path or as an option"},
      {"redis://u:geheim@h?password=geheim2", "password", "before the host or as an option"},
      {"redis://u:geheim@h?user=v", "user", "before the host or as an option"},
      {"redis://geheim@h", "password", "redis://:password@host"},
      {"redis://h?user=geheim", "password", "redis://user:password@host"},
      {"redis://:geheim@h?password_file=/x", "password", "choose one"},
      {"redis://h?passwort=geheim", "passwort", "password_file"},
      {"redis://h/geheim", "database", "redis://host:port/2"},
      {"redis://h?ca_file=/x", "ca_file", "write rediss://"},
      {"redis+unix:///s?skip_verify=true", "skip_verify", "leave it out"},
      {"redis://h?prefix=", "prefix", "such as conclave:"},
      {"redis://h?prefix=a%7Bb", "prefix", "leave it out"},
      {"redis://h?prefix=a%0Ab", "prefix", "leave it out"},
      {"redis://h?prefix=" + long_name, "prefix", "shorten it"},
      {"redis://h?request_timeout=soon", "request_timeout", "ms"},
      {"redis://h?request_timeout=-1s", "request_timeout", ""},
      {"redis://h?request_timeout=1us", "request_timeout", ""},
      {"redis://h?request_timeout=2s", "request_timeout", "lengthen the lease"},
      {"redis://h?lease=1us", "lease", "at least"},
      {"redis://h?lease=2000h", "lease", "at most"},
      {"rediss://h?certificate_file=/x", "key_file", "needs both"},
      {"rediss://h?key_file=/x", "certificate_file", "needs both"},
      {"rediss://h?skip_verify=1", "skip_verify", "true"},
      {"rediss://h?skip_verify=true&ca_file=/x", "skip_verify", "choose one"},
      {"redis+unix://h/s", "redis+unix", "redis+unix:///path/to/socket"},
      {"redis+unix://:geheim@h:1/s", "redis+unix", "redis+unix:///path/to/socket"},
      {"redis+unix:", "redis+unix", "redis+unix:///path/to/socket"},
      {"redis+unix:///" + long_name, "unix_socket", "107"},
  };
  for (const auto& each : table) {
    SCOPED_TRACE(each.url);
    const auto store = try_open(each.url);
    ASSERT_FALSE(store);
    expect_sentence(store.error(), each.names, each.fix);
    EXPECT_THROW(static_cast<void>(open(each.url)), std::invalid_argument);
    EXPECT_EQ(public_url(each.url).find(":geheim"), std::string::npos) << public_url(each.url);
    EXPECT_EQ(public_url(each.url).find("password=geheim"), std::string::npos);
  }
}

TEST(RedisOpen, ADatabaseBelowASocketIsToldToBeAnOption) {
  const servers::TemporaryFolder folder("socket");
  const std::string path = folder.file("redis.sock");
  EXPECT_TRUE(try_open("redis+unix://" + path + "/3")) << "who knows what will be there";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const auto store = try_open("redis+unix://" + path + "/3");
  ASSERT_FALSE(store);
  expect_sentence(store.error(), "database", "redis+unix:///path/to/socket?database=2");
  EXPECT_TRUE(try_open("redis+unix://" + path + "?database=3"));
  ::close(listener);
}

TEST(RedisOpen, OptionsThatAreWrongAreRefusedWithASentence) {
  const auto ask = [] { return RedisCredentials{}; };
  const RedisTls tls{};
  const struct {
    RedisOptions options;
    std::string names;
    std::string fix;
  } table[] = {
      {{.host = ""}, "host", "name the Redis server"},
      {{.port = 0}, "port", "6379"},
      {{.unix_socket = "/s", .tls = tls}, "tls", "leave it out"},
      {{.user = "u"}, "password", "user:password"},
      {{.user = "u", .credentials = ask}, "user", "leave one"},
      {{.password = "geheim", .password_file = "/x"}, "password", "choose one"},
      {{.password = "geheim", .credentials = ask}, "password", "choose one"},
      {{.password_file = "/x", .credentials = ask}, "password", "choose one"},
      {{.tls = RedisTls{.certificate_file = "/x"}}, "key_file", "both"},
      {{.prefix = std::string("a\0b", 3)}, "prefix", "leave it out"},
      {{.prefix = "a\x7f"}, "prefix", "leave it out"},
      {{.lease = -1s}, "lease", "leave it out"},
      {{.request_timeout = -1ms}, "request_timeout", "leave it out"},
      {{.request_timeout = 1us}, "request_timeout", "lengthen it"},
      {{.request_timeout = 1501ms}, "request_timeout", "shorten it"},
  };
  for (const auto& each : table) {
    SCOPED_TRACE(each.names + " " + each.fix);
    const auto settings = redis::settings_of(each.options);
    ASSERT_FALSE(settings);
    expect_sentence(settings.error(), each.names, each.fix);
    EXPECT_THROW(static_cast<void>(make_redis_store(each.options)), std::invalid_argument);
  }
  EXPECT_THROW(static_cast<void>(make_redis_store(RedisExecute{})), std::invalid_argument);
  const RedisExecute execute = [](const auto&) { return RedisReply{}; };
  for (const RedisClientOptions& options :
       {RedisClientOptions{.prefix = ""}, RedisClientOptions{.prefix = "{"},
        RedisClientOptions{.lease = 0s}}) {
    EXPECT_THROW(static_cast<void>(make_redis_store(execute, options)), std::invalid_argument);
  }
}

TEST(RedisOpen, SettingsAreTheOptionsAndTheirDefaults) {
  RedisOptions options{.host = "h", .port = 7, .database = 2, .user = "u", .password = "geheim"};
  options.tls = RedisTls{"ca", "cert", "key", "name", false};
  options.lease = 800ms;
  const auto settings = redis::settings_of(options);
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->where, "the Redis server h:7");
  EXPECT_EQ(settings->request_timeout, 100ms);
  EXPECT_EQ(settings->database, 2U);
  ASSERT_TRUE(settings->endpoint.tls);
  EXPECT_EQ(settings->endpoint.tls->ca_file, "ca");
  EXPECT_EQ(settings->endpoint.tls->certificate_file, "cert");
  EXPECT_EQ(settings->endpoint.tls->key_file, "key");
  EXPECT_EQ(settings->endpoint.tls->server_name, "name");
  const auto credentials = redis::credentials_of(*settings);
  ASSERT_TRUE(credentials);
  EXPECT_EQ(credentials->user, "u");
  EXPECT_EQ(credentials->password, "geheim");
}

redis::Settings with_file(const std::string& path) {
  auto settings = redis::settings_of({.user = "u", .password_file = path});
  return settings ? *settings : redis::Settings{};
}

void write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

TEST(RedisOpen, APasswordFileIsReadAnewEachTime) {
  const servers::TemporaryFolder folder("password");
  const std::string path = folder.file("password");
  const auto settings = with_file(path);
  for (const auto& [content, password] : std::vector<std::pair<std::string, std::string>>{
           {"one\n", "one"},
           {"two", "two"},
           {"three\r\n", "three"},
           {" with blanks \n\n", " with blanks "},
           {"two\nlines\n", "two\nlines"},
           {"\xc3\xa4@:/?#%&\n", "\xc3\xa4@:/?#%&"},
           {std::string(100'000, 'x'), std::string(100'000, 'x')}}) {
    write(path, content);
    const auto credentials = redis::credentials_of(settings);
    ASSERT_TRUE(credentials) << credentials.error().message;
    EXPECT_EQ(credentials->password, password);
    EXPECT_EQ(credentials->user, "u");
  }
}

TEST(RedisOpen, APasswordFileThatGivesNoneIsReportedAndTriedAgain) {
  const servers::TemporaryFolder folder("password");
  write(folder.file("empty"), "");
  write(folder.file("line"), "\r\n\n");
  for (const auto& [path, fix] : std::vector<std::pair<std::string, std::string>>{
           {folder.file("none"), "check path and rights"},
           {folder.path(), "check path and rights"},
           {folder.file("empty"), "write the password into it"},
           {folder.file("line"), "write the password into it"}}) {
    const auto credentials = redis::credentials_of(with_file(path));
    ASSERT_FALSE(credentials) << path;
    EXPECT_EQ(credentials.error().code, ErrorCode::denied);
    EXPECT_TRUE(credentials.error().retryable);
    EXPECT_NE(credentials.error().message.find(path), std::string::npos);
    EXPECT_NE(credentials.error().message.find(fix), std::string::npos)
        << credentials.error().message;
  }
}

TEST(RedisOpen, CredentialsThatThrowAreReported) {
  const auto failing = [](std::function<RedisCredentials()> ask) {
    auto settings = redis::settings_of({.credentials = std::move(ask)});
    const auto credentials = redis::credentials_of(*settings);
    return credentials ? std::string{} : credentials.error().message;
  };
  EXPECT_NE(failing([]() -> RedisCredentials {
              throw std::runtime_error("the vault is shut");
            }).find("the vault is shut"),
            std::string::npos);
  EXPECT_NE(failing([]() -> RedisCredentials { throw 42; }).find("no credentials"),
            std::string::npos);
}

}  // namespace
}  // namespace conclave::conformance
