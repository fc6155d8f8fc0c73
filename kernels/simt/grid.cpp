#include <cstring>
#include <numeric>

#include <accrue/kernels/simt/block.h>
#include <accrue/kernels/simt/executor.h>
#include <accrue/kernels/simt/grid.h>
#include <accrue/kernels/simt/memory.h>

namespace accrue::simt {
namespace {
uint32_t last_serial = 0;  // blocks run so far, in all launches
}  // namespace

Grid::Grid(const Launch& launch, Call& call, int device)
    : launch_(launch),
      call_(call),
      device_(device),
      dice_(executor().schedule.seed + executor().counts.launches),
      image_(Image::of(launch.function)),
      blocks_(size_t{launch.grid.x} * launch.grid.y * launch.grid.z),
      first_serial_(last_serial + 1) {
  // i -> i * step + shift meets each block once if step and their number have no common factor.
  if (executor().schedule.order == Order::random && blocks_ > 1) {
    do step_ = 1 + dice_.roll(blocks_);
    while (std::gcd(step_, blocks_) != 1);
    shift_ = dice_.roll(blocks_);
  }
}

uint3 Grid::block_of(uint32_t serial) const {
  size_t i = serial - first_serial_;
  if (executor().schedule.order == Order::reverse) i = blocks_ - 1 - i;
  const size_t number = (i * step_ + shift_) % blocks_;
  const dim3 size = launch_.grid;
  return {static_cast<unsigned>(number % size.x), static_cast<unsigned>(number / size.x % size.y),
          static_cast<unsigned>(number / size.x / size.y)};
}

void Grid::run() {
  const DeviceWorks works;
  executor().counts.launches += 1;
  Block block(*this);
  for (size_t i = 0; i < blocks_; ++i) {
    const uint32_t serial = ++last_serial;
    if (!block.run(serial, block_of(serial))) break;
  }
}

std::string kernel_name(const Launch& launch) {
  std::string name = launch.kernel.name;
  if (name.size() > 2 && name.front() == '(' && name.back() == ')') {
    name = name.substr(1, name.size() - 2);
  }
  return name;
}

}  // namespace accrue::simt
