#include "code/loops/kernel.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace stitch::code::loops {

namespace {

struct Row {
  std::string_view name, header;
};

// Identifiers of namespace stitch by header. All others are in loops_math.h.
constexpr std::string_view reduce = "stitch/loops/reduce.h", random = "stitch/loops/random.h",
                           cluster = "stitch/loops/cluster.h", scan = "stitch/loops/scan.h",
                           sort = "stitch/loops/sort.h", scatter = "stitch/loops/scatter.h",
                           team = "stitch/loops/team.h", vector = "stitch/loops/vector.h",
                           window = "stitch/loops/window.h", math = "stitch/loops/math.h",
                           launching = "stitch/runtime/launch.h", factor = "stitch/loops/factor.h",
                           tensors = "stitch/runtime/tensors.h";
constexpr auto table = std::to_array<Row>({
    {"Add", reduce},
    {"Awaited", team},
    {"ExpSum", reduce},
    {"Extreme", reduce},
    {"FewMoments", reduce},
    {"Latest", scan},
    {"LogAddExp", scan},
    {"Maximum", reduce},
    {"Merged", reduce},
    {"Minimum", reduce},
    {"Moments", reduce},
    {"Multiply", reduce},
    {"Pack", vector},
    {"SortItem", sort},
    {"SortsBefore", sort},
    {"arrive_at_cluster", cluster},
    {"cholesky_block", factor},
    {"group_sources", scatter},
    {"is_aligned", tensors},
    {"launch", launching},
    {"launch_cluster", cluster},
    {"launch_team", team},
    {"load_vector", vector},
    {"lu_block", factor},
    {"narrowed", vector},
    {"qr_block", factor},
    {"random_bernoulli", random},
    {"random_bits", random},
    {"random_integer", random},
    {"random_normal", random},
    {"random_uniform", random},
    {"reduce_block", reduce},
    {"reduce_cluster", cluster},
    {"reduce_columns", reduce},
    {"reduce_columns_of", reduce},
    {"reduce_lanes", reduce},
    {"reduce_team", team},
    {"scan_block", scan},
    {"shared_row", team},
    {"sort_block", sort},
    {"sort_rows", sort},
    {"spread", launching},
    {"store_vector", vector},
    {"sum_parts", scatter},
    {"take_ticket", team},
    {"take_windows", window},
    {"triangular_block", factor},
    {"widened", vector},
});

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// A type may have others as arguments: stitch::Merged<stitch::Moments>.
void add(std::string_view name, std::set<std::string>& out) {
  constexpr std::string_view ours = "stitch::";
  for (size_t at = name.find(ours); at != name.npos; at = name.find(ours, at)) {
    at += ours.size();
    size_t end = at;
    while (end < name.size() && is_word(name[end])) ++end;
    const auto* row = std::ranges::find(table, name.substr(at, end - at), &Row::name);
    out.insert(std::string(row == table.end() ? math : row->header));
  }
}

}  // namespace

std::set<std::string> headers_of(const Block& block) {
  std::set<std::string> out;
  for (const Statement& statement : block) {
    for (const Expression& each : expressions_of(statement))
      if (!each.empty()) each.visit([&](const Expression::Node& node) { add(node.name, out); });
    if (const auto* declared = std::get_if<Declare>(&statement.what)) {
      add(declared->type.name, out);
      if (declared->storage == Declare::dynamic_shared) out.insert(std::string(team));
    }
    if (const Block* body = body_of(statement)) out.merge(headers_of(*body));
  }
  return out;
}

}  // namespace stitch::code::loops
