# shellcheck shell=sh
# Kills the processes that pulley started, once pulley has exited.
#
# Standard input is a pipe whose writing end only pulley's process holds: it ends when that process does, however it ends.
# The line "done" says that there is nothing to do. PULLEY_MARK is what the processes have in their environment, as a part of
# the variable PULLEY_PROCESS, which this shell and what it starts do not have.
#
# It runs in whatever /bin/sh there is, with grep, sleep, and, where there is no /proc, ps.

trap '' HUP INT QUIT TERM
PATH=$PATH:/usr/bin:/bin

while read -r word; do
	[ "$word" = done ] && exit 0
done

# marked prints the ids of the processes with the mark.
marked() {
	if [ -r /proc/self/environ ]; then
		# shellcheck disable=SC2013 # the names of these files have no blanks
		for file in $(grep -lsF -e "PULLEY_PROCESS=$PULLEY_MARK." /proc/[0-9]*/environ); do
			file=${file#/proc/}
			echo "${file%/environ}"
		done
	else
		ps -axEww -o pid= -o command= | while read -r pid rest; do
			case $rest in *"PULLEY_PROCESS=$PULLEY_MARK."*) echo "$pid" ;; esac
		done
	fi
}

pause() { sleep 0.1 2>/dev/null || sleep 1; }

# A process that begins another program has no environment for a moment, and one that pulley was about to start appears only
# now: it takes several looks in a row that find nobody.
quiet=0
tries=0
while [ $quiet -lt 5 ] && [ $tries -lt 600 ]; do
	found=$(marked)
	quiet=$((quiet + 1))
	for pid in $found; do
		kill -s KILL "$pid" 2>/dev/null
		quiet=0
	done
	tries=$((tries + 1))
	pause
done
