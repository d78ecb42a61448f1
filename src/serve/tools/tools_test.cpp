// Every tool, on the smallest graph there is and the emulated GPU. No Python is needed.
#include "serve/tools/workshop.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/json_schema.h"
#include "base/testdata/must.h"
#include "base/text.h"
#include "serve/testdata/client.h"

namespace stitch::serve {
namespace {

constexpr const char* tiny = R"(graph "tiny"
input %x : f32[4,64]

%y = relu(%x) : f32[4,64]
%z = neg(%y) : f32[4,64]

output %z
end
)";

// What a tool answers is what its schema says.
void expect_as_described(const std::vector<Tool>& tools, const std::string& name, const Json& result) {
  const auto tool = std::ranges::find(tools, name, &Tool::name);
  ASSERT_NE(tool, tools.end());
  ASSERT_TRUE(tool->output) << name;
  for (const SchemaViolation& each : schema_violations(result["structuredContent"], *tool->output))
    ADD_FAILURE() << name << ": " << each.text();
  for (const auto& [key, value] : result["structuredContent"].items())
    EXPECT_TRUE((*tool->output)["properties"].contains(key)) << name << ": " << key;
}

class Tools : public testing::Test {
 protected:
  void SetUp() override {
    scratch.emplace(must(ScratchFolder::create("stitch-tools")));
    ASSERT_TRUE(write_file(path("tiny.txt"), tiny));
    auto roots = must(Roots::create({scratch->path().string()}));
    auto workshop = std::make_shared<const Workshop>(
        Workshop{std::move(roots), "", notes::built_in(), prompts::built_in()});
    options.tools = all_tools(workshop);
    client.emplace(options);
    client->hello();
  }
  std::string path(const std::string& name) const { return (scratch->path() / name).string(); }

