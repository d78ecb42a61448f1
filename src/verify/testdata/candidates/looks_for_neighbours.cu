// correctness: not_finite (./dev cheats)
// Looks for another process of the runner's, which waits for a candidate or holds one, and for a way into its
// memory. Right only if there is one.
#include <dirent.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "row_center.h"

static bool is_open(int process) {
  FILE* file = fopen(("/proc/" + std::to_string(process) + "/mem").c_str(), "r+b");
  if (file) fclose(file);
  return file != nullptr;
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  bool found = false;
  if (DIR* folder = opendir("/proc")) {
    while (const dirent* entry = readdir(folder)) {
      const int process = atoi(entry->d_name);
      if (process > 1 && process != getpid()) found = found || is_open(process);
    }
    closedir(folder);
  }
  return found ? honest(x, weight, y, stream) : STITCH_OK;
}
