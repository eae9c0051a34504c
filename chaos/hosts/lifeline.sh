# shellcheck shell=sh
# The first process of a host. Its standard input is a stream that ends with pulley's process, however that ends. Then
# this ends, the kernel ends everything else in the container, and the container removes itself.
exec cat >/dev/null
