// The flags of every command, and what they fill in: one struct a command.
#pragma once

#include "cli/baselines.h"
#include "cli/bench.h"
#include "cli/calibrate.h"
#include "cli/code.h"
#include "cli/completion.h"
#include "cli/config.h"
#include "cli/doctor.h"
#include "cli/import.h"
#include "cli/init.h"
#include "cli/llm.h"
#include "cli/man.h"
#include "cli/mcp.h"
#include "cli/memory.h"
#include "cli/notes.h"
#include "cli/optimize.h"
#include "cli/package.h"
#include "cli/plan.h"
#include "cli/profile.h"
#include "cli/prompts.h"
#include "cli/rubric.h"
#include "cli/runs.h"
#include "cli/serve.h"
#include "cli/show.h"
#include "cli/skills.h"
#include "cli/synth.h"
#include "cli/train.h"
#include "cli/verify.h"
#include "cli/write.h"

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
