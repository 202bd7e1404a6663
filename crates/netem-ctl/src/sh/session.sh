# shellcheck shell=sh
# Runs the scripts on standard input, one after another. Each follows a line
#   BYTES SECONDS MARK
# with its length, its time limit, and a word that is not in its output. An empty line and the line
# `MARK begin` come before its output, on standard output and standard error: the text of the login comes
# before them, and may lack a line end.
# After its output come the line MARK CODE with its exit code on standard output, and the line MARK on
# standard error.
limit=
# `-k 2` kills a script that ignores SIGTERM.
command -v timeout >/dev/null 2>&1 && limit='timeout -k 2'
while read -r bytes seconds mark; do
    script=$(head -c "$bytes")
    code=0
    printf '\n%s begin\n' "$mark"
    printf '\n%s begin\n' "$mark" >&2
    # shellcheck disable=SC2086 # words are what it holds
    printf '%s\n' "$script" | ${limit:+$limit $seconds} /bin/sh -eu -s || code=$?
    printf '\n%s %d\n' "$mark" "$code"
    printf '\n%s\n' "$mark" >&2
done
