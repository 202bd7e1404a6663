#!/bin/bash
# Transfers that are slow for eleven known causes, with random parameters, to score `tcpexp why`. Runs in
# the virtual testbed:
#
#     tcpexp lab run --sources 2 --sinks 2 --seed 40 --share examples/causes --out out/40 -- \
#         bash /share/unseen.sh 40 40
#     examples/causes/matrix.py out/40
#
# The arguments are the first and the last run, and optionally the causes. A run has two captures per
# cause, src-CAUSE-RUN.pcap and dst-CAUSE-RUN.pcap. /out/parameters has a line per transfer.

# Variables are set by name, in draw and one_of.
# shellcheck disable=SC2154

FROM=$1; TO=$2
CAUSES=${3:-application receiver_window loss own_queue others_queue capacity policing timeouts handshake tls growth}
DST=172.16.11.2; DST2=172.16.11.3
on() { local host=$1; shift; ip netns exec "$host" sh -c "$*" 2>>/out/errors; }
# Sets variable $1 to a random whole number from $2 to $3; the same in each execution.
draw() { printf -v "$1" %d $(($2 + RANDOM % ($3 - $2 + 1))); }
# Sets variable $1 to one of the other arguments.
one_of() { local name=$1; shift; shift $((RANDOM % $#)); printf -v "$name" %s "$1"; }
note() { echo "$transfer $*" >>/out/parameters; }

for h in src1 src2 dst1 dst2; do on $h "ethtool -K data tso off gso off gro off >/dev/null"; done
on rtr "ethtool -K left tso off gso off gro off >/dev/null; ethtool -K right tso off gso off gro off >/dev/null"
# Threshold and window of a new connection must not depend on the one before.
for h in src1 src2; do on $h "sysctl -qw net.ipv4.tcp_no_metrics_save=1"; done
printf '[req]\ndistinguished_name=d\n[d]\n' >/tmp/cnf
openssl req -config /tmp/cnf -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=dst1 \
    -days 9 -keyout /tmp/key -out /tmp/cert 2>>/out/errors

clear_path() {
    on rtr "tc qdisc del dev right root; tc qdisc del dev left root; tc qdisc del dev left ingress; true"
    on dst1 "sysctl -qw net.ipv4.tcp_rmem='4096 131072 33554432'"
}
delay() { on rtr "tc qdisc add dev left root netem delay $1ms limit 20000"; }
rate() {
    on rtr "tc qdisc add dev right root handle 1: htb default 1
        tc class add dev right parent 1: classid 1:1 htb rate ${1}kbit quantum 1514
        tc qdisc add dev right parent 1:1 handle 10: $2"
}
begin() {
    for h in src1 dst1; do
        on $h "nohup tcpdump -i data -s ${1:-128} -w /tmp/$h.pcap tcp >/dev/null 2>&1 & echo \$! >/tmp/$h.pid"
    done
    sleep 0.5
}
finish() {
    # tcpdump loses what the kernel has not yet passed on.
    sleep 1.5
    for h in src1 dst1; do
        kill "$(cat /tmp/$h.pid)"; sleep 0.3; mv /tmp/$h.pcap "/out/${h%1}-$transfer.pcap"
    done
    pkill iperf3; pkill nc; pkill openssl; sleep 0.2
}
bulk() { on dst1 "iperf3 -s -1 -D >/dev/null"; sleep 0.3; on src1 "iperf3 -c $DST $* >/dev/null"; }
# Accepts a connection at the sink; $2 reads what arrives. Netcat ends at the end of its input.
accept() { on dst1 "nohup sh -c 'sleep 30 | nc -l -p $1 | $2' >/dev/null 2>&1 &"; sleep 0.2; }
# Bytes from the source to the sink.
push() { accept "$2" "cat >/dev/null"; on src1 "head -c $1 /dev/zero | timeout 12 nc $DST $2"; }
# Packets in one bandwidth-delay product.
product() { echo $((rate_kbps * rtt_ms / 12000 + 1)); }

for run in $(seq "$FROM" "$TO"); do
    for cause in $CAUSES; do
        transfer=$cause-$run
        # The first numbers of neighbouring seeds are alike.
        RANDOM=$((run * 1009 + ${#cause})); : $RANDOM $RANDOM $RANDOM
        draw rtt_ms 15 140; draw rate_kbps 2000 12000
        unset piece pause share buffer reading
        clear_path
        case $cause in
        application)
            # A steady source, or one that writes a piece and then pauses.
            draw queue 100 300; delay "$rtt_ms"; rate $((rate_kbps + 6000)) "pfifo limit $queue"; begin
            if [ $((run % 2)) = 1 ]; then
                draw share 15 60; bulk -t 9 -b $(((rate_kbps + 6000) * share / 100))K -l 8K
            else
                one_of pause 0.25 0.4 0.7; draw piece 4 30
                accept 5301 "cat >/dev/null"
                on src1 "for i in \$(seq 14); do head -c ${piece}000 /dev/zero; sleep $pause; done | timeout 20 nc $DST 5301"
            fi
            finish; note "rtt $rtt_ms share $share piece $piece pause $pause";;
        receiver_window)
            # A small buffer, or a program that reads slowly.
            delay "$rtt_ms"; rate 20000 "pfifo limit 400"; begin
            if [ $((run % 3)) = 0 ]; then
                draw reading 20 90
                on dst1 "sysctl -qw net.ipv4.tcp_rmem='4096 60000 60000'"
                accept 5302 "while head -c ${reading}000 >/dev/null; do sleep 0.25; done"
                on src1 "head -c 3000000 /dev/zero | timeout 9 nc $DST 5302"
            else
                draw buffer 14 70
                on dst1 "sysctl -qw net.ipv4.tcp_rmem='4096 ${buffer}000 ${buffer}000'"; bulk -t 8
            fi
            finish; note "rtt $rtt_ms buffer $buffer read $reading";;
        loss)
            # At random, or in bursts of some packets. The rate is never the limit.
            one_of loss 0.4 0.8 1 1.7 2.5 3.5; one_of kind random random bursts; one_of burst 0.3 0.6 1; one_of control cubic reno
            delay "$rtt_ms"
            how="loss $loss%"; [ "$kind" = bursts ] && how="loss gemodel $burst% 40%"
            on rtr "tc qdisc add dev right root netem $how limit 20000"
            begin; bulk -t 10 -C "$control"; finish; note "rtt $rtt_ms $how $control";;
        own_queue)
            draw tenths 15 50; queue=$(($(product) * tenths / 10 + 40)); one_of control cubic reno cubic
            delay "$rtt_ms"; rate "$rate_kbps" "pfifo limit $queue"
            begin; bulk -t 12 -C "$control"; finish; note "rtt $rtt_ms rate $rate_kbps queue $queue $control";;
        others_queue)
            draw others 4 10; draw more 40 140; queue=$(($(product) + more))
            delay "$rtt_ms"; rate "$rate_kbps" "pfifo limit $queue"
            on dst2 "iperf3 -s -1 -D >/dev/null"; sleep 0.3
            on src2 "nohup iperf3 -c $DST2 -t 20 -P $others >/dev/null 2>&1 &"; sleep 6
            begin; bulk -t 12; finish; note "rtt $rtt_ms rate $rate_kbps queue $queue others $others"; sleep 3;;
        capacity)
            # A queue shorter than the round-trip time, a managed one, or BBR.
            delay "$rtt_ms"; control=cubic; draw percent 25 75
            case $((run % 4)) in
                0) queue="pfifo limit $(($(product) * percent / 100 + 6))";;
                1) queue=codel;;
                2) queue=fq_codel;;
                3) queue="pfifo limit $(($(product) * 3 + 40))"; control=bbr; on src1 "modprobe -q tcp_bbr; true";;
            esac
            rate "$rate_kbps" "$queue"
            begin; bulk -t 12 -C $control; finish; note "rtt $rtt_ms rate $rate_kbps $queue $control";;
        policing)
            draw burst 15 120; one_of control cubic reno; delay "$rtt_ms"
            on rtr "tc qdisc add dev left handle ffff: ingress
                tc filter add dev left parent ffff: protocol ip u32 match u32 0 0 police rate ${rate_kbps}kbit burst ${burst}k drop"
            begin; bulk -t 12 -C "$control"; finish; note "rtt $rtt_ms rate $rate_kbps burst ${burst}k $control";;
        timeouts)
            # The path is dead for some time, three times; the transfer ends with the last, so that the
            # timeouts take most of it.
            one_of dead 1.0 1.6 2.2; one_of alive 0.8 1.2; delay "$rtt_ms"
            path="rate ${rate_kbps}kbit limit 20000"
            on rtr "tc qdisc add dev right root netem loss 0% $path
                nohup sh -c 'sleep 1; for i in 1 2 3; do sleep $alive
                    tc qdisc change dev right root netem loss 100% $path; sleep $dead
                    tc qdisc change dev right root netem loss 0% $path; done' >/dev/null 2>&1 &"
            seconds=$((1 + 3 * (10#${dead/./} + 10#${alive/./}) / 10))
            begin; bulk -t $seconds; finish; note "rtt $rtt_ms rate $rate_kbps dead $dead alive $alive"; sleep 4;;
        handshake)
            # The first SYNs are lost.
            one_of dead 0.5 1.5 2.6 4; draw kilobytes 60 200; delay "$rtt_ms"
            on rtr "tc qdisc add dev right root netem loss 100% limit 1000
                nohup sh -c 'sleep 0.8; sleep $dead; tc qdisc change dev right root netem loss 0% limit 1000' >/dev/null 2>&1 &"
            begin; push "${kilobytes}000" 5303; finish; note "rtt $rtt_ms dead $dead bytes ${kilobytes}000";;
        tls)
            # A server that is busy during the TLS handshake, of either version.
            one_of wait 0.8 1.5 2.5; one_of version tls1_2 tls1_3; draw kilobytes 40 160
            delay "$rtt_ms"; rate 20000 "pfifo limit 400"
            # Both ends keep their input open: s_server closes at its end. A download is asked for, since
            # s_server waits for the client once it has sent input that it read before the handshake.
            up=${kilobytes}000; down=0; serve=; say="head -c $up /dev/zero"
            if [ $((run % 3)) = 0 ]; then
                up=0; down=${kilobytes}000; serve=-WWW; say="printf 'GET /payload HTTP/1.0\r\n\r\n'"
            fi
            on dst1 "cd /tmp; head -c $down /dev/zero >payload
                sleep 30 | nohup openssl s_server $serve -quiet -accept 4433 -key key -cert cert >/dev/null 2>&1 &"
            sleep 0.8; begin 400; pkill -STOP openssl
            on src1 "{ $say; sleep 30; } |
                nohup timeout 12 openssl s_client -quiet -$version -connect $DST:4433 >/dev/null 2>&1 &"
            sleep "$wait"; pkill -CONT openssl; sleep 4
            finish; note "rtt $rtt_ms wait $wait $version up $up down $down";;
        growth)
            # Too short for the window to meet a limit.
            delay $((rtt_ms + 40)); rate 20000 "pfifo limit 400"
            draw kilobytes 80 400
            begin; push "${kilobytes}000" 5304; finish; note "rtt $((rtt_ms + 40)) bytes ${kilobytes}000";;
        esac
    done
done
