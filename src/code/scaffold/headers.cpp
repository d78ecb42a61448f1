// regions.h and settings.h.
#include "base/text.h"
#include "code/names.h"
#include "code/scaffold/scaffold.h"

namespace stitch::code {

std::string settings_header(const ProgramParts& parts) {
  std::string out =
      "// Numbers that stitch_set may change before the program is created; manifest.cu has their "
      "values.\n#pragma once\n\n#include \"stitch/runtime/settings.h\"\n\nnamespace settings {\n";
  for (const RegionCode& region : parts.regions)
    for (const Setting& setting : region.settings)
      out += format("extern stitch::Setting {};\n", setting.variable);
  if (parts.offers_programmatic_launches())
    out += format("extern stitch::Setting {};\n", programmatic_launches);
  return out + "}  // namespace settings\n";
}

std::string region_header(const ProgramParts& parts) {
  std::string out =
      "// What program.cu calls, region by region. Shapes are the program's own: it is built for these.\n"
      "#pragma once\n\n";
  std::set<DType> dtypes;
  std::set<std::string> includes = {"#include \"stitch/runtime/errors.h\""};
  for (size_t r = 0; r < parts.regions.size(); ++r) {
    const RegionCode& region = parts.regions[r];
    dtypes.insert(parts.dtypes[r].begin(), parts.dtypes[r].end());
    // Types of members and of packed memory.
    if (region.members.empty() && region.packed.empty()) continue;
    for (const std::string& line : split(region.includes, '\n'))
      if (!line.empty()) includes.insert(line);
  }
  if (parts.uses("cublasLt")) includes.insert("#include \"stitch/runtime/cublaslt.h\"");
  if (parts.uses("cudnn")) includes.insert("#include \"stitch/runtime/cudnn.h\"");
  out += cuda_includes(dtypes) + "#include <cstdint>\n\n";
  for (const std::string& line : includes) out += line + "\n";
  if (parts.takes_sizes()) out += "\n#include \"sizes.h\"\n";
  for (const RegionCode& region : parts.regions)
    if (!region.declaration.empty()) out += "\n" + region.declaration;
  return out;
}

}  // namespace stitch::code
