// The world of one run: processes with the production core inside, a network between them and a
// model store, and the checkers that watch. Virtual time jumps from event to event.
#pragma once

#include <map>
#include <memory>
#include <set>

#include <core/machine.hpp>
#include <core/random.hpp>

#include "simulation/checks/fenced_register.hpp"
#include "simulation/checks/give_back.hpp"
#include "simulation/checks/growing_terms.hpp"
#include "simulation/checks/liveness.hpp"
#include "simulation/checks/load.hpp"
#include "simulation/checks/one_leader.hpp"
#include "simulation/checks/story.hpp"
#include "simulation/event_queue.hpp"
#include "simulation/plan.hpp"
#include "simulation/store_model.hpp"
#include "simulation/trace.hpp"

namespace conclave::sim {

struct KeepAlive {};
struct ObserveRequest {};
struct Arrival {  // a request at the server
  Caller caller;
  core::OpId op;
  std::variant<CampaignRequest, RenewRequest, ResignRequest, KeepAlive, ObserveRequest> request;
};

// A call of the client that has not been answered.
struct Pending {
  core::OpId op = 0;
  Instant sent;
  enum class Verb { campaign, renew, resign } verb{};
  Term term;  // that a renewal is for
};

struct Process {
  std::uint32_t index = 0;
  std::string id;
  const ProcessPlan* plan = nullptr;
  ProcessClock clock;
  std::unique_ptr<core::Machine> machine;  // none while crashed
  std::uint32_t incarnation = 0;
  Real paused_until{};
  Real cut_until{};
  bool cut_out = false;  // its requests are lost
  bool cut_in = false;   // the answers are
  Real wake_at{};
  std::uint64_t wake_token = 0;
  std::vector<Pending> pending;
  std::uint64_t session = 0;
  Instant chain_since;  // of the session's last acknowledged heartbeat
  Real counted_from{};
  bool healthy = true;
  bool has_stopped = false;
  Term work;           // the term whose work has not ended
  Instant lease_over;  // a whole lease after the last confirmed renewal
  std::set<Attempt> elected;
  std::optional<Arrival> last_renewal;  // for the adversary to send again
  std::optional<Pushed> latest_news;    // of a record, and the one before it: likewise
  std::optional<Pushed> older_news;
  Story story;
  GiveBack give_back;
};

class World {
 public:
  explicit World(const Plan& plan, Trace* trace = nullptr);

  // Runs to the end or to the first broken rule.
  const Verdict& run();

  [[nodiscard]] std::uint64_t elections() const { return elections_; }

 private:
  // ---- events
  struct WakeUp {
    std::uint32_t process;
    std::uint64_t token;
  };
  struct Delivery {  // an answer at its process
    Caller caller;
    Real counted_from;
    core::Input answer;
  };
  struct ToProcess {  // anything else that a process gets to know
    std::uint32_t process;
    std::uint32_t incarnation;
    core::Input input;
  };
  struct PushDelivery {
    Pushed push;
  };
  struct Write {
    std::uint32_t process;
    Term term;
  };
  struct FaultStrikes {
    std::size_t index;
  };
  struct ServerWorks {};
  struct Launch {
    std::uint32_t process;
  };
  struct CalmBegins {};
  struct Ambush {
    Fault fault;
  };
  struct GivenUp {
    std::uint32_t process;
    std::uint32_t incarnation;
    core::OpId op;
  };
  struct KeepAliveDue {
    std::uint32_t process;
    std::uint32_t incarnation;
  };
  using Event =
      std::variant<WakeUp, Arrival, Delivery, ToProcess, PushDelivery, Write, FaultStrikes,
                   ServerWorks, Launch, CalmBegins, KeepAliveDue, GivenUp, Ambush>;

  void happen(const WakeUp& event);
  void happen(const Arrival& event);
  void happen(const Delivery& event);
  void happen(const ToProcess& event);
  void happen(const PushDelivery& event);
  void happen(const Write& event);
  void happen(const FaultStrikes& event);
  void happen(const ServerWorks&);
  void happen(const Launch& event);
  void happen(const CalmBegins&);
  void happen(const KeepAliveDue& event);
  void happen(const GivenUp& event);
  void happen(const Ambush& event);

  // ---- processes (world_process.cpp)
  [[nodiscard]] core::RenewalGrid grid(const Process& process) const;
  void launch(Process& process);
  void step(Process& process, const core::Input& input);
  void step_with(Process& process, const core::Input& answer, const Pending& call);
  void carry_out(Process& process, const core::DoCampaign& call, const core::Input& input);
  void carry_out(Process& process, const core::DoRenew& call, const core::Input& input);
  void carry_out(Process& process, const core::DoResign& call, const core::Input& input);
  void carry_out(Process& process, const core::DoObserve& call, const core::Input& input);
  void carry_out(Process& process, const core::DoCancel& call, const core::Input& input);
  void carry_out(Process& process, const core::Elected& news, const core::Input& input);
  void carry_out(Process& process, const core::Extended& news, const core::Input& input);
  void carry_out(Process& process, const core::Jeopardy&, const core::Input&);
  void carry_out(Process& process, const core::Stopping& news, const core::Input& input);
  void carry_out(Process& process, const core::DrainOverrun&, const core::Input&);
  void carry_out(Process& process, const core::Lost& news, const core::Input& input);
  void carry_out(Process& process, const core::LeaderChanged&, const core::Input&);
  void carry_out(Process& process, const core::Failed&, const core::Input&);
  void carry_out(Process& process, const core::HasStopped& news, const core::Input& input);
  void schedule_wake(Process& process);
  void check_after_step(Process& process);
  void check_hold(const Process& process, Instant deadline);
  [[nodiscard]] bool leads(const Process& process) const;
  [[nodiscard]] bool defer_while_paused(std::uint32_t process, const Event& event);
  void new_session(Process& process);

  // ---- the adversary (world_adversary.cpp)
  void after_grant(const CampaignRequest& request, const Granted& granted);
  void after_resign(const Arrival& resign);
  void after_renewal();
  void after_loss(Real at);
  void after_step();
  void hint(const Process& process, Real at);
  void strike_soon(Duration earliest, Duration latest, Fault fault);

  // ---- network and faults (world.cpp, world_faults.cpp)
  void send(Process& process, Pending pending, Arrival arrival);
  void answer(const Arrival& request, Real counted_from, core::Input reply);
  void deliver_pushes();
  [[nodiscard]] std::optional<Duration> travel();
  [[nodiscard]] bool is_calm() const { return now_ >= plan_.calm_from; }
  void strike(const Fault& fault);
  void step_clock(const FaultStrikes& event);
  void strike_process(const Fault& fault, Process& process);
  void pause(Process& process, Duration length, bool suspend);
  void outage(const Fault& fault);
  void wipe();
  void check_liveness();
  void check_load();
  void note(const std::string& text);

  const Plan& plan_;
  Trace* trace_;
  core::Random random_;
  std::unique_ptr<StoreModel> store_;
  EventQueue<Event> events_;
  std::vector<Process> processes_;
  Real now_{};
  Real server_down_until_{};
  Real no_newcomers_until_{};
  std::optional<Real> server_works_at_;
  Duration shortest_lease_{};
  Duration clock_is_off_by_{};  // the server's
  Real clock_stepped_at_{};
  bool ended_ = false;
  std::uint64_t elections_ = 0;

  Verdict verdict_;
  OneLeader one_leader_;
  GrowingTerms growing_terms_;
  FencedRegister register_;
  Liveness liveness_;
  Load load_;
};

}  // namespace conclave::sim
