# shellcheck shell=sh
# Ends a guest when the one who started it is gone, however it went: guard.sh FOLDER
# Standard input is a pipe from there: the number of the guest's process, then, once it has ended,
# another line. If that line does not come, the process and its folder are removed.
trap '' INT TERM HUP
read -r guest || guest=
read -r _ && exit
if [ -n "$guest" ]; then kill -KILL "$guest"; fi
rm -rf "$1"
