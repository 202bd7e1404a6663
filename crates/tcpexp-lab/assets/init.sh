#!/bin/sh
# First process of a guest. Gets all it needs from its first file system; /lab has the job:
#   /lab/topology  creates the networks          /lab/hosts    addresses of the hosts
#   /lab/command   what to run; else a shell     /lab/out      if /out is to be handed out
# The last two may also come later: /lab/orders-follow.
# Console: the kernel, this script and the command's standard error are on ttyS0, the command's
# standard output is on ttyS1, and ttyS2 gets one line on how it all ended.
export PATH=/usr/bin HOME=/root TMPDIR=/tmp TERM=dumb
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm /run/sshd /run/netns /lab/pids
ln -s /proc/self/fd /dev/fd
mount -t devpts pts /dev/pts
mount -t tmpfs tmp /tmp
mount -t tmpfs -o size=90% out /out
mount -t tracefs trace /sys/kernel/tracing

finish() {
    echo "$1" >/dev/ttyS2
    poweroff -f
    # The machine ends while this sleeps.
    sleep 60
}

stty -opost </dev/ttyS0
stty -opost </dev/ttyS1
# shellcheck disable=SC2046
modprobe -a $(cat /lab/modules) || finish 'failed: a kernel module cannot be loaded'
sysctl -qw net.core.rmem_max=33554432 net.core.wmem_max=33554432
sh /lab/topology || finish 'failed: the networks cannot be created'

ssh-keygen -q -t ecdsa -N '' -C lab -f /root/.ssh/id_ecdsa
cp /root/.ssh/id_ecdsa.pub /root/.ssh/authorized_keys
while read -r name addresses; do
    # shellcheck disable=SC2086
    ip netns exec "$name" unshare --uts sh /lab/host "$name" $addresses ||
        finish "failed: $name has no sshd"
    # sshd writes its process number once it has started.
    tries=0
    until [ -s "/lab/pids/$name" ]; do
        tries=$((tries + 1))
        [ $tries -lt 1000 ] || finish "failed: $name has no sshd"
        sleep 0.01
    done
done </lab/hosts

cd / || finish 'failed: there is no file system'
if [ -e /lab/orders-follow ]; then
    # A write to the panic device: QEMU stops and saves the machine here, and guests resume here. Without
    # orders, the machine executes more instructions and writes again.
    until
        printf '\001' | dd of=/dev/port bs=1 seek=1285 2>/dev/null
        modprobe qemu_fw_cfg
        [ -e /sys/firmware/qemu_fw_cfg/by_name/opt/tcpexp/orders ]
    do
        modprobe -r qemu_fw_cfg
        counted=0
        while [ $counted -lt 300000 ]; do counted=$((counted + 1)); done
    done
    # shellcheck disable=SC2002
    cat /sys/firmware/qemu_fw_cfg/by_name/opt/tcpexp/orders/raw | busybox cpio -i -u 2>/dev/null ||
        finish 'failed: there are no orders'
    # By then the kernel makes its random numbers of the guest's own seed.
    sleep 5
fi

cd /root || finish 'failed: there is no /root'
if [ -e /lab/command ]; then
    setsid sh /lab/command </dev/null >/dev/ttyS1 2>/dev/ttyS0
    code=$?
else
    setsid -c bash -l </dev/ttyS0 >/dev/ttyS0 2>&1
    code=0
fi

if [ -e /lab/out ]; then
    modprobe -a virtio_pci 9pnet_virtio 9p
    # shellcheck disable=SC2015
    mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000 out /mnt &&
        cp -r /out/. /mnt/ && umount /mnt || finish 'failed: /out cannot be copied out'
fi
finish "exit $code"
