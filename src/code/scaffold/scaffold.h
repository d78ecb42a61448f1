// program.cu and its headers as text. Lines may be too long: they are folded at the end.
#pragma once

#include "code/program_parts.h"

namespace stitch::code {

std::string scaffold(const ProgramParts& parts);
// regions.h: what the scaffold calls.
std::string region_header(const ProgramParts& parts);
// settings.h: the numbers that stitch_set may change.
std::string settings_header(const ProgramParts& parts);
// sizes.h: the sizes of a program for ranges.
std::string sizes_header(const Instances& instances);

}  // namespace stitch::code
