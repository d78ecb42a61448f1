#include "import/active.h"

#include <nlohmann/json.hpp>

namespace stitch {

namespace {

bool is_true(const Json& args, const char* key) {
  auto found = args.find(key);
  return found != args.end() && found->is_boolean() && found->get<bool>();
}

double number(const Json& args, const char* key) {
  auto found = args.find(key);
  return found != args.end() && found->is_number() ? found->get<double>() : 0;
}

bool given(const Json& args, const char* key) {
  auto found = args.find(key);
  return found != args.end() && !found->is_null();
}

bool drops(std::string_view op, const Json& args) {
  if (op.find("dropout") != op.npos) return is_true(args, "train") && number(args, "p") > 0;
  if (op.starts_with("aten.scaled_dot_product_attention.")) return number(args, "dropout_p") > 0;
  const bool recurrent =
      op.starts_with("aten.lstm.") || op.starts_with("aten.gru.") || op.starts_with("aten.rnn_");
  return recurrent && is_true(args, "train") && number(args, "dropout") > 0 && number(args, "num_layers") > 1;
}

bool normalises_by_the_batch(std::string_view op, const Json& args) {
  const bool batch = op.starts_with("aten.batch_norm.") && is_true(args, "training");
  const bool instance = op.starts_with("aten.instance_norm.") && is_true(args, "use_input_stats");
  return (batch || instance) && given(args, "running_mean");
}

}  // namespace

Json count_active(const AtenProgram& program) {
  int64_t dropouts = 0, norms = 0;
  for (const AtenNode& node : program.nodes) {
    dropouts += drops(node.op, *node.args);
    norms += normalises_by_the_batch(node.op, *node.args);
  }
  return {{"dropouts", dropouts}, {"batch_norms", norms}};
}

}  // namespace stitch
