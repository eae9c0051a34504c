# shellcheck shell=sh
# Ends a Postgres that pulley started, once pulley has exited, and removes its directories.
#
# Standard input is a pipe whose writing end only pulley's process holds: it ends when that process
# does, however it ends. PULLEY_DIRS names the directories, one a line. They are not arguments, so
# that this shell is not taken for one of the servers it looks for.
#
# It runs in whatever /bin/sh there is, with grep, tr, head, tail, sleep, rm, on Linux ipcrm, and elsewhere ps.

trap '' HUP INT QUIT TERM
PATH=$PATH:/usr/bin:/bin:/usr/sbin:/sbin
newline='
'

while read -r _; do :; done

# servers prints the ids of the Postgres processes which have the directory $1 in their command line.
# The name of the directory is random, so a process that has it there belongs to this run; looking at
# the program's name too spares an editor or a pager that somebody opened on the log.
servers() {
	if [ -r /proc/self/cmdline ]; then
		# shellcheck disable=SC2013 # the names of these files have no blanks
		for line in $(grep -lsF -e "$1" /proc/[0-9]*/cmdline); do
			program=$(tr '\0' '\n' 2>/dev/null <"$line" | head -n 1)
			case ${program##*/} in
			postgres | postmaster | initdb)
				line=${line#/proc/}
				echo "${line%/cmdline}"
				;;
			esac
		done
	else
		ps -axww -o pid= -o command= | while read -r pid program rest; do
			case ${program##*/}:$rest in
			postgres:*"$1"* | postmaster:*"$1"* | initdb:*"$1"*) echo "$pid" ;;
			esac
		done
	fi
}

pause() { sleep 0.1 2>/dev/null || sleep 1; }

# stop ends the servers of the directory $1: at once but in order, which gives back shared memory;
# and by force after about three seconds.
stop() {
	tries=0
	while [ $tries -lt 150 ]; do
		found=$(servers "$1")
		[ -n "$found" ] || return 0
		signal=QUIT
		[ $tries -lt 30 ] || signal=KILL
		# An immediate shutdown needs to be asked for once only.
		if [ $tries -eq 0 ] || [ $signal = KILL ]; then
			for pid in $found; do kill -s $signal "$pid" 2>/dev/null; done
		fi
		pause
		tries=$((tries + 1))
	done
}

# users_of prints how many processes use the segment $1; nothing if there is none.
users_of() {
	while IFS=' ' read -r _ its_id _ _ _ _ users _; do
		[ "$its_id" != "$1" ] || echo "$users"
	done </proc/sysvipc/shm
}

# give_back removes the shared memory that a killed server of the directory $1 left in the kernel: the segment whose
# id ends line 7 of its postmaster.pid, as soon as nobody uses it: the server's children notice its death a moment later.
# Whatever else it shared goes with its processes and its directory. Where the kernel does not list segments, the next
# restart of the machine does it.
give_back() {
	[ -r /proc/sysvipc/shm ] || return 0
	for file in "$1"/*/postmaster.pid; do
		[ -r "$file" ] || continue
		IFS=' ' read -r _ id <<-end
			$(head -n 7 "$file" | tail -n 1)
		end
		waits=0
		while users=$(users_of "$id") && [ -n "$users" ] && [ $waits -lt 50 ]; do
			if [ "$users" = 0 ]; then
				ipcrm -m "$id" 2>/dev/null
				break
			fi
			pause
			waits=$((waits + 1))
		done
	done
	return 0
}

# clear removes the directory $1. A process that was just about to start may still write into it.
clear() {
	tries=0
	while [ -e "$1" ] && [ $tries -lt 50 ]; do
		stop "$1"
		give_back "$1"
		rm -rf -- "$1" 2>/dev/null
		[ -e "$1" ] && pause
		tries=$((tries + 1))
	done
}

IFS=$newline
for dir in $PULLEY_DIRS; do
	# Nothing but a directory that pulley made is ever removed.
	case ${dir##*/} in
	pulley-pg-?*) clear "$dir" ;;
	esac
done
