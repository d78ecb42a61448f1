// The key that this installation signs its receipts with.
#pragma once

#include <optional>
#include <string>

#include "base/digest/ed25519.h"
#include "base/file.h"

namespace stitch::verifier {

// $STITCHCUDA_STATE, $XDG_STATE_HOME/stitchcuda or ~/.local/state/stitchcuda: receipt.key (mode 0600) and
// receipt.pub, its public half.
fs::path signing_key_folder();

// The secret half, made on first use. Refused if others on this machine may read it.
Result<KeyBytes> signing_key();

// Its public half, if there is one yet.
Result<std::optional<KeyBytes>> own_public_key();

// A public key: 64 hexadecimal digits, or a file that holds them.
Result<KeyBytes> read_public_key(const std::string& text);

}  // namespace stitch::verifier
