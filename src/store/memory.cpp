#include "store/memory.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "store/database.h"
#include "store/schema.h"

namespace stitch::store {

namespace {

constexpr std::array<std::string_view, 4> scope_names = {"region", "step", "program", "kernel"};
constexpr const char* columns =
    "origin, number, scope, signature, machine, numerics, version, technique, knobs, outcome, why, measured, "
    "predicted_gain, before, after, tries, among, date, document";

const char* document_key(Scope scope) { return scope == Scope::kernel ? "kernel" : "plan"; }

std::optional<Scope> parse_scope(std::string_view text) {
  for (size_t i = 0; i < scope_names.size(); ++i)
    if (text == scope_names[i]) return static_cast<Scope>(i);
  return std::nullopt;
}

std::optional<double> maybe(const Statement& row, int column) {
  return row.is_null(column) ? std::nullopt : std::optional(row.number(column));
}

// The document still by its hash.
Observation observation_of(const Statement& row) {
  return {.origin = row.text(0),
          .number = row.integer(1),
          .scope = parse_scope(row.text(2)).value_or(Scope::step),
          .signature = row.text(3),
          .machine = row.text(4),
          .numerics = row.text(5),
          .version = row.text(6),
          .technique = row.text(7),
          .knobs = row.text(8),
          .outcome = row.text(9),
          .why = row.text(10),
          .measured = row.integer(11) != 0,
          .predicted_gain = row.number(12),
          .before = maybe(row, 13),
          .after = maybe(row, 14),
          .tries = static_cast<int>(row.integer(15)),
          .among = static_cast<int>(row.integer(16)),
          .when = row.text(17),
          .document = row.text(18)};
}

Result<std::vector<Observation>> observations_of(Statement& query, const RunStore& store) {
  std::vector<Observation> out;
  for (;;) {
    STITCH_TRY(bool found, query.step());
    if (!found) break;
    out.push_back(observation_of(query));
  }
  for (Observation& one : out)
    if (!one.document.empty()) {
      STITCH_TRY(one.document, store.blob(one.document));
    }
  return out;
}

// False: it was known.
Result<bool> insert(const Database& database, Statement& statement, Statement& changes,
                    const Observation& one) {
  std::string document;
  if (!one.document.empty()) {
    STITCH_CHECK(keep_blob(database, 0, one.document));
    document = blob_hash(one.document);
  }
  STITCH_CHECK(statement
                   .bind(one.origin, one.number, name(one.scope), one.signature, one.machine, one.numerics,
                         one.version, one.technique, one.knobs, one.outcome, one.why, one.measured,
                         one.predicted_gain, one.before, one.after, one.tries, one.among, one.when, document)
                   .run());
  STITCH_CHECK(changes.bind().step());
  return changes.integer(0) > 0;
}

Result<Memory::Merged> insert_all(const Database& database, const std::vector<Observation>& observations) {
  Memory::Merged out;
  auto done = database.transaction([&]() -> Result<void> {
    STITCH_TRY(
        Statement statement,
        database.prepare(format("INSERT OR IGNORE INTO observations ({}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, "
                                "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                                columns)
                             .c_str()));
    STITCH_TRY(Statement changes, database.prepare("SELECT changes()"));
    for (const Observation& one : observations) {
      STITCH_TRY(bool added, insert(database, statement, changes, one));
      ++(added ? out.added : out.known);
    }
    return {};
  });
  STITCH_CHECK(std::move(done));
  return out;
}

Error not_one(const char* key) {
  return user_error("memory", format("not an observation: '{}' is missing or has another type", key));
}

}  // namespace

std::string_view name(Scope scope) { return scope_names[static_cast<size_t>(scope)]; }

Result<void> Memory::remember(const std::vector<Observation>& observations) {
  STITCH_CHECK(insert_all(store_.database(), observations));
  return {};
}

Result<int64_t> Memory::last() const {
  STITCH_TRY(Statement query, store_.database().prepare("SELECT coalesce(max(row), 0) FROM observations"));
  STITCH_CHECK(query.step());
  return query.integer(0);
}

Result<std::vector<Observation>> Memory::recall(Scope scope, const std::string& signature,
                                                const std::string& machine, const std::string& numerics,
                                                int64_t until) const {
  STITCH_TRY(Statement query, store_.database().prepare(
                                  format("SELECT {} FROM observations WHERE scope = ? AND signature = ? AND "
                                         "machine = ? AND numerics = ? AND row <= ? ORDER BY row",
                                         columns)
                                      .c_str()));
  query.bind(name(scope), signature, machine, numerics, until);
  return observations_of(query, store_);
}

Result<std::vector<Observation>> Memory::all() const {
  STITCH_TRY(Statement query,
             store_.database().prepare(format("SELECT {} FROM observations ORDER BY row", columns).c_str()));
  return observations_of(query, store_);
}

Result<int64_t> Memory::write_lines(const std::function<void(std::string_view)>& line) const {
  STITCH_TRY(std::vector<Observation> observations, all());
  for (const Observation& one : observations) line(line_text(to_json(one)));
  return static_cast<int64_t>(observations.size());
}

Result<Memory::Merged> Memory::merge(std::string_view lines) {
  std::vector<Observation> observations;
  int number = 0;
  for (const std::string& line : split(lines, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    auto read = [&]() -> Result<Observation> {
      STITCH_TRY(Json json, parse_json(line));
      return read_observation(json);
    }();
    if (!read) return at(format("line {}", number), user_error("memory", read.error().message));
    observations.push_back(*std::move(read));
  }
  return insert_all(store_.database(), observations);
}

Result<int64_t> Memory::forget(const std::string& signature) {
  int64_t forgotten = 0;
  const Database& database = store_.database();
  auto done = database.transaction([&]() -> Result<void> {
    STITCH_TRY(
        Statement statement,
        database.prepare("DELETE FROM observations WHERE ?1 = '' OR substr(signature, 1, length(?1)) = ?1"));
    STITCH_CHECK(statement.bind(signature).run());
    STITCH_TRY(Statement changes, database.prepare("SELECT changes()"));
    STITCH_CHECK(changes.step());
    forgotten = changes.integer(0);
    STITCH_CHECK(database.execute(
        "DELETE FROM uses WHERE run = 0 AND hash NOT IN (SELECT document FROM observations)"));
    return sweep_blobs(database);
  });
  STITCH_CHECK(std::move(done));
  return forgotten;
}

Json to_json(const Observation& one) {
  Json json = {{"origin", one.origin},     {"number", one.number},
               {"scope", name(one.scope)}, {"signature", one.signature},
               {"machine", one.machine},   {"numerics", one.numerics},
               {"version", one.version},   {"technique", one.technique},
               {"knobs", one.knobs},       {"outcome", one.outcome},
               {"why", one.why},           {"measured", one.measured},
               {"tries", one.tries},       {"predicted_gain_seconds", one.predicted_gain},
               {"among", one.among},       {"date", one.when}};
  if (one.before) json["before_seconds"] = *one.before;
  if (one.after) json["after_seconds"] = *one.after;
  if (!one.document.empty()) json[document_key(one.scope)] = one.document;
  return json;
}

Result<Observation> read_observation(const Json& json) {
  if (!json.is_object()) return user_error("memory", "not an observation: expected an object");
  Observation out;
  for (auto [key, text] : {std::pair{"origin", &out.origin},
                           {"signature", &out.signature},
                           {"machine", &out.machine},
                           {"numerics", &out.numerics},
                           {"version", &out.version},
                           {"technique", &out.technique},
                           {"knobs", &out.knobs},
                           {"outcome", &out.outcome},
                           {"why", &out.why},
                           {"date", &out.when}}) {
    auto found = json.find(key);
    if (found == json.end() || !found->is_string()) return not_one(key);
    *text = found->get<std::string>();
  }
  auto whole = [&](const char* key) -> std::optional<int64_t> {
    auto found = json.find(key);
    return found != json.end() && found->is_number_integer() ? std::optional(found->get<int64_t>())
                                                             : std::nullopt;
  };
  auto number = [&](const char* key) -> std::optional<double> {
    auto found = json.find(key);
    return found != json.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
  };
  const auto scope = parse_scope(word(json, "scope"));
  if (!scope) return not_one("scope");
  if (!whole("number")) return not_one("number");
  auto measured = json.find("measured");
  if (measured == json.end() || !measured->is_boolean()) return not_one("measured");
  out.scope = *scope;
  out.number = *whole("number");
  out.measured = measured->get<bool>();
  out.tries = static_cast<int>(whole("tries").value_or(0));
  out.among = static_cast<int>(whole("among").value_or(1));
  out.predicted_gain = number("predicted_gain_seconds").value_or(0);
  out.before = number("before_seconds");
  out.after = number("after_seconds");
  out.document = word(json, document_key(out.scope));
  return out;
}

}  // namespace stitch::store
