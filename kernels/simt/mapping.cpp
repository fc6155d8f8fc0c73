#include <stdexcept>

#include <sys/mman.h>

#include <accrue/kernels/simt/mapping.h>
#include <accrue/kernels/simt/report.h>

namespace accrue::simt {

void* map_pages(size_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) {
    throw std::runtime_error(join("simt: the system has no ", bytes, " bytes of address space"));
  }
  return pages;
}

void unmap_pages(void* pages, size_t bytes) { munmap(pages, bytes); }

}  // namespace accrue::simt
