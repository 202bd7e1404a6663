#!/bin/bash
# Transfers that are slow for ten known causes, to score `tcpexp why`. Runs in the virtual testbed:
#
#     tcpexp lab run --sources 2 --sinks 2 --seed 6 --share examples/causes --out out -- \
#         bash /share/causes.sh 5 5
#     tcpexp why out/policing-5.pcap
#
# The arguments are the first and the last run. A run has one capture per cause, taken at the
# source, and takes about four minutes.
#
# Runs 0 to 4 helped to choose the thresholds. The paths of run K and of run K + 6 have the same rate
# and round-trip time. In odd runs, the timeouts come from losses of 14 % and more at random.
FROM=$1; TO=$2
DST=172.16.11.2; DST2=172.16.11.3
on() { ssh "$@" 2>>/out/errors; }
for h in src1 src2 dst1 dst2; do on $h "ethtool -K data tso off gso off gro off >/dev/null"; done
on rtr "ethtool -K left tso off gso off gro off >/dev/null; ethtool -K right tso off gso off gro off > /dev/null"
clear_path() { on rtr "tc qdisc del dev right root; tc qdisc del dev left root; tc qdisc del dev left ingress; true" ; on dst1 "sysctl -q net.ipv4.tcp_rmem='4096 131072 33554432'"; on src1 "sysctl -q net.ipv4.tcp_congestion_control=cubic"; }
delay() { on rtr "tc qdisc add dev left root netem delay $1ms limit 20000"; }
rate() { on rtr "tc qdisc add dev right root handle 1: htb default 1; tc class add dev right parent 1: classid 1:1 htb rate $1mbit quantum 1514; tc qdisc add dev right parent 1:1 handle 10: $2"; }
begin() { on src1 "nohup tcpdump -i data -s 120 -w /tmp/$1.pcap tcp >/dev/null 2>&1 & echo \$! > /tmp/td; sleep 0.5"; }
finish() { on src1 "sleep 0.5; kill \$(cat /tmp/td); sleep 0.2; cp /tmp/$1.pcap /out/; rm /tmp/$1.pcap"; }
bulk() { on dst1 "iperf3 -s -1 -D >/dev/null"; on src1 "sleep 0.2; iperf3 -c $DST $* >/dev/null"; }
for k in $(seq "$FROM" "$TO"); do
  rtts=(40 20 80 60 100 30); rtt=${rtts[$((k%6))]}
  mb=(5 10 3 8 4 6); r=${mb[$((k%6))]}
  # application
  clear_path; delay "$rtt"; rate $((r*3)) "pfifo limit 200"; begin "application-$k"; bulk -t 10 -b "${r}00K"; finish "application-$k"
  # receiver window
  clear_path; delay $((rtt+40)); rate 20 "pfifo limit 300"; on dst1 "sysctl -q net.ipv4.tcp_rmem='4096 $((20000+k*8000)) $((20000+k*8000))'"; begin "receiver_window-$k"; bulk -t 8; finish "receiver_window-$k"
  # random loss
  clear_path; delay "$rtt"; ls=(1 2 0.5 3 1.5 0.7); on rtr "tc qdisc add dev right root netem loss ${ls[$((k%6))]}% limit 20000"; begin "loss-$k"; bulk -t 10; finish "loss-$k"
  # own queue
  clear_path; delay "$rtt"; q=(200 300 150 400 250 350); rate "$r" "pfifo limit ${q[$((k%6))]}"; cc=(cubic reno cubic); begin "own_queue-$k"; bulk -t 12 -C "${cc[$((k%3))]}"; finish "own_queue-$k"
  # others' queue
  clear_path; delay "$rtt"; rate "$r" "pfifo limit 150"; on dst2 "iperf3 -s -1 -D > /dev/null"; on src2 "sleep 0.2; nohup iperf3 -c $DST2 -t 18 -P $((4+k%3)) >/dev/null 2>&1 & sleep 4"; begin "others_queue-$k"; bulk -t 10; finish "others_queue-$k"; on src2 "sleep 5"
  # capacity: short queue, codel, bbr
  clear_path; delay "$rtt"; case $((k%3)) in
    0) rate "$r" "pfifo limit $((r*rtt/36+4))"; c=cubic;;
    1) rate "$r" "codel"; c=cubic;;
    2) rate "$r" "pfifo limit 200"; c=bbr;; esac
  begin "capacity-$k"; bulk -t 12 -C "$c"; finish "capacity-$k"
  # policing
  clear_path; delay "$rtt"; on rtr "tc qdisc add dev left handle ffff: ingress; tc filter add dev left parent ffff: protocol ip u32 match u32 0 0 police rate ${r}mbit burst $((20+k*15))k drop"; begin "policing-$k"; bulk -t 12; finish "policing-$k"
  # timeouts
  clear_path; delay "$rtt"; if [ $((k%2)) = 0 ]; then
     on rtr "tc qdisc add dev right root netem loss 0% limit 20000 rate 5mbit; nohup sh -c 'for i in 1 2 3; do sleep 2; tc qdisc change dev right root netem loss 100% limit 20000 rate 5mbit; sleep 1.5; tc qdisc change dev right root netem loss 0% limit 20000 rate 5mbit; done' >/dev/null 2>&1 &"
  else on rtr "tc qdisc add dev right root netem loss $((14+k*2))% limit 20000"; fi
  begin "timeouts-$k"; bulk -t 10; finish "timeouts-$k"; on src1 "sleep 3"
  # slow handshake
  clear_path; delay "$rtt"; on dst1 "nohup sh -c 'nc -l -p 500$k >/dev/null' >/dev/null 2>&1 & sleep 0.2"; on rtr "tc qdisc add dev right root netem loss 100% limit 1000"
  begin "handshake-$k"; on src1 "nohup sh -c 'head -c 150000 /dev/zero | nc $DST 500$k' >/dev/null 2>&1 & sleep $((1+k%3)).3"; on rtr "tc qdisc change dev right root netem loss 0% limit 1000"; on src1 "sleep 6"; finish "handshake-$k"
  # short transfer
  clear_path; delay $((rtt*2)); rate 20 "pfifo limit 400"; on dst1 "nohup sh -c 'nc -l -p 510$k >/dev/null' >/dev/null 2>&1 & sleep 0.2"
  begin "short-$k"; on src1 "head -c $((150000+k*40000)) /dev/zero | timeout 5 nc $DST 510$k; sleep 1"; finish "short-$k"
done
ls -l /out
