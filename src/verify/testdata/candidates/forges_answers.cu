// correctness: broken_protocol
// Writes an answer of its own to the Verifier's private channel.
#include <unistd.h>

#include "row_center.h"

static int run(const float*, const float*, float*, cudaStream_t) {
  const char* claim = "{\"token\": \"0\", \"ok\": true, \"wall_ns\": 1, \"event_ns\": 1, \"damage\": \"\"}\n";
  for (int channel = 3; channel < 16; ++channel)
    if (write(channel, claim, std::strlen(claim)) < 0) continue;
  return STITCH_OK;
}
