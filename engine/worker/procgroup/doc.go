// Package procgroup starts processes that end with whoever started them, and take their children along.
//
// A [Keeper] starts each as the first of a process group of its own. The group ends when its first process does, however
// that comes about: what is left of it is killed. Two more guards see to what the kernel does not.
//
//   - Each process carries a mark in its environment, the variable [Variable], which its children inherit. The keeper looks for
//     processes whose group has ended, soon after one has, and kills them: they made sessions of their own. It does so where
//     there is a /proc, and cannot find a process that has left the group and has an environment without the mark, or runs as
//     another user.
//   - A watchdog, a shell, holds the other end of a pipe. The pipe ends with our process, SIGKILL included; then the watchdog
//     kills whoever carries the keeper's mark.
//
// Marks also bound how many processes a group may have; see [Limits].
package procgroup
