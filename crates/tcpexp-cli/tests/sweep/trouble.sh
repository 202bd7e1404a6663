# In a guest: hosts that cannot take part in a sweep, and somebody who ends it. Nothing stays behind on
# any host, and in the end it completes.
set -u
. /share/guest.sh
RANDOM=815

# refused WHAT EXPECTED...: a sweep that cannot begin says just this, and has changed nothing
refused() {
    what=$1
    shift
    rm -rf /out/refused
    tcpexp sweep /share/plan.toml -o /out/refused >/test/sweep.log 2>&1 && fail "$what: not refused"
    grep -v 'runs remain' /test/sweep.log >/test/said
    printf '%s\n' "$@" | cmp -s - /test/said || fail "$what: $(printf '%s\n' "$@" | diff - /test/said)"
    is_clean "$what"
    [ -z "$(ls -A /out/refused/runs)" ] || fail "$what: there is a run"
    ! grep '"event":"command"' /out/refused/journal.jsonl | grep -v '"phase":"preflight"' ||
        fail "$what: more than a look"
    rm -rf /out/refused
    say "$what: $1"
}

# None of the tools' connections is to outlive what is done to a host.
hang_up() { pkill -x ssh; }

known=/root/.ssh/known_hosts
cp $known /test/known
key=$(sed -n 's/^src1 //p' $known)
sed -i "s|^rtr .*|rtr $key|" $known
refused 'a changed key' \
    'tcpexp: rtr: its host key differs from the known one; if the change is expected, remove the old key with ssh-keygen -R'
mv /test/known $known

at dst1 'mount --bind /etc/hostname /usr/bin/iperf3'
refused 'a missing tool' 'tcpexp: dst1: iperf3 is not installed'
at dst1 'umount /usr/bin/iperf3'
at rtr 'mount --bind /etc/hostname /usr/bin/setsid'
refused 'a tool that the path needs' \
    'tcpexp: rtr: setsid missing: install iproute2, ethtool and util-linux'
at rtr 'umount /usr/bin/setsid'

# A user with our key and without rights, on a host with and without sudo.
echo 'weak:x:1000:1000::/var/weak:/bin/sh' >>/etc/passwd
echo 'weak:*:19000:0:99999:7:::' >>/etc/shadow
mkdir -p /var/weak/.ssh
cp /root/.ssh/authorized_keys /var/weak/.ssh/
cp /root/.ssh/config /test/config
sed -i '/^Host src1$/a\  User weak' /root/.ssh/config
hang_up
[ ! -e /usr/bin/sudo ] || at src1 'mount --bind /etc/hostname /usr/bin/sudo'
refused 'no sudo' 'tcpexp: src1: the user is not root, and sudo is not installed'
[ ! -e /usr/bin/sudo ] || at src1 'umount /usr/bin/sudo'
mv /test/config /root/.ssh/config
hang_up

ip link set dst1 down
refused 'a host that hangs' 'tcpexp: dst1: the host does not respond'
ip link set dst1 up

sed 's/^Host dst1$/&\n  Port 23/' /root/.ssh/config >/test/config
mv /root/.ssh/config /test/config.was && mv /test/config /root/.ssh/config
refused 'a host that refuses' \
    'tcpexp: dst1: connection refused: is sshd running there, on this port?'
mv /test/config.was /root/.ssh/config

at rtr 'tc qdisc add dev right root handle 5: pfifo limit 9'
state src1 rtr dst1 >/test/before 2>&1
refused 'a queue of somebody' \
    'tcpexp: rtr: right has a foreign queue (pfifo 5:): remove it first, because it cannot be restored'
at rtr 'tc qdisc del dev right root'
state src1 rtr dst1 >/test/before 2>&1

# interrupted SIGNAL LOW HIGH: asks it to end, so many ms after a run begins
interrupted() {
    next_run
    random $(($3 - $2))
    point_ms=$(($2 + random))
    sleep_ms $point_ms
    asked=$(date_ms)
    kill -s "$1" "$driver"
    while is_running; do sleep 0.02; done
    took_ms=$(($(date_ms) - asked))
    is_clean "$1 at $point_ms ms"
    router_first "$1"
    say "$1 at $point_ms ms: all cleared $took_ms ms later"
}
# The shell ignores SIGINT in its background jobs, but a sweep does not.
interrupted INT 100 4000
interrupted INT 2000 3500
interrupted TERM 2000 3500

complete 'interrupted'
connections_are_gone
say 'all is as it was'
