// Tensors in memory: placing inputs, fetching outputs, sharing device memory.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "runner/child/session.h"
#include "runner/child/session_parts.h"
#include "runner/wire.h"

namespace stitch::runner {

Json Session::share(const Json& request) {
  unshare();
  const Descriptor descriptor = std::move(given_);
  if (descriptor.get() < 0) throw Refusal{STITCH_BAD_ARGUMENT, "no descriptor came with the request"};
  const int64_t bytes = request.at("bytes").get<int64_t>();
  auto address = backend_->share(descriptor.get(), bytes);
  if (!address) throw Refusal{STITCH_UNSUPPORTED, address.error().text()};
  shared_ = *address;
  shared_bytes_ = bytes;
  return ok_answer();
}

Json Session::unshare() {
  value_or_fault(backend_->synchronise());
  if (shared_) backend_->unshare(shared_, shared_bytes_);
  shared_ = 0;
  shared_bytes_ = 0;
  return ok_answer();
}

Address Session::shared(int64_t offset, int64_t bytes) const {
  if (offset < 0 || bytes < 0 || offset + bytes > shared_bytes_)
    throw Refusal{STITCH_BAD_ARGUMENT, "a place outside the device arena"};
  return shared_ + static_cast<Address>(offset);
}

// Device copies are asynchronous, and the other process reads as soon as it has the answer.
void Session::fetch(const Place& to, Address from, int64_t bytes) {
  if (to.where == Where::host)
    return value_or_fault(backend_->download(arena_.bytes(to.offset, bytes), from));
  value_or_fault(backend_->copy(shared(to.offset, bytes), from, bytes));
  value_or_fault(backend_->synchronise());
}

Session::Buffers Session::upload(const Json& tensors, std::string_view role, Fence fence) {
  Buffers out;
  for (const Json& json : tensors) {
    const TensorAt tensor = tensor_from_wire(json);
    auto buffer = GuardedBuffer::create_fenced(*backend_, tensor.type, fence, 0);
    if (!buffer)
      throw Refusal{STITCH_OUT_OF_MEMORY, format("{} {}: {}", role, out.size(), buffer.error().text())};
    if (tensor.offset >= 0) fill(*buffer, tensor);  // else zeros
    out.push_back(*std::move(buffer));
  }
  value_or_fault(backend_->synchronise());  // before the device arena is changed
  return out;
}

void Session::fill(GuardedBuffer& buffer, const TensorAt& from) {
  const int64_t bytes = from.type.bytes();
  if (from.where == Where::device)
    value_or_fault(backend_->copy(buffer.address(), shared(from.offset, bytes), bytes));
  else
    value_or_fault(backend_->upload(buffer.address(), arena_.bytes(from.offset, bytes)));
}

GuardedBuffer Session::buffer_at(const TensorType& type, const Placement& placement, size_t tensor,
                                 uint32_t word) {
  auto buffer = placement.fence == Fence::none
                    ? GuardedBuffer::create(*backend_, type, placement.of(tensor), word)
                    : GuardedBuffer::create_fenced(*backend_, type, placement.fence, word);
  if (!buffer) throw Refusal{STITCH_OUT_OF_MEMORY, format("tensor {}: {}", tensor, buffer.error().text())};
  return *std::move(buffer);
}

Session::Buffers Session::fresh_outputs(const Json& types, uint64_t poison, const Placement& placement,
                                        size_t inputs, Filling filling) {
  Buffers out;
  for (const Json& json : types) {
    const TensorType type = type_from_wire(json);
    out.push_back(buffer_at(type, placement, inputs + out.size(),
                            poison_word(type.dtype, poison + out.size(), filling)));
  }
  return out;
}

void Session::leave_old_results(Buffers& outputs) {
  for (size_t i = 0; i < std::min(outputs.size(), outputs_.size()); ++i)
    if (outputs[i].type().bytes() == outputs_[i].type().bytes())
      value_or_fault(backend_->copy(outputs[i].address(), outputs_[i].address(), outputs[i].type().bytes()));
}

Session::Buffers Session::zeros(const Json& types) {
  Buffers out;
  for (const Json& type : types) {
    auto buffer = GuardedBuffer::create(*backend_, type_from_wire(type), 0, 0);
    if (!buffer)
      throw Refusal{STITCH_OUT_OF_MEMORY, format("input {}: {}", out.size(), buffer.error().text())};
    out.push_back(*std::move(buffer));
  }
  return out;
}

Session::Buffers Session::with_any_content(const Json& types) {
  Buffers out;
  for (const Json& each : types) {
    const TensorType type = type_from_wire(each);
    auto buffer = GuardedBuffer::create(*backend_, type, 0, any_content(type.dtype));
    if (!buffer)
      throw Refusal{STITCH_OUT_OF_MEMORY, format("tensor {}: {}", out.size(), buffer.error().text())};
    out.push_back(*std::move(buffer));
  }
  return out;
}

Session::Buffers& Session::set(const Json& request) {
  auto found = sets_.find(request.at("set").get<int>());
  if (found == sets_.end()) throw Refusal{STITCH_BAD_ARGUMENT, "there is no such set of inputs"};
  return found->second;
}

Json Session::place(const Json& request) {
  if (request.contains("into")) return place_into(request);
  Buffers inputs = upload(request.at("inputs"), "input");
  sets_.emplace(next_set_, std::move(inputs));
  Json out = ok_answer();
  out["set"] = next_set_++;
  return out;
}

Json Session::place_into(const Json& request) {
  const int number = request.at("into").get<int>();
  Buffers& known = set({{"set", number}});
  const Json& inputs = request.at("inputs");
  if (inputs.size() != known.size()) throw Refusal{STITCH_BAD_ARGUMENT, "another number of inputs"};
  for (size_t i = 0; i < known.size(); ++i) {
    const TensorAt tensor = tensor_from_wire(inputs[i]);
    if (tensor.type != known[i].type()) throw Refusal{STITCH_BAD_ARGUMENT, "inputs of another type"};
    fill(known[i], tensor);
  }
  value_or_fault(backend_->synchronise());
  Json out = ok_answer();
  out["set"] = number;
  return out;
}

Json Session::drop(const Json& request) {
  set(request);
  put_back_outputs();
  timed_outputs_.erase(request.at("set").get<int>());
  sets_.erase(request.at("set").get<int>());
  return ok_answer();
}

std::string Session::damage_of(const Buffers& buffers, std::string_view role) {
  std::string out;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const std::string damage = value_or_fault(buffers[i].damage());
    if (!damage.empty()) out += format("{}{} {}: {}", out.empty() ? "" : "; ", role, i, damage);
  }
  return out;
}

Json Session::fetch_outputs(const Json& request) {
  for (const Json& piece : request.at("pieces")) {
    const GuardedBuffer& buffer = outputs_.at(piece.at("output").get<size_t>());
    Place to = place_from_wire(piece);
    for (const Json& range : piece.at("ranges")) {
      const int64_t begin = range.at(0).get<int64_t>(), end = range.at(1).get<int64_t>();
      if (begin < 0 || end < begin || end > buffer.type().bytes())
        throw Refusal{STITCH_BAD_ARGUMENT, "a range outside the output"};
      fetch(to, buffer.address() + static_cast<Address>(begin), end - begin);
      to.offset += end - begin;
    }
  }
  return ok_answer();
}

Json Session::fetch_input(const Json& request) {
  const GuardedBuffer& buffer = set(request).at(request.at("input").get<size_t>());
  fetch(place_from_wire(request), buffer.address(), buffer.type().bytes());
  return ok_answer();
}

}  // namespace stitch::runner
