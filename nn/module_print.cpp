// Prints a module as PyTorch does.
#include <cstdlib>
#include <ostream>
#include <typeinfo>

#include <cxxabi.h>

#include <accrue/nn/module.h>

namespace accrue::nn {
namespace {

// "Linear" of accrue::nn::Linear, "ModuleList" of accrue::nn::ModuleList<...>.
std::string short_type_name(const Module& module) {
  const char* mangled = typeid(module).name();
  const std::unique_ptr<char, void (*)(void*)> readable(
      abi::__cxa_demangle(mangled, nullptr, nullptr, nullptr), std::free);
  std::string name = readable ? readable.get() : mangled;
  name = name.substr(0, name.find('<'));
  const size_t colon = name.rfind(':');
  return colon == std::string::npos ? name : name.substr(colon + 1);
}

void print(std::ostream& out, const Module& module, const std::string& indent) {
  out << short_type_name(module) << '(';
  const std::string extra = module.extra_repr();
  if (module.children().empty()) {
    out << extra << ')';
    return;
  }
  if (!extra.empty()) out << '\n' << indent << "  " << extra;
  for (const auto& [name, child] : module.children()) {
    out << '\n' << indent << "  (" << name << "): ";
    print(out, *child, indent + "  ");
  }
  out << '\n' << indent << ')';
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Module& module) {
  print(out, module, "");
  return out;
}

}  // namespace accrue::nn
