# shellcheck shell=sh
# Kills a guest whose starter is gone: guard.sh FOLDER
# The starter writes the guest's process number to standard input, and another line once the guest has
# ended. If standard input ends before that line, the process is killed and its folder removed.
trap '' INT TERM HUP
read -r guest || guest=
read -r _ && exit
if [ -n "$guest" ]; then kill -KILL "$guest"; fi
rm -rf "$1"
