#include "cli/commands.h"

#include <array>

namespace stitch {

std::span<const CommandRow> all_commands() {
  static constexpr auto commands = std::to_array<CommandRow>({
      {"import", add_import,
       [](const Options& options, Console& console) { return run_import(options.import, console); }},
      {"show", add_show,
       [](const Options& options, Console& console) { return run_show(options.show, console); }},
      {"plan", add_plan,
       [](const Options& options, Console& console) { return run_plan(options.plan, console); }},
      {"code", add_code,
       [](const Options& options, Console& console) { return run_code(options.code, console); }},
      {"optimize", add_optimize,
       [](const Options& options, Console& console) { return run_optimize(options.optimize, console); }},
      {"bench", add_bench,
       [](const Options& options, Console& console) { return run_bench(options.bench, console); }},
      {"calibrate", add_calibrate,
       [](const Options& options, Console& console) { return run_calibrate(options.calibrate, console); }},
      {"runs", add_runs,
       [](const Options& options, Console& console) { return run_runs(options.runs, console); }},
      {"memory", add_memory,
       [](const Options& options, Console& console) { return run_memory(options.memory, console); }},
      {"verify", add_verify,
       [](const Options& options, Console& console) { return run_verify(options.verify, console); }},
      {"receipt", add_receipt,
       [](const Options& options, Console& console) { return run_receipt(options.receipt, console); }},
      {"package", add_package,
       [](const Options& options, Console& console) { return run_package(options.package, console); }},
      {"baselines", add_baselines,
       [](const Options& options, Console& console) { return run_baselines(options.baselines, console); }},
      {"notes", add_notes,
       [](const Options& options, Console& console) { return run_notes(options.notes, console); }},
      {"prompts", add_prompts,
       [](const Options& options, Console& console) { return run_prompts(options.prompts, console); }},
      {"mcp", add_mcp,
       [](const Options& options, Console& console) { return run_mcp(options.mcp, console); }},
      {"llm", add_llm,
       [](const Options& options, Console& console) { return run_llm(options.llm, console); }},
      {"write", add_write,
       [](const Options& options, Console& console) { return run_write(options.write, console); }},
      {"rubric", add_rubric,
       [](const Options& options, Console& console) { return run_rubric(options.rubric, console); }},
      {"profile", add_profile,
       [](const Options& options, Console& console) { return run_profile(options.profile, console); }},
      {"synth", add_synth,
       [](const Options& options, Console& console) { return run_synth(options.synth, console); }},
      {"skills", add_skills,
       [](const Options& options, Console& console) { return run_skills(options.skills, console); }},
      {"train", add_train,
       [](const Options& options, Console& console) { return run_train(options.train, console); }},
      {"init", add_init,
       [](const Options& options, Console& console) { return run_init(options.init, console); }},
      {"config", add_config,
       [](const Options& options, Console& console) { return run_config(options.config, console); }},
      {"completion", add_completion,
       [](const Options& options, Console& console) { return run_completion(options.completion, console); }},
      {"man", add_man,
       [](const Options& options, Console& console) { return run_man(options.man, console); }},
      {"doctor", add_doctor, [](const Options&, Console& console) { return run_doctor(console); }},
  });
  return commands;
}

}  // namespace stitch
