#include "sandbox/put_up_walls.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sandbox/sandbox.h"

namespace stitch::sandbox {

namespace {

#if defined(__x86_64__)
constexpr uint32_t architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t architecture = AUDIT_ARCH_AARCH64;
#else
#error "a filter has to know its architecture"
#endif

constexpr uint32_t allow = SECCOMP_RET_ALLOW, kill = SECCOMP_RET_KILL_PROCESS;
constexpr uint32_t no_permission = SECCOMP_RET_ERRNO | EPERM, not_there = SECCOMP_RET_ERRNO | ENOSYS;

constexpr uint32_t number_at = offsetof(seccomp_data, nr), architecture_at = offsetof(seccomp_data, arch);
constexpr uint32_t low_half_of(int argument) {
  return static_cast<uint32_t>(offsetof(seccomp_data, args) +
                               8 * static_cast<size_t>(argument));  // little-endian
}

// The same numbers on both architectures; older headers lack the names.
constexpr int mount_calls_from = 428, mount_calls_to = 433;  // open_tree … fspick
constexpr int io_uring_from = 425, io_uring_to = 427;
constexpr int clone3_number = 435, pidfd_getfd_number = 438, mount_setattr_number = 442,
              memfd_secret_number = 447, pidfd_send_signal_number = 424;

class Program {
 public:
  Program() {
    add(BPF_LD | BPF_W | BPF_ABS, architecture_at);
    jump(BPF_JEQ, architecture, 1, 0);
    answer(kill);
    load(number_at);
#if defined(__x86_64__)
    // x32 numbers are a second way to reach every call.
    jump(BPF_JGE, 0x40000000, 0, 1);
    answer(kill);
#endif
  }
  void refuse(long number, uint32_t action) {
    jump(BPF_JEQ, static_cast<uint32_t>(number), 0, 1);
    answer(action);
  }
  void refuse_between(int from, int to, uint32_t action) {
    jump(BPF_JGE, static_cast<uint32_t>(from), 0, 2);
    jump(BPF_JGT, static_cast<uint32_t>(to), 1, 0);
    answer(action);
  }
  // `action` if the argument, with `mask`, is (or isn't) `value`.
  void refuse_if(long number, int argument, uint32_t mask, uint32_t value, bool equal, uint32_t action) {
    jump(BPF_JEQ, static_cast<uint32_t>(number), 0, 5);
    load(low_half_of(argument));
    add(BPF_ALU | BPF_AND | BPF_K, mask);
    jump(BPF_JEQ, value, equal ? 0 : 1, equal ? 1 : 0);
    answer(action);
    load(number_at);
  }
  bool install() {
    answer(allow);
    sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
    // Without the second flag, older kernels enable speculation mitigations that slow the process down.
    constexpr unsigned flags = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
    return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) == 0;
  }

 private:
  void add(uint16_t operation, uint32_t value) { code_.push_back({operation, 0, 0, value}); }
  void load(uint32_t offset) { add(BPF_LD | BPF_W | BPF_ABS, offset); }
  void jump(uint16_t test, uint32_t value, uint8_t yes, uint8_t no) {
    code_.push_back({static_cast<uint16_t>(BPF_JMP | test | BPF_K), yes, no, value});
  }
  void answer(uint32_t action) { add(BPF_RET | BPF_K, action); }
  std::vector<sock_filter> code_;
};

void refuse_dangerous(Program& program, Sockets sockets) {
  for (long number :
       {SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_bpf, SYS_perf_event_open,
        SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_setns, SYS_unshare, SYS_kexec_load,
        SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_keyctl, SYS_add_key, SYS_request_key,
        SYS_userfaultfd, SYS_swapon, SYS_swapoff, SYS_reboot, SYS_sethostname, SYS_setdomainname,
        SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex, SYS_acct, SYS_quotactl,
        SYS_open_by_handle_at, SYS_name_to_handle_at, SYS_fanotify_init, SYS_vhangup, SYS_syslog,
        // System V memory, queues and semaphores outlive their process.
        SYS_shmget, SYS_msgget, SYS_semget, SYS_migrate_pages, SYS_move_pages})
    program.refuse(number, no_permission);
  program.refuse_between(mount_calls_from, mount_calls_to, no_permission);
  // io_uring bypasses seccomp.
  program.refuse_between(io_uring_from, io_uring_to, no_permission);
  for (long number :
       {pidfd_getfd_number, pidfd_send_signal_number, mount_setattr_number, memfd_secret_number})
    program.refuse(number, no_permission);
  // Signals sent through a descriptor's owner, and kill(-1).
  for (int command : {F_SETOWN, F_SETSIG, F_SETOWN_EX})
    program.refuse_if(SYS_fcntl, 1, ~0u, static_cast<uint32_t>(command), true, no_permission);
  program.refuse_if(SYS_kill, 0, ~0u, ~0u, true, no_permission);
  // Only its own priority and limits: other processes on the machine are being timed.
  program.refuse_if(SYS_setpriority, 0, ~0u, PRIO_PROCESS, false, kill);
  program.refuse_if(SYS_setpriority, 1, ~0u, 0, false, kill);
  program.refuse_if(SYS_prlimit64, 0, ~0u, 0, false, no_permission);
  program.refuse(SYS_ioprio_set, no_permission);
#if defined(__x86_64__)
  for (long number : {SYS_iopl, SYS_ioperm, SYS_modify_ldt, SYS_uselib, SYS_kexec_file_load})
    program.refuse(number, no_permission);
#endif
  // clone creates namespaces, too.
  constexpr uint32_t namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC |
                                  CLONE_NEWUTS | CLONE_NEWCGROUP;
  program.refuse_if(SYS_clone, 0, namespaces, 0, false, no_permission);
  // Its flags are in memory, which a filter can't read; on ENOSYS the C library falls back to clone.
  program.refuse(clone3_number, not_there);
  if (sockets == Sockets::local) program.refuse_if(SYS_socket, 0, ~0u, AF_UNIX, false, no_permission);
  if (sockets == Sockets::none) program.refuse(SYS_socket, no_permission);
}

void refuse_processes(Program& program) {
#if defined(__x86_64__)
  program.refuse(SYS_fork, kill);
  program.refuse(SYS_vfork, kill);
#endif
  program.refuse_if(SYS_clone, 0, CLONE_THREAD, CLONE_THREAD, false, kill);
}

void refuse_the_rest(Program& program) {
  for (long number :
       {SYS_execve, SYS_execveat, SYS_socket, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev})
    program.refuse(number, kill);
  // memfds count towards no limit.
  program.refuse(SYS_memfd_create, no_permission);
  // May signal only itself (abort does).
  const auto self = static_cast<uint32_t>(::getpid());
  for (long number : {SYS_kill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo})
    program.refuse_if(number, 0, ~0u, self, false, no_permission);
  program.refuse(SYS_tkill, no_permission);
}

}  // namespace

bool install_filter(Filter filter, Sockets sockets) {
  Program program;
  // Within a filter the first match counts; filters installed earlier still apply.
  if (filter == Filter::sealed) refuse_the_rest(program);
  if (filter != Filter::dangerous) refuse_processes(program);
  refuse_dangerous(program, sockets);
  return program.install();
}

bool seal_process() { return install_filter(Filter::sealed, Sockets::none); }

}  // namespace stitch::sandbox
