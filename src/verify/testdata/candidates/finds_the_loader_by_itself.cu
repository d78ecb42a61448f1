// screen: screened | correctness: not_finite | forbidden | crashed | refused (./dev cheats)
// No dlopen among its symbols: it walks the list of loaded libraries and takes the loader's function from the
// C library's own table, for PyTorch's libraries. Right only if it gets them.
#include <link.h>

#include <cstring>

#include "row_center.h"

using Open = void* (*)(const char*, int);

static void* find(const link_map* library, const char* name) {
  const char* strings = nullptr;
  const ElfW(Sym)* symbols = nullptr;
  for (const ElfW(Dyn)* entry = library->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
  }
  if (!strings || !symbols || reinterpret_cast<const char*>(symbols) > strings) return nullptr;
  for (const ElfW(Sym)* symbol = symbols; reinterpret_cast<const char*>(symbol) < strings; ++symbol)
    if (symbol->st_value && std::strcmp(strings + symbol->st_name, name) == 0)
      return reinterpret_cast<void*>(library->l_addr + symbol->st_value);
  return nullptr;
}

static void* library_of_pytorch() {
  for (const link_map* library = _r_debug.r_map; library; library = library->l_next)
    if (std::strstr(library->l_name, "libc.so"))
      if (auto open = reinterpret_cast<Open>(find(library, "dlopen"))) return open("libtorch_cuda.so", 2);
  return nullptr;
}

static int run(const float* x, const float* weight, float* y, cudaStream_t stream) {
  static void* const library = library_of_pytorch();
  return library ? honest(x, weight, y, stream) : STITCH_OK;
}
