#!/bin/bash
# Transfers under BBR, with the model that the kernel prints (`ss -ti`) polled every 100 ms, to score the
# columns of `tcpexp cwnd` that follow BBR's model. Runs in the virtual testbed:
#
#     tcpexp lab run --seed 3 --share examples/naming --out out -- bash /share/bbr.sh 0 5
#     examples/naming/bbr-score.py out
#
# The arguments are the first and the last path. Paths 0 to 5 helped to write the replay; paths 6 to 11
# have other parameters and another seed.
FROM=$1; TO=$2
DST=172.16.11.2
SECONDS_EACH=25
on() { ssh "$@" 2>>/out/errors; }
rates=(10 4 12 2 8 5 7 3 15 6 10 9)                 # Mbit/s
rtts=(40 80 20 60 120 30 25 100 50 140 15 70)       # ms
queues=(90 60 30 40 200 60 80 30 120 150 20 60)     # packets
losses=(0 0 0 0.5 0 1 0 0 0.3 0 0 1)                # percent
on src1 "sysctl -q net.ipv4.tcp_no_metrics_save=1; modprobe -q tcp_bbr; true"
for k in $(seq "$FROM" "$TO"); do
  offload=off; [ $((k % 3)) = 2 ] && offload=on
  for h in src1 dst1; do on $h "ethtool -K data tso $offload gso $offload gro $offload >/dev/null"; done
  on rtr "ethtool -K left tso off gso off gro off >/dev/null; ethtool -K right tso off gso off gro off >/dev/null"
  on rtr "tc qdisc del dev right root; tc qdisc del dev left root; true"
  loss=; [ "${losses[k]}" != 0 ] && loss="loss ${losses[k]}%"
  on rtr "tc qdisc add dev left root netem delay ${rtts[k]}ms limit 20000"
  on rtr "tc qdisc add dev right root handle 1: htb default 1; tc class add dev right parent 1: classid 1:1 htb rate ${rates[k]}mbit quantum 1514; tc qdisc add dev right parent 1:1 handle 10: netem limit ${queues[k]} $loss"
  for h in src1 dst1; do
    on $h "nohup tcpdump -i data -s 100 -w /tmp/bbr.pcap tcp port 5201 >/dev/null 2>&1 & echo \$! > /tmp/dump; sleep 0.3"
  done
  on dst1 "iperf3 -s -1 -D >/dev/null"
  # The loop ends with the connection's host: its ssh session is killed below.
  on src1 "nohup bash -c 'while :; do echo \$EPOCHREALTIME; ss -tinOH dport = :5201; sleep 0.1; done' > /tmp/ss.txt 2>/dev/null & echo \$! > /tmp/poll; sleep 0.2; iperf3 -c $DST -t $SECONDS_EACH -C bbr >/dev/null; kill \$(cat /tmp/poll)"
  for h in src1 dst1; do
    on $h "sleep 0.3; kill \$(cat /tmp/dump); sleep 0.2; cp /tmp/bbr.pcap /out/${h%1}-bbr-$k.pcap; rm /tmp/bbr.pcap"
  done
  on src1 "cp /tmp/ss.txt /out/ss-bbr-$k.txt; rm /tmp/ss.txt"
done
