// A network with nothing in it, and processes that end together.
#pragma once

namespace stitch::sandbox {

// No network, no shared memory of others, and where a user namespace is allowed nothing of root. With
// `processes`, this process's next child is the first of a world of its own: when it ends, all of it does.
bool enter_namespaces(bool processes);
// 127.0.0.1 of the network that this process is in, which is down at first.
bool bring_up_loopback();
// Capabilities, for good: root without them is a user like any other.
void drop_capabilities();

// Where there is no such world: two keepers stay behind, in whose care everything ends up that the program
// starts, however it hides; returns only in the program. When the program ends, or the first keeper is killed
// with its process group, the rest is killed too.
void leave_keepers_behind();

// Becomes the parent of that first process and of the program in it; returns only in the program. This
// process ends as the program does, by the same signal.
void split_off_world();

}  // namespace stitch::sandbox
