// Zeroed pages from the system, which cost nothing until they are touched.
#pragma once
#include <cstddef>

namespace accrue::simt {

// Throws std::runtime_error if the system gives none.
void* map_pages(size_t bytes);
void unmap_pages(void* pages, size_t bytes);

}  // namespace accrue::simt
