#!/bin/bash
# Transfers under each congestion control of Linux, to score `tcpexp cwnd --control`. Runs in the
# virtual testbed:
#
#     tcpexp lab run --sources 2 --sinks 2 --seed 106 --share examples/naming --out out -- bash /share/naming.sh 6 6
#     examples/naming/confusion.py src out
#
# campaign.sh does both for several paths. The arguments are the first and the last path of paths.tsv,
# and the controls. A path has two captures per congestion control, taken at the source and at the
# sink: src-CONTROL-PATH.pcap and dst-CONTROL-PATH.pcap.
FROM=$1; TO=$2
CONTROLS=${3:-reno cubic bic highspeed scalable htcp hybla illinois yeah vegas veno nv westwood cdg lp bbr}
DST=172.16.11.2
CROSS_DST=172.16.11.3
on() { ssh "$@" 2>>/out/errors; }

# The queue at the bottleneck: its arguments for tc.
queue() {
  case $discipline in
    # The queue of netem drops at its tail, and at random.
    fifo) echo "netem limit $queue_packets $([ "$loss_percent" = 0 ] || echo "loss $loss_percent%")" ;;
    red) echo "red limit $((queue_packets * 1514)) avpkt 1000 bandwidth ${rate_mbit}mbit adaptive $ecn" ;;
    *) echo "$discipline limit $queue_packets $ecn" ;;
  esac
}

# Threshold and window of a new connection must not depend on the one before.
on src1 "sysctl -q net.ipv4.tcp_no_metrics_save=1"
for h in src1 dst1; do on $h "sysctl -q net.ipv4.tcp_ecn=1"; done
on rtr "ethtool -K left tso off gso off gro off >/dev/null; ethtool -K right tso off gso off gro off >/dev/null"
while read -r path rate_mbit rtt_ms queue_packets loss_percent discipline ecn cross seconds offload <&3; do
  [[ $path =~ ^[0-9]+$ ]] || continue
  if [ "$path" -lt "$FROM" ] || [ "$path" -gt "$TO" ]; then continue; fi
  # DCTCP differs from Reno only where packets are marked.
  controls=$CONTROLS
  if [ "$ecn" = ecn ]; then controls="$controls dctcp"; else ecn=; fi
  for h in src1 dst1 src2 dst2; do on $h "ethtool -K data tso $offload gso $offload gro $offload >/dev/null"; done
  on rtr "tc qdisc del dev right root; tc qdisc del dev left root; true"
  on rtr "tc qdisc add dev left root netem delay ${rtt_ms}ms limit 20000"
  on rtr "tc qdisc add dev right root handle 1: htb default 1; tc class add dev right parent 1: classid 1:1 htb rate ${rate_mbit}mbit quantum 1514; tc qdisc add dev right parent 1:1 handle 10: $(queue)"
  on rtr "tc -s qdisc show dev right" > "/out/queue-$path"
  for control in $controls; do
    on src1 "modprobe -q tcp_$control; true"
    for h in src1 dst1; do
      on $h "nohup tcpdump -i data -s 100 -w /tmp/$control.pcap tcp port 5201 >/dev/null 2>&1 & echo \$! > /tmp/dump; sleep 0.3"
    done
    on dst1 "iperf3 -s -1 -D >/dev/null"
    case $cross in
      # A fifth of the rate, or another transfer.
      udp) cross_options="-u -b $(awk "BEGIN { print $rate_mbit / 5 }")M" ;;
      tcp) cross_options="-C cubic" ;;
    esac
    if [ "$cross" != - ]; then
      on dst2 "iperf3 -s -1 -D -p 5301 >/dev/null"
      on src2 "nohup iperf3 -c $CROSS_DST -p 5301 -t $((seconds + 2)) $cross_options >/dev/null 2>&1 & sleep 1"
    fi
    on src1 "sleep 0.2; iperf3 -c $DST -t $seconds -C $control >/dev/null"
    for h in src1 dst1; do
      on $h "sleep 0.3; kill \$(cat /tmp/dump); sleep 0.2; cp /tmp/$control.pcap /out/${h%1}-$control-$path.pcap; rm /tmp/$control.pcap"
    done
    # The cross traffic must have ended before the next transfer.
    if [ "$cross" != - ]; then on dst2 "for i in \$(seq 50); do pgrep iperf3 >/dev/null || break; sleep 0.2; done; pkill iperf3; true"; fi
  done
done 3< /share/paths.tsv
