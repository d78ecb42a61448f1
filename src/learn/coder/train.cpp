#include "learn/coder/train.h"

#include <nlohmann/json.hpp>

#include "base/error_codes.h"
#include "base/machine/interrupt.h"
#include "base/machine/process.h"
#include "base/text.h"
#include "import/python.h"

namespace stitch::learn {

Json to_json(const TrainOptions& options) {
  return {{"members", options.members},
          {"epochs", options.epochs},
          {"rate", options.rate},
          {"seed", options.seed},
          {"cautions", options.cautions}};
}

Result<std::optional<Json>> train_coder(const fs::path& folder, const TrainOptions& options,
                                        const TrainHooks& hooks) {
  STITCH_TRY(const fs::path python, find_python(options.python));
  STITCH_TRY(const Command command, python_command(python, "stitchcuda_torch.train_coder",
                                                   {folder.string(), line_text(to_json(options))}));
  const EndChildrenWhen stop([&] { return hooks.should_stop && hooks.should_stop(); });
  STITCH_TRY(Child child, Child::start(command));
  for (;;) {
    auto line = child.read_line();
    if (!line) {
      if (line.error().code == error_code::stopped) return std::optional<Json>();
      const Finished finished = child.wait();
      return work_error("training",
                        format("{} stopped with exit code {} while training: {}", python.string(),
                               finished.exit_code, split(trim(finished.error_tail), '\n').back()),
                        "check it with: stitchcuda doctor");
    }
    auto json = parse_json(*line);
    if (!json || !json->is_object()) continue;  // what a library prints
    if (json->contains("done")) return std::optional((*json)["done"]);
    if (json->contains("error")) {
      Error error = user_error(word((*json)["error"], "kind"), word((*json)["error"], "message"),
                               word((*json)["error"], "fix"));
      error.where = word((*json)["error"], "where");
      if (error.code == error_code::disk) error.blame = Error::Blame::work;
      return error;
    }
    if (hooks.on_epoch && json->contains("epoch")) hooks.on_epoch(*json);
  }
}

}  // namespace stitch::learn
