# shellcheck shell=sh
# The first process of a container that pulley starts. Its standard input is a stream that ends with
# pulley's process, however that ends. Then this shell ends, the kernel ends everything else in the
# container, and the container removes itself. It ends too when the server does.
#
# The arguments are the image's own entry point and command.

exec 3<&0
trap 'exit 0' USR1
"$@" </dev/null 3<&- &
server=$!
(
	# Pulley says a first line at once. Where it died while the container was being started again, nobody does.
	(
		sleep "${PULLEY_LIFELINE_SECONDS:-60}"
		kill -s USR1 $$
	) &
	read -r _ && kill $!
	while read -r _; do :; done
	kill -s USR1 $$
) <&3 &
exec 3<&-
wait "$server"
