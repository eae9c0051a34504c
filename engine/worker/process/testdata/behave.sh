#!/bin/sh
# An action for each behaviour of the contract suite; its argument is the behaviour's name.

# orphan starts a process in a session of its own, which keeps all files open and has the arguments in its command line. The
# substitution ends when that process gives its output up, which it does in its session.
orphan() {
	args=$(cat)
	started=$(setsid sh -c 'exec >&9 9>&-; sleep 600; :' "$args" &)
} 9>&1

case $1 in
echo) exec cat ;;
decline)
	echo "about to decline" >&2
	echo '{"type": "Declined", "message": "no \"money\" is left for ü"}' >&2
	exit 1
	;;
hang)
	trap 'exit 1' TERM
	while :; do sleep 0.05; done
	;;
ignore)
	trap '' HUP INT QUIT TERM
	while :; do sleep 600; done
	;;
huge)
	printf '"'
	head -c 8388608 /dev/zero | tr '\0' x
	printf '"'
	;;
flood)
	printf '['
	exec yes '1,'
	;;
nothing) exit 0 ;;
invalid) printf '"\377"' ;;
garbage) printf 'hello, I am no result\ntrue' ;;
half) printf '{"value": [1, 2, ' ;;
die) kill -s KILL $$ ;;
freeze)
	kill -s STOP $$
	sleep 600
	;;
orphan)
	orphan
	echo true
	;;
orphan_hang)
	orphan
	sleep 600
	;;
*)
	echo "there is no behaviour $1" >&2
	exit 2
	;;
esac
