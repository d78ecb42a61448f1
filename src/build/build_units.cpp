#include "build/build_units.h"

#include <elf.h>
#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <set>

#include "base/digest/elf.h"
#include "base/digest/sha256.h"
#include "base/machine/parallel.h"
#include "base/text.h"

namespace stitch::build {

namespace {

// nvcc 13.0, mobilenet_v2's 61 regions: 1.6 s of CPU time for a unit's headers and 0.14 s per source; the
// scaffold alone takes 8 s. So units are few: more of them occupy cores without finishing earlier.
constexpr size_t most_sources = 32, worth_a_unit = 6;
// Units remembered per source: after a rollback an older one is needed.
constexpr size_t most_known = 4;

std::string unit_key(std::string_view kind, const std::vector<std::string>& keys) {
  Sha256 sum;
  sum.add_field(kind);
  for (const std::string& key : keys) sum.add_field(key);
  return sum.hex();
}

std::string unit_key(const std::vector<std::string>& members) {
  return members.size() == 1 ? members[0] : unit_key("unit", members);
}

std::string note_of(const std::string& key) { return unit_key("unit of", {key}); }

class Arranger {
 public:
  Arranger(const BuildRequest& request, const std::vector<std::string>& keys, const ObjectCache& objects)
      : request_(request), keys_(keys), objects_(objects) {}

  Result<std::vector<Unit>> arrange() {
    std::set<fs::path> shareable(request_.shareable.begin(), request_.shareable.end());
    for (size_t i = 0; i < keys_.size(); ++i) {
      // A source listed twice is compiled twice; the linker reports it.
      if (shareable.contains(request_.sources[i]) && by_key_.emplace(keys_[i], i).second)
        open_.insert(i);
      else
        units_.push_back({{i}, keys_[i]});
    }
    use_again();
    STITCH_CHECK(share_rest());
    return std::move(units_);
  }

 private:
  // Large units first: after a rollback, small remainders would prevent reusing the whole unit.
  void use_again() {
    std::set<std::string> known;
    for (const auto& [key, index] : by_key_)
      for (std::string& unit : split(objects_.cache().recall(note_of(key)).value_or(""), '\n'))
        known.insert(std::move(unit));
    std::vector<std::vector<std::string>> units;
    for (const std::string& unit : known) units.push_back(split(unit, ' '));
    std::ranges::stable_sort(units, std::greater{}, &std::vector<std::string>::size);
    for (const auto& members : units) use_again(members);
  }

  void use_again(const std::vector<std::string>& members) {
    Unit unit{{}, unit_key(members)};
    for (const std::string& member : members)
      if (auto found = by_key_.find(member); found != by_key_.end() && open_.contains(found->second))
        unit.sources.push_back(found->second);
    if (unit.sources.size() != members.size() || !objects_.find(unit.key)) return;
    for (size_t taken : unit.sources) open_.erase(taken);
    units_.push_back(std::move(unit));
  }

  // Neighbours have the same #include lines, so a unit reads few headers, and the regions changed by one step
  // of the Planner tend to be neighbours.
  Result<void> share_rest() {
    struct Source {
      std::string includes;
      size_t index = 0, bytes = 0;
    };
    std::vector<Source> rest;
    size_t bytes = 0;
    for (size_t index : open_) {
      STITCH_TRY(std::string text, read_file(request_.sources[index]));
      Source source{"", index, text.size()};
      for (const std::string& line : split(text, '\n'))
        if (line.starts_with("#include")) source.includes += line + '\n';
      bytes += text.size();
      rest.push_back(std::move(source));
    }
    std::stable_sort(rest.begin(), rest.end(),
                     [](const Source& a, const Source& b) { return a.includes < b.includes; });
    auto pieces = [&](size_t size) { return (rest.size() + size - 1) / size; };
    const auto wanted = request_.units > 0 ? static_cast<size_t>(request_.units)
                                           : std::min(static_cast<size_t>(std::max(2, thread_count() / 2)),
                                                      pieces(worth_a_unit));
    const size_t units = std::max(pieces(most_sources), std::min(wanted, rest.size()));
    size_t at = 0;
    for (size_t left = units; left > 0 && at < rest.size(); --left) {
      Unit unit;
      std::vector<std::string> members;
      const size_t share = bytes / left;
      size_t own = 0;
      while (at < rest.size() && members.size() < most_sources && rest.size() - at >= left &&
             (members.empty() || left == 1 || own + rest[at].bytes / 2 <= share)) {
        unit.sources.push_back(rest[at].index);
        members.push_back(keys_[rest[at].index]);
        own += rest[at++].bytes;
      }
      bytes -= own;
      unit.key = unit_key(members);
      units_.push_back(std::move(unit));
      if (left == 1 && at < rest.size()) ++left;  // full units came before their share was reached
    }
    return {};
  }

  const BuildRequest& request_;
  const std::vector<std::string>& keys_;
  const ObjectCache& objects_;
  std::map<std::string, size_t> by_key_;
  std::set<size_t> open_;  // shareable, in no unit yet
  std::vector<Unit> units_;
};

}  // namespace

Result<std::vector<Unit>> arrange_units(const BuildRequest& request, const std::vector<std::string>& keys,
                                        const ObjectCache& objects) {
  return Arranger(request, keys, objects).arrange();
}

void remember_unit(const Unit& unit, const std::vector<std::string>& keys, const BuildCache& cache) {
  std::vector<std::string> members;
  for (size_t index : unit.sources) members.push_back(keys[index]);
  const std::string line = join(members, " ");
  for (const std::string& key : members) {
    std::vector<std::string> known = split(cache.recall(note_of(key)).value_or(""), '\n');
    std::erase(known, line);
    known.insert(known.begin(), line);
    known.resize(std::min(known.size(), most_known));
    cache.remember(note_of(key), join(known, "\n"));
  }
}

Result<fs::path> write_unit(const Unit& unit, const BuildRequest& request, const fs::path& scratch) {
  if (unit.sources.size() == 1) return request.sources[unit.sources[0]];
  std::string text;
  // Their folder is an include folder; an absolute path would escape the emulated compiler's mirror.
  for (size_t index : unit.sources)
    text += format("#include \"{}\"\n", request.sources[index].filename().string());
  fs::path file = scratch / format("unit_{}.cu", unit.key.substr(0, 16));
  STITCH_CHECK(write_file(file, text));
  return file;
}

ObjectSymbols symbols_of(const fs::path& object) {
  ObjectSymbols out;
  const auto file = ElfFile::open(object);
  if (!file) return out;
  for (const ElfSection& table : file->sections()) {
    if (table.type != SHT_SYMTAB || table.link >= file->sections().size()) continue;
    const std::string_view names = file->sections()[table.link].bytes;
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= table.bytes.size(); at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, table.bytes.data() + at, sizeof symbol);
      if (symbol.st_name == 0 || symbol.st_name >= names.size() || ELF64_ST_BIND(symbol.st_info) == STB_LOCAL)
        continue;
      const std::string_view name = names.substr(symbol.st_name);
      (symbol.st_shndx == SHN_UNDEF ? out.wanted : out.offered).emplace(name.substr(0, name.find('\0')));
    }
  }
  return out;
}

}  // namespace stitch::build
