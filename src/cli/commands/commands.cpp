#include "cli/commands/commands.h"

#include <array>

namespace stitch {

Run add_import(CLI::App& app);
Run add_show(CLI::App& app);
Run add_plan(CLI::App& app);
Run add_code(CLI::App& app);
Run add_optimize(CLI::App& app);
Run add_bench(CLI::App& app);
Run add_calibrate(CLI::App& app);
Run add_runs(CLI::App& app);
Run add_memory(CLI::App& app);
Run add_verify(CLI::App& app);
Run add_receipt(CLI::App& app);
Run add_package(CLI::App& app);
Run add_baselines(CLI::App& app);
Run add_notes(CLI::App& app);
Run add_prompts(CLI::App& app);
Run add_mcp(CLI::App& app);
Run add_llm(CLI::App& app);
Run add_write(CLI::App& app);
Run add_rubric(CLI::App& app);
Run add_serve(CLI::App& app);
Run add_worker(CLI::App& app);
Run add_profile(CLI::App& app);
Run add_synth(CLI::App& app);
Run add_skills(CLI::App& app);
Run add_train(CLI::App& app);
Run add_init(CLI::App& app);
Run add_config(CLI::App& app);
Run add_completion(CLI::App& app);
Run add_man(CLI::App& app);
Run add_doctor(CLI::App& app);

std::span<const CommandRow> all_commands() {
  static constexpr auto commands = std::to_array<CommandRow>({
      {"import", add_import},
      {"show", add_show},
      {"plan", add_plan},
      {"code", add_code},
      {"optimize", add_optimize},
      {"bench", add_bench},
      {"calibrate", add_calibrate},
      {"runs", add_runs},
      {"memory", add_memory},
      {"verify", add_verify},
      {"receipt", add_receipt},
      {"package", add_package},
      {"baselines", add_baselines},
      {"notes", add_notes},
      {"prompts", add_prompts},
      {"mcp", add_mcp},
      {"llm", add_llm},
      {"write", add_write},
      {"rubric", add_rubric},
      {"serve", add_serve},
      {"worker", add_worker},
      {"profile", add_profile},
      {"synth", add_synth},
      {"skills", add_skills},
      {"train", add_train},
      {"init", add_init},
      {"config", add_config},
      {"completion", add_completion},
      {"man", add_man},
      {"doctor", add_doctor},
  });
  return commands;
}

}  // namespace stitch
