// A store with two runs in it, for tests of what is said and drawn of runs.
#pragma once

#include <nlohmann/json.hpp>

#include "store/run_store.h"
#include "verify/verdict_document.h"

namespace stitch {

class SampleRun {
 public:
  SampleRun(store::RunStore& store, const std::string& task)
      : store_(store),
        run_(*store.begin({.task = task,
                           .graph = sha(task),
                           .numerics = "default",
                           .gpu = "H200",
                           .device = "cuda",
                           .brains = "builtin, llm:qwen, builtin",
                           .options = R"({"model": "/models/net.py", "out": "/programs/net"})",
                           .version = "0.1.0"})) {
    const std::string graph =
        "graph \"" + task + "\"\ninput %x : f32[4,8]\n\n%y = relu(%x) : f32[4,8]\n\noutput %y\nend\n";
    add("begin", {{"pytorch_tf32", Json::object()}, {"memory", 0}, {"graph", sha(graph)}}, {graph});
  }

  void step(const std::string& name, const std::string& why) {
    add("step", {{"step", name}, {"why", why}, {"predicted_gain_seconds", 2e-4}, {"plan", sha("{}")}},
        {"{}"});
  }
  void attempt(const std::string& step, int number, const std::string& outcome, const std::string& source,
               const std::string& failed_gate = "") {
    verifier::Verdict verdict;
    verdict.gates.push_back({.gate = "build",
                             .id = verifier::GateId::build,
                             .outcome = verifier::Outcome::passed,
                             .summary = "3 of 9 sources compiled",
                             .seconds = 12.5});
    verdict.gates.push_back(
        {.gate = failed_gate.empty() ? "correctness" : failed_gate,
         .id = verifier::GateId::correctness,
         .outcome = failed_gate.empty() ? verifier::Outcome::passed : verifier::Outcome::failed,
         .fault = failed_gate.empty() ? verifier::Fault::none : verifier::Fault::wrong,
         .summary =
             failed_gate.empty() ? "12 trials" : "output 'y' is off: relative error 3.1e-01 (<b>bold</b>)"});
    const std::string document = verifier::to_document(verdict).dump();
    ++summary_.attempts;
    add("attempt",
        {{"step", step},
         {"attempt", number},
         {"outcome", outcome},
         {"sources", {{"program.cu", sha(source)}, {"regions/fc1_relu.cu", sha("// the same\n")}}},
         {"verdict", sha(document)}},
        {source, "// the same\n", document});
  }
  void end(const std::string& step, bool kept, double before, double after, const std::string& reason = "") {
    summary_.kept += kept;
    if (kept) summary_.seconds_a_call = after;
    Json entry = {{"step", step},
                  {"why", "the reason"},
                  {"predicted_gain_seconds", 2e-4},
                  {"before_seconds", before},
                  {"after_seconds", after},
                  {"kept", kept},
                  {"outcome", kept ? "better" : "wrong"},
                  {"tries", 1},
                  {"action", kept ? "commit" : "drop"}};
    if (!reason.empty()) entry["reason"] = reason;
    add("ended", entry);
  }
  void add(const std::string& kind, const Json& body, const std::vector<std::string>& blobs = {}) {
    summary_.elapsed += 7.5;
    summary_.measured = true;
    (void)store_.append(run_, {.elapsed = summary_.elapsed, .kind = kind, .body = body.dump()}, summary_,
                        blobs);
  }
  void say(const std::string& line) { add("conversation", {{"line", sha(line)}}, {line}); }
  void finish(store::RunState state) { (void)store_.finish(run_, state, summary_); }
  const store::Run& run() const { return run_; }

 private:
  static std::string sha(const std::string& text) { return store::blob_hash(text); }
  store::RunStore& store_;
  store::Run run_;
  store::RunSummary summary_;
};

// A run with a trunk, branches, a repair, and words of an LLM; its id.
inline std::string add_sample_run(store::RunStore& store) {
  SampleRun run(store, "resnet18");
  const std::string plain = "// plain\n__global__ void fc1(const float* x, float* y) {\n  y[0] = x[0];\n}\n";
  std::string better = plain;
  better.replace(better.find("y[0] = x[0]"), 11, "y[threadIdx.x] = x[threadIdx.x]");
  run.step("plain", "one simple kernel per node: the correct starting point");
  run.attempt("plain", 1, "better", plain);
  run.end("plain", true, 0, 2.4e-3);
  run.step("libraries", "products and convolutions by cuBLASLt and cuDNN");
  run.attempt("libraries", 1, "wrong", plain + "// <script>alert(1)</script>\n", "correctness");
  run.attempt("libraries", 2, "better", better);
  run.end("libraries", true, 2.4e-3, 1.1e-3);
  run.step("tensor cores", "FP32 products on fp16 tensor cores, each operand split in two");
  run.attempt("tensor cores", 1, "wrong",
              better + std::string(30, '/') + " a long line " + std::string(160, 'x') + "\n", "regions");
  run.end("tensor cores", false, 1.1e-3, 0, "regions: region 'fc1_relu' alone gives a wrong 'y'");
  run.step("loops", "chains of element-wise nodes and reductions become single kernels");
  run.attempt("loops", 1, "better", better + "// fused\n");
  run.end("loops", true, 1.1e-3, 0.9e-3);
  run.add("refused", {{"step", "half storage"}, {"why", "correctness: too far off (2026-11-15)"}});
  run.add("not_tuned", {{"text", "the program has no settings to tune"}});
  const Json prompt = {{"role", "user"}, {"text", "Write fc1_relu. It reads <i>x</i>."}},
             call = {{"role", "assistant"},
                     {"text", ""},
                     {"tool_calls",
                      {{{"id", "1"}, {"name", "read_file"}, {"arguments", "{\"path\": \"contract.md\"}"}}}}},
             result = {{"role", "tool"}, {"text", "x: f32[64], row-major"}};
  auto exchange = [&](Json messages, Json reply, int64_t input, int64_t output) {
    reply.update({{"finish", "stop"}, {"usage", {{"input", input}, {"output", output}}}});
    run.say(Json{
        {"agent", "coder"},
        {"model", "qwen2.5-coder"},
        {"request", {{"messages", std::move(messages)}}},
        {"reply", std::move(reply)},
        {"seconds",
         12.5}}.dump());
  };
  exchange({prompt}, call, 812, 20);
  exchange({prompt, call, result},
           {{"text",
             "One thread an element.\n```cuda\n__global__ void fc1_relu() {\n}\n```\nThat is <b>all</b>."}},
           900, 64);
  run.say(Json{
      {"agent", "planner"},
      {"model", "qwen2.5-coder"},
      {"request", {{"messages", {prompt}}}},
      {"error", {{"code", "llm_timeout"}, {"message", "no answer for 120 s"}}},
      {"seconds",
       120.0}}.dump());
  run.add("shipped", {{"program", "/programs/net"}, {"verdict", ""}});
  run.finish(store::RunState::shipped);
  return run.run().id;
}

}  // namespace stitch