  std::optional<ScratchFolder> scratch;
  McpOptions options;
  std::optional<Client> client;
};

TEST_F(Tools, ImportSumsUpAGraph) {
  Json result = client->tool("import", {{"model", path("tiny.txt")}});
  ASSERT_EQ(result["isError"], false) << Client::said(result);
  const Json& sum = result["structuredContent"];
  EXPECT_EQ(sum["nodes"], 2);
  expect_as_described(options.tools, "import", result);
  EXPECT_EQ(sum["inputs"][0]["type"], "f32[4,64]");
  EXPECT_NE(Client::said(result).find("%z = neg(%y)"), std::string::npos);
  const Json graph = client->ask("resources/read", {{"uri", sum["graph"]}})["result"]["contents"][0];
  EXPECT_EQ(graph["text"].get<std::string>(), tiny);
  EXPECT_EQ(graph["mimeType"], "text/plain");
}

TEST_F(Tools, PlansAreMadeAndChecked) {
  Json made = client->tool("plan", {{"model", path("tiny.txt")}, {"gpu", "H100"}});
  ASSERT_EQ(made["isError"], false) << Client::said(made);
  EXPECT_EQ(made["structuredContent"]["regions"].size(), 1u);
  expect_as_described(options.tools, "plan", made);
  Json plan = made["structuredContent"]["plan"];
  Json again = client->tool("plan", {{"model", path("tiny.txt")}, {"gpu", "H100"}, {"plan", plan}});
  ASSERT_EQ(again["isError"], false) << Client::said(again);
  EXPECT_EQ(again["structuredContent"]["plan"], plan);
  plan["regions"] = Json::array();
  Json bad = client->tool("plan", {{"model", path("tiny.txt")}, {"gpu", "H100"}, {"plan", plan}});
  EXPECT_EQ(bad["isError"], true);
  EXPECT_EQ(client->tool("plan", {{"model", path("tiny.txt")}, {"gpu", "nothing"}})["isError"], true);
}

TEST_F(Tools, PathsStayInTheirFolders) {
  auto complaint = [&](const char* tool, Json arguments) {
    Json result = client->tool(tool, std::move(arguments));
    EXPECT_EQ(result["isError"], true) << tool;
    return Client::said(result);
  };
  const std::string outside = "is outside of the allowed folders";
  EXPECT_NE(complaint("import", {{"model", "/etc/passwd"}}).find(outside), std::string::npos);
  EXPECT_NE(complaint("verify", {{"program", path("../x")}, {"model", path("tiny.txt")}}).find(outside),
            std::string::npos);
  EXPECT_NE(
      complaint("optimize", {{"model", path("tiny.txt")}, {"out", "/tmp"}}).find("'out': /tmp " + outside),
      std::string::npos);
  std::error_code ec;
  fs::create_directory_symlink("/", scratch->path() / "link", ec);
  ASSERT_FALSE(ec);
  EXPECT_NE(complaint("import", {{"model", path("link/etc/passwd")}}).find(outside), std::string::npos);
  EXPECT_NE(complaint("import", {{"model", path("missing.txt")}}).find("missing.txt"), std::string::npos);
}

// One program through code, verify, write_region and optimize: what was compiled is compiled once.
TEST_F(Tools, WriteVerifyAndImproveAProgram) {
  const std::string task = path("tiny.txt"), program = path("program");
  Json coded = client->tool("code", {{"model", task}, {"out", program}});
  ASSERT_EQ(coded["isError"], false) << Client::said(coded);
  const Json region = coded["structuredContent"]["regions"][0];
  EXPECT_EQ(client->tool("code", {{"model", task}, {"out", task}})["isError"], true);  // a file is there

  const int id =
      client->start_tool("verify", {{"program", program}, {"model", task}, {"device", "emulated"}}, "v");
  EXPECT_FALSE(client->notified("notifications/progress").is_null());
  Json verified = client->answer_to(id)["result"];
  ASSERT_EQ(verified["isError"], false) << Client::said(verified);
  ASSERT_EQ(verified["structuredContent"]["passed"], true) << Client::said(verified);
  Json whole = client->ask("resources/read",
                           {{"uri", verified["structuredContent"]["verdict"]}})["result"]["contents"][0];
  auto verdict = must(parse_json(whole["text"].get<std::string>()));
  EXPECT_EQ(verdict["verdict"], "passed");

  // The region's own source, with a mistake, and with a comment.
  auto source = must(read_file(scratch->path() / "program" / region["file"].get<std::string>()));
  std::string wrong = source;
  ASSERT_NE(wrong.find("= -y;"), std::string::npos) << wrong;
  wrong.replace(wrong.find("= -y;"), 5, "= y;");
  Json arguments = {{"program", program}, {"model", task},      {"region", region["name"]},
                    {"source", wrong},    {"out", path("new")}, {"device", "emulated"}};
  Json refused = client->tool("write_region", arguments);
  ASSERT_EQ(refused["isError"], false) << Client::said(refused);
  EXPECT_EQ(refused["structuredContent"]["passed"], false);
  EXPECT_TRUE(Client::said(refused).starts_with("failed at correctness: ")) << Client::said(refused);
  expect_as_described(options.tools, "write_region", refused);
  EXPECT_EQ(refused["structuredContent"]["failure"]["gate"], "correctness");
  EXPECT_FALSE(fs::exists(path("new")));
  arguments["source"] = "// Mine.\n" + source;
  Json accepted = client->tool("write_region", arguments);
  EXPECT_EQ(accepted["structuredContent"]["passed"], true) << Client::said(accepted);
  EXPECT_NE(Client::said(accepted).find("nothing here says whether it is faster"), std::string::npos);
  EXPECT_TRUE(
      read_file(scratch->path() / "new" / region["file"].get<std::string>())->starts_with("// Mine."));
  arguments["source"] = "this is no CUDA";
  arguments.erase("out");
  Json broken = client->tool("write_region", arguments);
  EXPECT_EQ(broken["structuredContent"]["failure"]["gate"], "build") << Client::said(broken);
  arguments["region"] = "nothing";
  EXPECT_NE(Client::said(client->tool("write_region", arguments)).find("has no region 'nothing'"),
            std::string::npos);

  Json optimized = client->tool("optimize", {{"model", task},
                                             {"out", path("best")},
                                             {"device", "emulated"},
                                             {"budget_seconds", 1},
                                             {"quick", true}});
  ASSERT_EQ(optimized["isError"], false) << Client::said(optimized);
  EXPECT_EQ(optimized["structuredContent"]["verdict"]["passed"], true);
  EXPECT_EQ(optimized["structuredContent"]["measured"], false);
  EXPECT_TRUE(fs::exists(path("best/program.cu")));
  expect_as_described(options.tools, "code", coded);
  expect_as_described(options.tools, "verify", verified);
  expect_as_described(options.tools, "optimize", optimized);
  EXPECT_LT(optimized.dump().size(), size_t{200} << 10);
}

// The same in a plan: the answer has the plan with the source in it, and a program can be written of that.
TEST_F(Tools, WriteARegionOfAPlan) {
  const std::string task = path("tiny.txt");
  Json planned = client->tool("plan", {{"model", task}});
  const Json name = planned["structuredContent"]["regions"][0]["name"];
  Json region = client->tool("region", {{"model", task}, {"region", name}});
  ASSERT_EQ(region["isError"], false) << Client::said(region);
  const auto signature = region["structuredContent"]["signature"].get<std::string>();
  EXPECT_NE(signature.find("StitchStatus enqueue_"), std::string::npos) << signature;
  EXPECT_NE(region["structuredContent"]["graph"].get<std::string>().find("= neg("), std::string::npos);
  EXPECT_NE(Client::said(region).find("STITCH_DEVICE_ERROR if a launch failed"), std::string::npos);
  expect_as_described(options.tools, "region", region);
  EXPECT_NE(
      Client::said(client->tool("region", {{"model", task}, {"region", "z"}})).find("has no region 'z'"),
      std::string::npos);

  const std::string source =
      "#include <cuda_runtime.h>\n__global__ void mine(const float* in, float* out) {\n"
      "  out[threadIdx.x] = in[threadIdx.x] > 0 ? -in[threadIdx.x] : -0.0f;\n}\n" +
      signature + " {\n  mine<<<1, 256, 0, stream>>>(x, " + name.get<std::string>() +
      "_out);\n  return cudaGetLastError() == cudaSuccess ? STITCH_OK : STITCH_DEVICE_ERROR;\n}\n";
  Json arguments = {
      {"task", task}, {"region", name}, {"source", source}, {"device", "emulated"}, {"out", path("mine")}};
  Json written = client->tool("write_region", arguments);
  ASSERT_EQ(written["isError"], false) << Client::said(written);
  ASSERT_EQ(written["structuredContent"]["passed"], true) << Client::said(written) << source;
  EXPECT_TRUE(fs::exists(path("mine/program.cu")));
  const Json kept = client->ask("resources/read", {{"uri", written["structuredContent"]["plan"]}});
  auto plan = must(parse_json(kept["result"]["contents"][0]["text"].get<std::string>()));
  Json checked = client->tool("plan", {{"model", task}, {"plan", plan}});
  EXPECT_EQ(checked["structuredContent"]["regions"][0]["technique"], "written") << Client::said(checked);

  EXPECT_TRUE(Client::said(written).starts_with("passed\n")) << Client::said(written);
  EXPECT_GT(written["structuredContent"]["speed"]["builtin_estimated_seconds"].get<double>(), 0);
  expect_as_described(options.tools, "write_region", written);

  // A compiler's line is the client's line.
  std::string misspelt = "// one\n// two\n" + source;
  misspelt.replace(misspelt.find("STITCH_DEVICE_ERROR"), 19, "STITCH_ERROR");
  const auto line = std::ranges::count(misspelt.substr(0, misspelt.find("STITCH_ERROR")), '\n') + 1;
  arguments["source"] = misspelt;
  arguments.erase("out");
  const std::string failed = Client::said(client->tool("write_region", arguments));
  EXPECT_TRUE(failed.starts_with("failed at build: ")) << failed;
  EXPECT_NE(failed.find(format("{}.cu:{}:", name.get<std::string>(), line)), std::string::npos) << failed;

  arguments["source"] = "int nothing;";
  EXPECT_NE(Client::said(client->tool("write_region", arguments)).find("doesn't define"), std::string::npos);
}

TEST_F(Tools, NotesAndPrompts) {
  Json found = client->tool("notes", {{"question", "bank conflicts"}, {"gpu", "H200"}, {"most", 2}});
  EXPECT_EQ(found["structuredContent"]["notes"][0]["name"], "shared-memory-banks");
  EXPECT_EQ(found["structuredContent"]["notes"].size(), 2u);
  EXPECT_GE(client->tool("notes")["structuredContent"]["notes"].size(), 64u);
  EXPECT_NE(Client::said(client->tool("notes", {{"name", "wgmma"}})).find("## wgmma"), std::string::npos);
  EXPECT_EQ(client->tool("notes", {{"name", "nothing"}})["isError"], true);
  EXPECT_EQ(client->tool("notes", {{"question", "x"}, {"gpu", "volta"}})["isError"], true);
  EXPECT_EQ(client->tool("prompts")["structuredContent"]["prompts"].size(), 9u);
  EXPECT_NE(Client::said(client->tool("prompts", {{"name", "planner"}})).find("{{graph}}"),
            std::string::npos);
  EXPECT_EQ(client->tool("prompts", {{"name", "x"}})["isError"], true);
}

}  // namespace
}  // namespace stitch::serve
