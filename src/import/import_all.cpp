#include "import/import_all.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "base/contained.h"
#include "base/error_codes.h"
#include "base/machine/parallel.h"

namespace stitch {

namespace {

// 2_B before 10_A: runs of digits compare as numbers.
bool natural_less(std::string_view a, std::string_view b) {
  size_t i = 0, j = 0;
  auto number = [](std::string_view text, size_t& at) {
    size_t value = 0;
    for (; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])); ++at)
      value = value * 10 + static_cast<size_t>(text[at] - '0');
    return value;
  };
  while (i < a.size() && j < b.size()) {
    if (std::isdigit(static_cast<unsigned char>(a[i])) && std::isdigit(static_cast<unsigned char>(b[j]))) {
      size_t x = number(a, i), y = number(b, j);
      if (x != y) return x < y;
    } else if (a[i] != b[j]) {
      return a[i] < b[j];
    } else {
      ++i, ++j;
    }
  }
  return a.size() - i < b.size() - j;
}

class Worker {
 public:
  Worker(Exporter exporter, std::string python)
      : exporter_(std::move(exporter)), python_(std::move(python)) {}

  ImportOutcome run(const ImportRequest& request) {
    ImportOutcome outcome{.task = request.task, .out = request.out};
    if (!exporter_) restart();
    if (!exporter_) {
      outcome.error = *failure_;
      return outcome;
    }
    auto imported = contained([&] { return import_task(*exporter_, request); });
    if (imported) {
      outcome.facts = imported->facts;
      outcome.aten_nodes = imported->aten_nodes;
      outcome.nodes = imported->graph.nodes.size();
      outcome.seconds = imported->seconds;
    } else {
      outcome.error = imported.error();
    }
    if (outcome.error && outcome.error->code == error_code::exporter) exporter_.reset();
    return outcome;
  }

 private:
  void restart() {
    auto exporter = Exporter::start(python_);
    if (exporter)
      exporter_.emplace(*std::move(exporter));
    else
      failure_ = exporter.error();
  }

  std::optional<Exporter> exporter_;
  std::optional<Error> failure_;
  std::string python_;
};

}  // namespace

Result<std::vector<fs::path>> find_tasks(const fs::path& folder) {
  std::error_code ec;
  if (!fs::is_directory(folder, ec))
    return at(folder.string(), user_error("no_folder", "there is no such folder"));
  std::vector<fs::path> tasks;
  for (auto it = fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, ec);
       !ec && it != fs::end(it); it.increment(ec)) {
    std::string name = it->path().filename().string();
    if (name.starts_with(".") || name.starts_with("__")) {
      if (it->is_directory(ec)) it.disable_recursion_pending();
      continue;
    }
    if (it->is_regular_file(ec) && it->path().extension() == ".py") tasks.push_back(it->path());
  }
  std::ranges::sort(
      tasks, [](const fs::path& a, const fs::path& b) { return natural_less(a.string(), b.string()); });
  if (tasks.empty()) return at(folder.string(), user_error("no_tasks", "no .py file below this folder"));
  return tasks;
}

Result<std::vector<ImportOutcome>> import_all(const std::vector<ImportRequest>& requests, int jobs,
                                              const std::string& python, const OnImported& on_imported) {
  if (jobs <= 0) jobs = core_count();
  jobs = static_cast<int>(std::min<size_t>(static_cast<size_t>(jobs), std::max<size_t>(requests.size(), 1)));
  STITCH_TRY(Exporter first, Exporter::start(python));

  std::vector<ImportOutcome> outcomes(requests.size());
  std::atomic<size_t> next = 0;
  std::mutex lock;
  auto work = [&](std::optional<Exporter> exporter) {
    if (!exporter) {
      auto started = Exporter::start(python);
      if (!started) return;  // the first one carries on alone
      exporter.emplace(*std::move(started));
    }
    Worker worker(*std::move(exporter), python);
    for (size_t i; (i = next++) < requests.size();) {
      outcomes[i] = worker.run(requests[i]);
      std::lock_guard hold(lock);
      if (on_imported) on_imported(outcomes[i]);
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 1; i < jobs; ++i) threads.emplace_back(work, std::nullopt);
  work(std::move(first));
  threads.clear();
  return outcomes;
}

}  // namespace stitch
