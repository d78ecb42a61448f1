// Tells, through its refusal, what it could see of the machine.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#define OWN_RUN
#include "program.cuh"

extern char** environ;

extern "C" int stitch_run(StitchProgram*, const StitchTensor*, int, StitchTensor*, int, void*) {
  static std::string seen;
  for (char** entry = environ; *entry; ++entry) seen += std::string(*entry) + "\n";
  for (const char* path : {"/etc/passwd", "/etc/hostname", "/root", "/home", "/tmp"})
    if (open(path, O_RDONLY) >= 0) seen += std::string("read ") + path + "\n";
  for (const char* path : {"/tmp/stitch-was-here", "/dev/shm/stitch-was-here", "/var/tmp/stitch-was-here"})
    if (open(path, O_WRONLY | O_CREAT, 0600) >= 0) seen += std::string("wrote ") + path + "\n";
  last_error = seen.c_str();
  return STITCH_UNSUPPORTED;
}
