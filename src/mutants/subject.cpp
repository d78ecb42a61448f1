#include "mutants/subject.h"

#include <algorithm>
#include <map>
#include <random>

#include "base/digest/sha256.h"
#include "base/text.h"
#include "code/catalogue.h"
#include "code/write_program.h"
#include "plan/steps.h"
#include "program/package.h"

namespace stitch::mutants {

namespace {

// Moves regions/x.cu to region_x.cu, in names and in the manifest.
void bring_up_regions(PackageContents& contents) {
  constexpr std::string_view folder = "regions/", prefix = "region_";
  std::map<std::string, std::string> sources;
  for (auto& [path, text] : contents.sources) {
    if (path == "manifest.cu")
      for (size_t at = 0; (at = text.find(folder, at)) != text.npos; at += prefix.size())
        text.replace(at, folder.size(), prefix);
    sources[path.starts_with(folder) ? std::string(prefix) + path.substr(folder.size()) : path] =
        std::move(text);
  }
  contents.sources = std::move(sources);
  for (ManifestRegion& region : contents.manifest.regions)
    if (region.file.starts_with(folder))
      region.file = std::string(prefix) + region.file.substr(folder.size());
}

Result<void> add_sites(const fs::path& folder, const fs::path& file, std::vector<Site>& out) {
  STITCH_TRY(std::string source, read_file(file));
  const std::string shown = file.lexically_relative(folder).generic_string();
  // The per-region checks at the end aren't part of what the program computes.
  const size_t checks = source.find("int stitch_run_region(");
  for (Mutation& mutation : mutations_of(source)) {
    if (mutation.begin > checks) continue;
    Sha256 sum;
    sum.add_field(shown);
    sum.add_field(format("{} {}", mutation.begin, mutation.end));
    sum.add_field(mutation.text);
    Change change = change_of(source, mutation);
    out.push_back({shown, std::move(mutation), std::move(change), sum.hex().substr(0, 12)});
  }
  return {};
}

Result<std::vector<fs::path>> files_in(const fs::path& folder, std::string_view extension) {
  std::vector<fs::path> out;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed))
    if (entry.path().extension() == extension) out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

// Much of a header is never instantiated; mistakes there have no effect on this program.
constexpr int own_for_one_shared = 4;

// Independent of the standard library's shuffle.
std::vector<size_t> shuffled(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<size_t> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = i;
  for (size_t i = count; i > 1; --i) std::swap(out[i - 1], out[random() % i]);
  return out;
}

}  // namespace

std::string_view name(Variant variant) { return variant == Variant::plain ? "plain" : "optimised"; }

std::string Subject::name() const {
  const bool plain_folder = task.stem() == "graph" && task.has_parent_path();
  const std::string model = (plain_folder ? task.parent_path() : task).stem().string();
  return model + (variant == Variant::plain ? " (plain)" : "");
}

Result<void> write_subject(const Task& task, Variant variant, const GpuSpec& gpu, Numerics numerics,
                           const fs::path& folder) {
  plan::Context context(task.graph, gpu, numerics);
  auto wanted = [&](const plan::StepRule& rule) { return variant == Variant::optimised && !rule.rounds; };
  STITCH_TRY(plan::Plan plan, plan::plan_of_steps(context, code::catalogue(), wanted));
  STITCH_TRY(PackageContents contents, code::write_program(context, plan));
  bring_up_regions(contents);
  STITCH_TRY(Published published, write_package(folder, contents));
  return {};
}

Result<Sites> sites_of(const fs::path& folder) {
  Sites out;
  STITCH_TRY(std::vector<fs::path> sources, files_in(folder, ".cu"));
  for (const fs::path& file : sources)
    if (file.filename() != "manifest.cu") STITCH_CHECK(add_sites(folder, file, out.own));
  STITCH_TRY(std::vector<fs::path> headers, files_in(folder / "include/stitch/kernels", ".h"));
  for (const fs::path& file : headers) STITCH_CHECK(add_sites(folder, file, out.shared));
  return out;
}

std::vector<Site> sample(const Sites& sites, size_t count, uint64_t seed) {
  std::map<Kind, std::vector<const Site*>> by_kind;
  for (Kind kind : all_kinds) {
    auto of_kind = [&](const std::vector<Site>& from, uint64_t salt) {
      std::vector<const Site*> found, mixed;
      for (const Site& site : from)
        if (site.mutation.kind == kind) found.push_back(&site);
      for (size_t i : shuffled(found.size(), seed * 64 + static_cast<uint64_t>(kind) * 2 + salt))
        mixed.push_back(found[i]);
      return mixed;
    };
    const std::vector<const Site*> own = of_kind(sites.own, 0), shared = of_kind(sites.shared, 1);
    std::vector<const Site*>& list = by_kind[kind];
    for (size_t a = 0, b = 0; a < own.size() || b < shared.size();) {
      for (int i = 0; i < own_for_one_shared && a < own.size(); ++i) list.push_back(own[a++]);
      if (b < shared.size()) list.push_back(shared[b++]);
    }
  }
  std::vector<Site> out;
  for (size_t turn = 0; out.size() < count; ++turn) {
    const size_t before = out.size();
    for (Kind kind : all_kinds)
      if (turn < by_kind[kind].size() && out.size() < count) out.push_back(*by_kind[kind][turn]);
    if (out.size() == before) break;
  }
  return out;
}

}  // namespace stitch::mutants
