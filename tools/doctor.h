// `accrue doctor`: what this build is and what this machine gives it.
#pragma once
#include <iosfwd>

namespace accrue::tools {

void print_doctor(std::ostream& out);

}  // namespace accrue::tools
