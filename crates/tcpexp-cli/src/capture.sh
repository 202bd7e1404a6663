#!/bin/sh
# Captures packets to standard output until standard input ends. The caller sets interface and filter.
set -eu
: "${interface:?}" "${filter=}"

# The packets of this connection would cause more packets of this connection.
own=
if [ -n "${SSH_CONNECTION:-}" ]; then
    # Client address, client port, server address, server port: ssh(1).
    own=$(echo "$SSH_CONNECTION" | { read -r address port _; echo "not (host ${address%%%*} and tcp port $port)"; })
fi
if [ -n "$filter" ] && [ -n "$own" ]; then
    filter="($filter) and $own"
else
    filter=$filter$own
fi

# Background processes of a shell without job control have no standard input.
exec 3<&0
# Without immediate mode the kernel keeps packets for up to a second.
tcpdump -i "$interface" -n -s 256 -U --immediate-mode -w - "$filter" </dev/null 3<&- &
capture=$!
{
    cat <&3 >/dev/null || :
    kill "$capture" 2>/dev/null || :
} >/dev/null 2>&1 &
exec 3<&-
wait "$capture"
