#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <string_view>
#include <vector>

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <accrue/kernels/simt/report.h>
#include <accrue/kernels/simt/source_line.h>

namespace accrue::simt {
namespace {

uint64_t anchor() { return reinterpret_cast<uint64_t>(&source_line); }

struct Frame {
  std::string function;
  std::string place;
};

// A name as it was written: no namespaces in brackets, no parameters, no template arguments.
std::string short_name(std::string name) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  for (size_t at; (at = name.find(kAnonymous)) != std::string::npos;) {
    name.erase(at, kAnonymous.size());
  }
  name = name.substr(0, name.find_first_of("(<"));
  return name.substr(name.rfind(' ') + 1);  // the result type of a template is part of its name
}

std::vector<Frame> frames_at(uint64_t pc) {
  Dl_info module{};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a frame is an integer
  if (dladdr(reinterpret_cast<void*>(pc), &module) == 0) return {};
  const auto base = reinterpret_cast<uint64_t>(module.dli_fbase);
  const auto* header = static_cast<const ElfW(Ehdr)*>(module.dli_fbase);
  const uint64_t address = pc - 1 - (header->e_type == ET_DYN ? base : 0);
  // dladdr() names the program itself as it was called, perhaps from another folder.
  const bool is_file = std::strchr(module.dli_fname, '/') && !std::strstr(module.dli_fname, "'");
  const std::string command = join("addr2line -e '", is_file ? module.dli_fname : "/proc/self/exe",
                                   "' -f -C -i -s 0x", std::hex, address, " 2>&1");
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return {};
  std::vector<std::string> lines;
  std::array<char, 1024> buffer;
  while (std::fgets(buffer.data(), buffer.size(), pipe)) {
    std::string line(buffer.data());
    line = line.substr(0, line.find('\n'));
    lines.push_back(line.substr(0, line.find(" (discriminator")));
  }
  pclose(pipe);
  std::vector<Frame> frames;
  for (size_t i = 0; i + 1 < lines.size(); i += 2) {
    frames.push_back({short_name(lines[i]), lines[i + 1]});
  }
  return frames;
}

}  // namespace

std::string source_line(uint64_t pc) {
  static auto& known = *new std::map<uint64_t, std::string>;
  if (const auto found = known.find(pc); found != known.end()) return found->second;
  std::string text;
  int shown = 0;
  for (const Frame& frame : frames_at(pc)) {
    const bool ours = frame.place.starts_with("vocabulary.h:") ||  // atomicAdd and the like
                      frame.place.starts_with("launch.h:");
    if (ours || shown++ == 3) continue;
    text += (text.empty() ? "" : ", from ") + frame.place + " in " + frame.function;
  }
  if (text.empty()) text = join("address 0x", std::hex, pc);
  return known[pc] = text;
}

uint32_t pack_pc(const void* pc) {
  return static_cast<uint32_t>(reinterpret_cast<uint64_t>(pc) - anchor());
}
uint64_t unpack_pc(uint32_t packed) {
  return anchor() + static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(packed)));
}

}  // namespace accrue::simt
