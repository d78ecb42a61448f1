// Workers by Slurm and by Ray, with stand-ins for both: what is said when they end, and when neither can.
#include "serve/fleet/fan_out.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/format.h"
#include "base/json.h"
#include "base/testdata/must.h"
#include "base/text.h"
#include "http/client.h"
#include "http/server.h"
#include "serve/fleet/desk.h"

namespace stitch::serve {
namespace {

using namespace std::chrono_literals;

class Slurm : public testing::Test {
 protected:
  void SetUp() override {
    scratch.emplace(must(ScratchFolder::create("stitch-slurm")));
    path = std::getenv("PATH");
    ::setenv("PATH", (scratch->path().string() + ":" + path).c_str(), 1);
    command("scancel", "exit 0");
    options.fleet = {.engine = "slurm", .workers = 2, .logs = scratch->path() / "workers"};
    options.host = options.at = "127.0.0.1";
    options.lease_seconds = 0.3;
    options.count_workers_every = 0.05;
    options.on_notice = [this](std::string_view text) {
      std::lock_guard hold(mutex);
      said += std::string(text) + "\n";
    };
  }
  void TearDown() override { ::setenv("PATH", path.c_str(), 1); }
  void command(const std::string& name, const std::string& body) const {
    const fs::path file = scratch->path() / name;
    ASSERT_TRUE(write_file(file, "#!/bin/sh\n" + body + "\n"));
    fs::permissions(file, fs::perms::owner_all);
  }
  std::string notices() {
    std::lock_guard hold(mutex);
    return said;
  }
  bool soon(const std::function<bool()>& true_now) {
    for (int i = 0; i < 500; ++i) {
      if (true_now()) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }

  std::optional<ScratchFolder> scratch;
  std::string path, said;
  std::mutex mutex;
  FanOutOptions options;
};

TEST_F(Slurm, ThatIsNotConfiguredSaysWhatToDo) {
  command("sbatch", "echo 'sbatch: fatal: Could not establish a configuration source' >&2; exit 1");
  auto started = FanOut::start(options);
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().message.find("configuration source"), std::string::npos);
  EXPECT_NE(started.error().fix.find("sinfo"), std::string::npos);
}

TEST_F(Slurm, SaysWhichWorkersEndedAndWhereTheirLogsAre) {
  const fs::path states = scratch->path() / "states";
  ASSERT_TRUE(write_file(states, "RUNNING\nRUNNING\n"));
  command("sbatch", "echo 17");
  command("squeue", "cat " + states.string());
  auto fleet = must(FanOut::start(options));
  ASSERT_TRUE(write_file(states, "RUNNING\n"));
  EXPECT_TRUE(soon([&] { return !notices().empty(); }));
  EXPECT_NE(notices().find("1 of 2 workers of Slurm job 17 has ended; logs: "), std::string::npos)
      << notices();
  ASSERT_TRUE(write_file(states, ""));
  ASSERT_TRUE(soon([&] { return fleet->over().has_value(); }));
  const std::string fix = fleet->over()->fix;
  EXPECT_NE(fix.find((options.fleet.logs / "worker-17_*.log").string()), std::string::npos) << fix;
  EXPECT_NE(fix.find("the same command resumes"), std::string::npos) << fix;
}

// What waits for a worker is not running; a worker that is silent is named, and so is its work.
TEST_F(Slurm, SaysWhichWorkersWereLost) {
  command("sbatch", "env | grep STITCHCUDA_TOKEN > " + (scratch->path() / "token").string() +
                        "; for word; do echo \"$word\"; done > " + (scratch->path() / "words").string() +
                        "; echo 17");
  command("squeue", "echo RUNNING; echo RUNNING");
  std::atomic<int> running = 0, most = 0;
  options.on_running = [&](const std::string&, bool now) {
    running += now ? 1 : -1;
    most = std::max(most.load(), running.load());
  };
  auto fleet = must(FanOut::start(options));
  const std::string words = *read_file(scratch->path() / "words");
  const size_t server = words.find("--server ") + 9;
  const std::string url = words.substr(server, words.find(' ', server) - server);
  const std::string token =
      trim(read_file(scratch->path() / "token")->substr(std::string("STITCHCUDA_TOKEN=").size()));

  std::vector<std::thread> waiting;
  for (const char* key : {"first", "second", "third"})
    waiting.emplace_back([&, key] { (void)fleet->run({key, std::make_shared<const Json>(1)}); });
  // One that takes work and is never heard of again.
  http::Call call{.method = "POST",
                  .url = *http::parse_address(url),
                  .body = R"({"worker": "n1:17", "device": "emulated"})"};
  call.url.path = "/fleet/lease";
  call.headers.emplace_back("Authorization", "Bearer " + token);
  ASSERT_TRUE(soon([&] {
    auto answer = http::call(call);
    return answer && answer->status == 200;
  }));
  EXPECT_EQ(running, 1);
  EXPECT_TRUE(soon([&] { return !notices().empty(); }));
  EXPECT_NE(notices().find("the worker n1:17 stopped responding; "), std::string::npos) << notices();
  EXPECT_EQ(running, 0);
  EXPECT_TRUE(work_for({.server = *http::parse_address(url),
                        .token = token,
                        .name = "n2:18",
                        .device = "emulated",
                        .idle = 0.5},
                       [](const std::string&, const Json&) { return Json(2); }));
  for (std::thread& each : waiting) each.join();
  EXPECT_EQ(most, 1);
}

// With a server of ours in the place of its dashboard.
TEST(Ray, SaysThatJobsEndedWhereTheirLogsAreAndWhatToDoWithoutIt) {
  std::atomic<bool> stopped = false;
  auto dashboard = must(http::Server::start({}, [&](http::Request&& request, http::Reply reply) {
    const auto job = parse_json(request.body);
    reply.send({.body = request.method == "POST"
                            ? line_text({{"submission_id", job ? word(*job, "submission_id") : ""}})
                            : line_text({{"status", stopped ? "STOPPED" : "RUNNING"}})});
  }));
  FanOutOptions options;
  options.fleet = {.engine = "ray",
                   .workers = 2,
                   .ray = http::Url{.host = "127.0.0.1", .port = dashboard->port()}.origin()};
  options.host = options.at = "127.0.0.1";
  options.count_workers_every = 0.05;
  {
    auto fleet = must(FanOut::start(options));
    EXPECT_NE(fleet->said().find("Ray at " + options.fleet.ray), std::string::npos) << fleet->said();
    stopped = true;
    const Error over = fleet->run({"key", std::make_shared<const Json>(1)}).error();
    EXPECT_EQ(over.message, format("all workers of Ray at {} have ended", options.fleet.ray));
    EXPECT_TRUE(over.fix.starts_with("logs: ray job logs stitchcuda-")) << over.fix;
    EXPECT_TRUE(over.fix.ends_with("; the same command resumes")) << over.fix;
  }
  dashboard.reset();
  EXPECT_EQ(FanOut::start(options).error().fix,
            "start Ray there (ray start --head), or name its dashboard with --ray URL");
}

}  // namespace
}  // namespace stitch::serve
