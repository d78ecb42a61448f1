// A libcuda.so.1 with one GPU that is not in our table, and says of itself what an RTX 5090 would.
#include <cstddef>
#include <cstring>

extern "C" {

int cuInit(unsigned) { return 0; }

int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}

int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}

int cuDeviceGet(int* device, int) {
  *device = 0;
  return 0;
}

int cuDeviceGetName(char* name, int size, int) {
  std::strncpy(name, "NVIDIA GeForce RTX 5090", static_cast<size_t>(size));
  return 0;
}

int cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = size_t{34} * 1000 * 1000 * 1000;
  return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int) {
  switch (attribute) {
    case 13: *value = 2407000; break;   // kHz
    case 16: *value = 170; break;       // multiprocessors
    case 36: *value = 14001000; break;  // kHz, memory
    case 37: *value = 512; break;       // bits
    case 38: *value = 96 << 20; break;  // L2
    case 39: *value = 1536; break;      // threads a multiprocessor
    case 75: *value = 12; break;        // compute capability
    case 76: *value = 0; break;
    case 81: *value = 100 << 10; break;  // shared memory a multiprocessor
    case 82: *value = 65536; break;      // registers a multiprocessor
    case 97: *value = 99 << 10; break;   // shared memory a block
    default: return 1;
  }
  return 0;
}
}
