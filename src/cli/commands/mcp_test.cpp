// The tools that the command line adds to the server, and that all of them are there.
#include "cli/commands/mcp.h"

#include <gtest/gtest.h>

#include <set>

#include "base/file.h"
#include "serve/testdata/client.h"

namespace stitch {
namespace {

TEST(McpCommand, HasEveryTool) {
  auto options = mcp_options({});
  ASSERT_TRUE(options) << options.error().text();
  std::set<std::string> names;
  for (const serve::Tool& tool : options->tools) {
    EXPECT_TRUE(names.insert(tool.name).second) << tool.name;
    EXPECT_GT(tool.description.size(), 40u) << tool.name;
    // One name for the model, one for the program; what an answer holds is described.
    const Json& arguments = (*tool.schema)["properties"];
    for (const char* other : {"task", "target"}) EXPECT_FALSE(arguments.contains(other)) << tool.name;
    EXPECT_TRUE(tool.output) << tool.name;
    EXPECT_EQ(arguments.contains("model"), tool.runs_code) << tool.name;  // a model is Python
  }
  EXPECT_EQ(names,
            (std::set<std::string>{"import", "show", "plan", "code", "region", "write_region", "verify",
                                   "optimize", "notes", "prompts", "profile", "runs", "doctor"}));
}

TEST(McpCommand, ShowsAModel) {
  auto scratch = ScratchFolder::create("stitch-mcp");
  ASSERT_TRUE(scratch);
  const std::string graph = (scratch->path() / "tiny.txt").string();
  ASSERT_TRUE(
      write_file(graph, "graph \"tiny\"\ninput %x : f32[4]\n%y = relu(%x) : f32[4]\noutput %y\nend\n"));
  auto options = mcp_options({.roots = {scratch->path().string()}});
  ASSERT_TRUE(options) << options.error().text();
  serve::Client client(*options);
  client.hello();
  Json shown = client.tool("show", {{"model", graph}, {"gpu", "H200"}});
  ASSERT_EQ(shown["isError"], false) << serve::Client::said(shown);
  EXPECT_NE(serve::Client::said(shown).find("relu"), std::string::npos);
  EXPECT_TRUE(shown["structuredContent"].contains("graph"));
  EXPECT_EQ(client.tool("show", {{"model", "/etc/hostname"}})["isError"], true);
  const Json schema = client.ask("resources/read", {{"uri", "stitchcuda://schema/plan"}});
  EXPECT_TRUE(schema.contains("result"));
}

TEST(McpCommand, RefusesFoldersThatAreNotThere) {
  EXPECT_EQ(mcp_options({.roots = {"/no/such/folder"}}).error().message, "no such folder");
  EXPECT_FALSE(mcp_options({.notes = "/no/such/folder"}));
  EXPECT_FALSE(mcp_options({.prompts = "/no/such/folder"}));
}

}  // namespace
}  // namespace stitch
