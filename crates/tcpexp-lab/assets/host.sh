# Makes a namespace look like a host of its own, run within it: host.sh NAME ADDRESS
# Its own name, temporary folder and trace files; the rest of the file system is everyone's.
set -e
hostname "$1"
mount -t tracefs trace /sys/kernel/tracing
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
mkdir /run/sshd
exec /usr/sbin/sshd -f /etc/ssh/sshd_config -o "ListenAddress=$2"
