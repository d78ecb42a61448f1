// Network, IPC and PID namespaces, and supervisors where there is no PID namespace.
#pragma once

namespace stitch::sandbox {

// New network and IPC namespaces, and a user namespace where one is allowed. With `processes`, also a PID
// namespace: the next child is its PID 1, and all its processes end with that.
bool enter_namespaces(bool processes);
// Brings up 127.0.0.1 in this process's network namespace; it is down at first.
bool bring_up_loopback();
// Drops all capabilities for good.
void drop_capabilities();

// Without a PID namespace: two supervisors (child subreapers) stay behind and inherit every orphan of the
// program. Returns only in the program. When the program ends, or the first supervisor is killed with its
// process group, all descendants are killed.
void leave_supervisors_behind();

// After enter_namespaces(true): forks PID 1 and the program below it. Returns only in the program; this
// process exits with the program's status.
void enter_pid_namespace();

}  // namespace stitch::sandbox
