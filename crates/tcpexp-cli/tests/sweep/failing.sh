# In a guest: hosts that stop answering and a disk that is full in the middle of a run. The run fails
# with its reason, nothing stays behind on any host, and in the end the sweep completes.
set -u
. /share/guest.sh

# failed WHAT TEXT: the run that goes on fails with a reason that has this text, and the next begins
failed() {
    end_of_run
    case $end in
        "failed "*"$2"*) say "$1: $end" ;;
        *) fail "$1: $end" ;;
    esac
}

next_run
sleep_ms 2500
ip link set dst1 down
failed 'a sink that hangs' 'dst1: '
router_first 'a sink that hangs'
ip link set dst1 up
sleep 130
while is_running; do sleep 0.2; done
is_clean 'a sink that hangs'
complete 'a sink that hangs'

out=/out/second
next_run
sleep_ms 2500
ip link set rtr down
failed 'a router that hangs' 'rtr: '
kill -INT "$driver"
sleep 130
ip link set rtr up
while is_running; do sleep 0.2; done
is_clean 'a router that hangs'
complete 'a router that hangs'

# A disk that is full before the captures are there.
out=/out/small
mkdir -p $out
mount -t tmpfs -o size=160k small $out
next_run
failed 'a full disk' 'No space left on device'
is_clean 'a full disk'
next_run
failed 'a disk that is still full' 'No space left on device'
while is_running; do sleep 0.2; done
mount -o remount,size=100m $out
complete 'a full disk'
connections_are_gone
say 'all is as it was'
