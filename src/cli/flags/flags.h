// The flags of every command, and what they fill in: one struct a command.
#pragma once

#include "cli/commands/doctor.h"
#include "cli/commands/import.h"
#include "cli/commands/init.h"
#include "cli/commands/judge/baselines.h"
#include "cli/commands/judge/rubric.h"
#include "cli/commands/judge/verify.h"
#include "cli/commands/learn/calibrate.h"
#include "cli/commands/learn/skills.h"
#include "cli/commands/learn/synth.h"
#include "cli/commands/learn/train.h"
#include "cli/commands/llm.h"
#include "cli/commands/mcp.h"
#include "cli/commands/memory.h"
#include "cli/commands/notes.h"
#include "cli/commands/optimize/bench.h"
#include "cli/commands/optimize/code.h"
#include "cli/commands/optimize/optimize.h"
#include "cli/commands/optimize/package.h"
#include "cli/commands/optimize/plan.h"
#include "cli/commands/optimize/write.h"
#include "cli/commands/profile.h"
#include "cli/commands/prompts.h"
#include "cli/commands/runs.h"
#include "cli/commands/serve.h"
#include "cli/commands/show.h"
#include "cli/flags/completion.h"
#include "cli/flags/config.h"
#include "cli/flags/man.h"

namespace CLI {
class App;
}

namespace stitch {

struct Options {
  ImportOptions import;
  ShowOptions show;
  VerifyCommand verify;
  ReceiptCommand receipt;
  PackageCommand package;
  BaselinesCommand baselines;
  CodeCommand code;
  PlanCommand plan;
  OptimizeCommand optimize;
  BenchCommand bench;
  CalibrateCommand calibrate;
  NotesCommand notes;
  PromptsCommand prompts;
  McpCommand mcp;
  LlmCommand llm;
  WriteCommand write;
  RubricCommand rubric;
  ServeCommand serve;
  WorkerCommand worker;
  ProfileCommand profile;
  SynthCommand synth;
  SkillsCommand skills;
  TrainCommand train;
  RunsCommand runs;
  MemoryCommand memory;
  InitCommand init;
  ConfigCommand config;
  CompletionCommand completion;
  ManCommand man;
  std::string log;  // a file; empty: none
  bool version = false;
  bool json = false;  // read before the parse, so that its errors are JSON too
};

// What many commands have.
void add_json(CLI::App& command, Options& options);
void add_force(CLI::App& command, bool& force);
void add_store(CLI::App& command, std::string& store);

// flags_models.cpp
void add_import(CLI::App& app, Options& options);
void add_show(CLI::App& app, Options& options);
void add_plan(CLI::App& app, Options& options);
void add_code(CLI::App& app, Options& options);
void add_package(CLI::App& app, Options& options);

// flags_optimize.cpp
void add_optimize(CLI::App& app, Options& options);
void add_bench(CLI::App& app, Options& options);
void add_calibrate(CLI::App& app, Options& options);
void add_runs(CLI::App& app, Options& options);
void add_memory(CLI::App& app, Options& options);
void add_init(CLI::App& app, Options& options);

// flags_verify.cpp
void add_verify(CLI::App& app, Options& options);
void add_receipt(CLI::App& app, Options& options);
void add_baselines(CLI::App& app, Options& options);
void add_profile(CLI::App& app, Options& options);

// flags_write.cpp
void add_write(CLI::App& app, Options& options);

// flags_rubric.cpp
void add_rubric(CLI::App& app, Options& options);

// flags_learn.cpp
void add_skills(CLI::App& app, Options& options);
void add_synth(CLI::App& app, Options& options);
void add_train(CLI::App& app, Options& options);

// flags_serve.cpp
void add_serve(CLI::App& app, Options& options);
void add_worker(CLI::App& app, Options& options);

// flags_texts.cpp
void add_notes(CLI::App& app, Options& options);
void add_prompts(CLI::App& app, Options& options);
void add_mcp(CLI::App& app, Options& options);
void add_llm(CLI::App& app, Options& options);
void add_doctor(CLI::App& app, Options& options);
void add_config(CLI::App& app, Options& options);
void add_completion(CLI::App& app, Options& options);
void add_man(CLI::App& app, Options& options);

}  // namespace stitch
