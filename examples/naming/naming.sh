#!/bin/bash
# Transfers under each congestion control of Linux, to score `tcpexp cwnd --control`. Runs in the
# virtual testbed:
#
#     tcpexp lab run --seed 2 --share examples/naming --out out -- bash /share/naming.sh 6 11
#     for pcap in out/src-*.pcap; do
#         tcpexp cwnd $pcap --flow :5201 --quiet --control-table ${pcap%.pcap}.csv
#     done
#
# The arguments are the first and the last path. A path has two captures per congestion control,
# taken at the source and at the sink: src-CONTROL-PATH.pcap and dst-CONTROL-PATH.pcap.
#
# Paths 0 to 5 helped to choose the thresholds; paths 6 to 11 have other parameters and another seed.
FROM=$1; TO=$2
CONTROLS=${3:-reno cubic bic highspeed scalable htcp hybla illinois yeah vegas veno nv westwood cdg lp bbr}
DST=172.16.11.2
SECONDS_EACH=20
on() { ssh "$@" 2>>/out/errors; }
rates=(6 10 4 8 12 5 9 7 14 11 3 10)                # Mbit/s
rtts=(40 60 80 30 100 50 25 120 35 70 60 90)        # ms
queues=(30 60 30 90 50 40 60 45 25 80 50 100)       # packets
losses=(0 0 0.3 0 0.1 1 0 0.05 0.2 0 0.5 0)         # percent
# Threshold and window of a new connection must not depend on the one before.
on src1 "sysctl -q net.ipv4.tcp_no_metrics_save=1"
for k in $(seq "$FROM" "$TO"); do
  # Every third path has super-packets at the hosts.
  offload=off; [ $((k % 3)) = 2 ] && offload=on
  for h in src1 dst1; do on $h "ethtool -K data tso $offload gso $offload gro $offload >/dev/null"; done
  on rtr "ethtool -K left tso off gso off gro off >/dev/null; ethtool -K right tso off gso off gro off >/dev/null"
  on rtr "tc qdisc del dev right root; tc qdisc del dev left root; true"
  # The queue of netem drops at its tail, and at random.
  loss=; [ "${losses[k]}" != 0 ] && loss="loss ${losses[k]}%"
  on rtr "tc qdisc add dev left root netem delay ${rtts[k]}ms limit 20000"
  on rtr "tc qdisc add dev right root handle 1: htb default 1; tc class add dev right parent 1: classid 1:1 htb rate ${rates[k]}mbit quantum 1514; tc qdisc add dev right parent 1:1 handle 10: netem limit ${queues[k]} $loss"
  for control in $CONTROLS; do
    on src1 "modprobe -q tcp_$control; true"
    for h in src1 dst1; do
      on $h "nohup tcpdump -i data -s 100 -w /tmp/$control.pcap tcp port 5201 >/dev/null 2>&1 & echo \$! > /tmp/dump; sleep 0.3"
    done
    on dst1 "iperf3 -s -1 -D >/dev/null"
    on src1 "sleep 0.2; iperf3 -c $DST -t $SECONDS_EACH -C $control >/dev/null"
    for h in src1 dst1; do
      on $h "sleep 0.3; kill \$(cat /tmp/dump); sleep 0.2; cp /tmp/$control.pcap /out/${h%1}-$control-$k.pcap; rm /tmp/$control.pcap"
    done
  done
done
