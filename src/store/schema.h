// The tables of the store's file.
#pragma once

#include "store/database.h"

namespace stitch::store {

// Events are authoritative; a run's row holds its listing, so that listings need no events.
inline constexpr Schema schema{.application = 0x53544348,  // "STCH"
                               .version = 1,
                               .tables = R"sql(
CREATE TABLE runs (
  number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, origin TEXT NOT NULL, started TEXT NOT NULL,
  state TEXT NOT NULL, process TEXT NOT NULL,
  task TEXT NOT NULL, graph TEXT NOT NULL, numerics TEXT NOT NULL, gpu TEXT NOT NULL, device TEXT NOT NULL,
  brains TEXT NOT NULL, options TEXT NOT NULL, version TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0, kept INTEGER NOT NULL DEFAULT 0, seconds_a_call REAL NOT NULL DEFAULT 0,
  elapsed REAL NOT NULL DEFAULT 0, measured INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE events (
  run INTEGER NOT NULL, sequence INTEGER NOT NULL, elapsed REAL NOT NULL, written TEXT NOT NULL,
  kind TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (run, sequence)
) WITHOUT ROWID;
CREATE TABLE blobs (hash TEXT PRIMARY KEY, size INTEGER NOT NULL, zlib INTEGER NOT NULL, bytes BLOB NOT NULL);
CREATE TABLE uses (run INTEGER NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (run, hash)) WITHOUT ROWID;
CREATE INDEX uses_by_hash ON uses (hash);
CREATE TABLE observations (
  row INTEGER PRIMARY KEY AUTOINCREMENT, origin TEXT NOT NULL, number INTEGER NOT NULL, scope TEXT NOT NULL,
  signature TEXT NOT NULL, machine TEXT NOT NULL, numerics TEXT NOT NULL, version TEXT NOT NULL,
  technique TEXT NOT NULL, knobs TEXT NOT NULL, outcome TEXT NOT NULL, why TEXT NOT NULL,
  measured INTEGER NOT NULL, predicted_gain REAL NOT NULL, before REAL, after REAL, tries INTEGER NOT NULL,
  among INTEGER NOT NULL, date TEXT NOT NULL, document TEXT NOT NULL, UNIQUE (origin, number)
);
CREATE INDEX observations_by_kind ON observations (scope, signature, machine, numerics);
)sql"};

// Of a run, or of the memory (0); within a transaction.
Result<void> keep_blob(const Database& database, int64_t owner, const std::string& text);
// Unreferenced ones.
Result<void> sweep_blobs(const Database& database);

}  // namespace stitch::store
