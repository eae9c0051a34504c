// Package console is what the commands of pulley share: what they read and write, exit statuses, the flags that name a program or a
// server, and how they end at a signal.
package console
