#!/bin/sh
# Reads {"count": n} and writes [{"id": 0, "value": "item_0"}, …].
count=$(sed -n 's/.*"count": *\([0-9][0-9]*\).*/\1/p')
if [ -z "$count" ]; then
	echo '{"type": "ArgumentError", "message": "count is a number that is not below 0"}' >&2
	exit 1
fi
comma=
printf '['
id=0
while [ "$id" -lt "$count" ]; do
	printf '%s{"id": %d, "value": "item_%d"}' "$comma" "$id" "$id"
	comma=', '
	id=$((id + 1))
done
echo ']'
