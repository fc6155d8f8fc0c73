#include <map>

#include <link.h>

#include <accrue/kernels/simt/image.h>

namespace accrue::simt {

const Image& Image::of(const void* function) {
  static auto& known = *new std::map<const void*, Image>;
  if (const auto found = known.find(function); found != known.end()) return found->second;
  struct Search {
    const void* function;
    Image image;
  } search{function, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        bool here = false;
        std::vector<Range> constants;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& part = info->dlpi_phdr[i];
          // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader counts in integers
          const auto* begin = reinterpret_cast<const char*>(info->dlpi_addr + part.p_vaddr);
          const char* end = begin + part.p_memsz;
          const bool loaded = part.p_type == PT_LOAD;
          here |= loaded && wanted.function >= begin && wanted.function < end;
          const bool read_only = loaded && (part.p_flags & PF_W) == 0;
          if (read_only || part.p_type == PT_GNU_RELRO) constants.push_back({begin, end});
        }
        if (here) wanted.image.ranges_ = constants;
        return here ? 1 : 0;
      },
      &search);
  return known[function] = search.image;
}

}  // namespace accrue::simt
