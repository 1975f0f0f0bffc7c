// A migration at start-up: of several instances whoever leads migrates, the others wait until it is
// done. Being leader is not enough to begin: when the first one has migrated and gone, the next one
// leads. So the leader looks first whether it was done, and leaves a mark when it is.
//
//   migration [URL [MARK]]
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <conclave/conclave.hpp>

namespace {

// In the life of a schema: a row in its table of versions, written in the migration's transaction.
class Mark {
 public:
  explicit Mark(std::filesystem::path path) : path_(std::move(path)) {}
  [[nodiscard]] bool is_there() const { return std::filesystem::exists(path_); }
  void leave() const { std::ofstream(path_) << "done\n"; }

 private:
  std::filesystem::path path_;
};

}  // namespace

int main(int argc, char** argv) {
  conclave::Candidate me(conclave::open(argc > 1 ? argv[1] : "file:"), "migration");
  const Mark mark(argc > 2 ? argv[2] : std::filesystem::temp_directory_path() / "migration.done");
  // Whoever waits here waits until the leader has done its work or has died.
  if (const auto term = me.lead()) {
    if (mark.is_there()) {
      std::printf("migrated already\n");
    } else {
      std::printf("migrating the schema, once\n");
      mark.leave();
    }
  }
  std::printf("serving\n");
}
