// Package procgroup starts processes that end with their parent, together with their children.
//
// A [Supervisor] starts each as the first of its own process group. When the first process ends, the rest of the group is
// killed. Two more guards cover what the kernel does not:
//
//   - Each process has a mark in its environment, the variable [Variable], which its children inherit. Soon after a group has
//     ended, the supervisor looks for its remaining processes, which made their own sessions, and kills them. That requires
//     /proc. It cannot find a process that has left the group and has no mark in its environment, or runs as another user.
//   - A watchdog, a shell, reads a pipe that closes with our process, even after SIGKILL; then the watchdog kills all processes
//     with the supervisor's mark.
//
// Marks also bound the number of processes in a group; see [Limits].
package procgroup
