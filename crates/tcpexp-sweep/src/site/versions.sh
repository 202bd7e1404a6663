# shellcheck shell=sh
# Prints the system of a host and the versions of its tools, for whoever reads the results later.
uname -a
newline='
'
for tool in tc tcpdump iperf iperf3 ethtool ssh; do
    case $tool in tc | ssh) option=-V ;; *) option=--version ;; esac
    # Only the first line.
    version=$($tool $option 2>&1) || :
    echo "$tool: ${version%%"$newline"*}"
done
sysctl net.ipv4.tcp_congestion_control net.ipv4.tcp_rmem net.ipv4.tcp_wmem net.core.rmem_max \
    net.ipv4.tcp_ecn 2>/dev/null || :
ip -o link 2>/dev/null || ifconfig
tc qdisc show 2>/dev/null || :
