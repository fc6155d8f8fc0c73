#include <array>

#include <accrue/core/cuda/backend.h>
#include <accrue/core/error.h>
#include <accrue/core/stream.h>

namespace accrue {
namespace {

thread_local std::array<void*, kMaxDevices> current{};

void*& current_of(Device device) { return current[static_cast<uint8_t>(device.index)]; }

}  // namespace

Stream Stream::create(Device device) {
  Stream stream(device);
  if (!device.is_cpu()) stream.handle_ = cuda::make_stream(device);
  return stream;
}

void Stream::synchronize() const {
  if (!device_.is_cpu()) cuda::synchronize_stream(device_, handle_);
}

bool Stream::is_idle() const { return device_.is_cpu() || cuda::stream_is_idle(device_, handle_); }

void Stream::wait(const Event& event) const {
  if (!device_.is_cpu() && event.handle_->recorded)
    cuda::wait_for_event(device_, handle_, event.handle_->event);
}

Stream current_stream(Device device) {
  Stream stream(device);
  if (!device.is_cpu()) stream.handle_ = current_of(device);
  return stream;
}

StreamGuard::StreamGuard(const Stream& stream) : before_(current_stream(stream.device())) {
  if (!stream.device().is_cpu()) current_of(stream.device()) = stream.handle();
}

StreamGuard::~StreamGuard() {
  if (!before_.device().is_cpu()) current_of(before_.device()) = before_.handle();
}

Event::Handle::Handle(Device where) : device(where) {
  if (!device.is_cpu()) event = cuda::make_event(device);
}

Event::Handle::~Handle() {
  if (event) cuda::destroy_event(device, event);
}

Event::Event(Device device) : device_(device), handle_(make_ref<Handle>(device)) {}

void Event::record(const Stream& stream) {
  check<DeviceError>(stream.device() == device_, "record: the event is of ", device_,
                     " and the stream of ", stream.device(), "; they must be of one device");
  if (!device_.is_cpu()) cuda::record_event(device_, handle_->event, stream.handle());
  handle_->recorded = true;
}

void Event::synchronize() const {
  if (handle_->event && handle_->recorded) cuda::synchronize_event(device_, handle_->event);
}

bool Event::is_done() const {
  return !handle_->event || !handle_->recorded || cuda::event_is_done(device_, handle_->event);
}

double Event::elapsed_ms(const Event& earlier) const {
  check<ValueError>(!device_.is_cpu() && device_ == earlier.device_ && handle_->recorded &&
                        earlier.handle_->recorded,
                    "elapsed_ms: events of ", earlier.device_, " and ", device_,
                    "; both must be recorded, on one CUDA device");
  return cuda::elapsed_ms(device_, earlier.handle_->event, handle_->event);
}

void synchronize(Device device) {
  if (!device.is_cpu()) cuda::synchronize_device(device);
}

}  // namespace accrue
