# shellcheck shell=sh
# Makes a namespace look like a host of its own, run within it: host.sh NAME ADDRESS...
# Its own name, keys, temporary folder and trace files; the rest of the file system is everyone's. A
# process can enter it by the namespaces of its sshd, whose number is in /lab/pids/NAME.
set -e
hostname "$1"
mount -t tracefs trace /sys/kernel/tracing
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
mkdir /run/sshd
ssh-keygen -q -t ecdsa -N '' -C "$1" -f "/etc/ssh/$1"
read -r kind key _ <"/etc/ssh/$1.pub"
echo "$1 $kind $key" >>/root/.ssh/known_hosts
name=$1
shift
for address; do set -- "$@" -o "ListenAddress=$address" && shift; done
exec /usr/sbin/sshd -f /etc/ssh/sshd_config "$@" -o "HostKey=/etc/ssh/$name" -o "PidFile=/lab/pids/$name"
