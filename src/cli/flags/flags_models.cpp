// Flags, help and examples of import, show, plan, code, package.
#include <CLI/CLI.hpp>

#include "cli/flags/flags.h"
#include "cli/flags/model_options.h"

namespace stitch {

void add_import(CLI::App& app, Options& options) {
  ImportOptions& import = options.import;
  CLI::App& command = *app.add_subcommand("import", "Turn Python models into graphs");
  command
      .add_option("MODEL", import.paths,
                  "one or more .py files with Model, get_inputs() and get_init_inputs()")
      ->required();
  command
      .add_option("-o,--out", import.out,
                  "the graph folder to write; with several models, the folder that holds theirs")
      ->type_name("FOLDER");
  command.add_option("--class", import.model_class, "the class to import, instead of Model")
      ->type_name("NAME");
  add_mode(command, import.mode);
  command.add_option("--seed", import.seed, "seed of weights and inputs (default: 42)")->type_name("NUMBER");
  command.add_flag("--all", import.all, "treat MODEL as folders: import every .py file below them");
  command.add_flag("!--no-weights", import.weights, "write the graph alone, without weights.safetensors");
  command.add_option("--jobs", import.jobs, "how many models to import at once (default: one per core)")
      ->type_name("NUMBER")
      ->check(CLI::Range(0, 1024));
  command
      .add_option("--python", import.python,
                  "the Python to use (default: the one that stitchcuda doctor shows)")
      ->type_name("PATH");
  add_force(command, import.force);
  add_json(command, options);
  command.footer(
      "stitchcuda import model.py -o graph/\n"
      "stitchcuda import model.py --class ResNet --eval -o graph/\n"
      "stitchcuda import --all KernelBench/level1 -o graphs/ --jobs 8");
}

void add_show(CLI::App& app, Options& options) {
  ShowOptions& show = options.show;
  CLI::App& command =
      *app.add_subcommand("show", "Show a model's graph, its costs and its theoretical limit");
  command.add_option("MODEL", show.model, "a .py file, a graph folder, or a graph.txt")->required();
  command.add_option("--gpu", show.gpu, "the GPU to estimate for (default: this machine's GPU, else H200)")
      ->type_name("NAME");
  command.add_option("--html", show.html, "write an HTML page with the graph")->type_name("FILE");
  command.add_flag("--text", show.text, "print the graph itself, in the format of graph.txt");
  command.add_flag("--ops", show.ops, "list every node, not only the heaviest");
  command.add_option("--class", show.model_class, "the class to import, instead of Model")->type_name("NAME");
  add_mode(command, show.mode);
  command.add_option("--python", show.python, "the Python to use for a .py file")->type_name("PATH");
  add_force(command, show.force);
  add_json(command, options);
  command.footer(
      "stitchcuda show model.py\n"
      "stitchcuda show graph/ --gpu \"RTX 4090\" --ops\n"
      "stitchcuda show model.py --html model.html");
}

void add_plan(CLI::App& app, Options& options) {
  PlanCommand& plan = options.plan;
  CLI::App& command = *app.add_subcommand(
      "plan", "Show how a model would be computed: regions, techniques, steps, estimates");
  command.add_option("MODEL", plan.model, "a .py file, a graph folder, or a graph.txt");
  command.add_option("-o,--out", plan.out, "write the plan as JSON, to edit and pass to --plan")
      ->type_name("FILE");
  command.add_option("--plan", plan.plan, "check and show this plan instead of making one")
      ->type_name("FILE");
  command
      .add_option("--coder-weights", plan.coder_weights,
                  "use the compact Coder's choices: sm_90, or weights of train")
      ->type_name("FILE");
  command.add_flag("--schema", plan.schema, "print the JSON Schema of plan documents");
  command.add_option("--gpu", plan.gpu, "the GPU to plan for (default: this machine's GPU, else H200)")
      ->type_name("NAME");
  command
      .add_option("--numerics", plan.numerics,
                  "numerics class: strict, default, tf32 or half (default: default)")
      ->type_name("CLASS");
  add_compatible(command, plan.compatible);
  command.add_option("--html", plan.html, "write an HTML page with the graph and its regions")
      ->type_name("FILE");
  command.add_option("--class", plan.model_class, "the class to import, instead of Model")->type_name("NAME");
  command.add_option("--python", plan.python, "the Python to use for a .py file")->type_name("PATH");
  add_mode(command, plan.mode);
  add_force(command, plan.force);
  add_json(command, options);
  command.footer(
      "stitchcuda plan examples/resnet18.py\nstitchcuda plan model.py --gpu H100 --json\n"
      "stitchcuda plan model.py -o plan.json\nstitchcuda code model.py --plan plan.json -o program/");
}

void add_code(CLI::App& app, Options& options) {
  CodeCommand& code = options.code;
  CLI::App& command = *app.add_subcommand("code", "Write a CUDA program for a model");
  command.add_option("MODEL", code.model, "a .py file or a graph folder")->required();
  command.add_option("-o,--out", code.out, "the program's folder")->type_name("FOLDER")->required();
  command.add_option("--plan", code.plan, "write the program for this plan instead of making a plan")
      ->type_name("FILE");
  command.add_flag("--plain", code.plain, "one simple kernel per node: no fusion, no libraries");
  command.add_flag("--rounding", code.rounding, "also store fp16 between convolutions: verify the result");
  command.add_option("--without", code.without, "a step to leave out, by its name in the plan")
      ->type_name("STEP");
  command
      .add_option(
          "--weights", code.weights,
          "put the model's weights into the folder: auto (up to 256 MB), always or never (default: auto)")
      ->type_name("WHEN");
  command.add_option("--gpu", code.gpu, "the GPU to write it for (default: this machine's GPU, else H200)")
      ->type_name("NAME");
  command
      .add_option("--numerics", code.numerics,
                  "numerics class: strict, default, tf32 or half (default: default)")
      ->type_name("CLASS");
  add_compatible(command, code.compatible);
  command.add_option("--class", code.model_class, "the class to import, instead of Model")->type_name("NAME");
  command.add_option("--python", code.python, "the Python to use for a .py file")->type_name("PATH");
  add_mode(command, code.mode);
  add_force(command, code.force);
  add_json(command, options);
  command.footer("stitchcuda code model.py -o program/\nstitchcuda verify program/ --task model.py");
}

void add_package(CLI::App& app, Options& options) {
  PackageCommand& package = options.package;
  CLI::App& command =
      *app.add_subcommand("package", "Package a program as a folder that builds with CMake and nvcc alone");
  command.add_option("PROGRAM", package.program, "a folder with program.cu")->required();
  command.add_option("--task", package.task, "the task's .py file, to generate model_new.py from")
      ->type_name("FILE");
  command.add_option("--class", package.model_class, "the task's class, instead of Model")->type_name("NAME");
  command
      .add_option("--weights", package.weights,
                  "a safetensors file with the model's weights (default: the program's weights.safetensors)")
      ->type_name("FILE");
  command.add_option("--python", package.python, "the Python to use for the task")->type_name("PATH");
  command.add_option("--gpu", package.gpu, "the GPU that CMake builds for (default: the program's)")
      ->type_name("NAME");
  command.add_option("-o,--out", package.out, "the folder to write")->type_name("FOLDER")->required();
  add_mode(command, package.mode);
  add_force(command, package.force);
  add_json(command, options);
  command.footer("stitchcuda package examples/programs/mlp --task examples/programs/mlp/task.py -o mlp/");
}

}  // namespace stitch
