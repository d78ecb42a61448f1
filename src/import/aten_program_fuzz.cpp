// Any text as aten.json: refused, or read; and lowered, or refused. Bugs found while lowering are
// those of an exporter that contradicts itself, which only this file can be.
#include <cstdint>
#include <string_view>

#include "import/aten_program.h"
#include "import/lowering.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto program = stitch::read_aten({reinterpret_cast<const char*>(data), size});
  if (!program) return 0;
  try {
    (void)stitch::lower(*program);
  } catch (const stitch::Bug&) {
  }
  return 0;
}
