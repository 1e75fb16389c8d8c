#!/bin/sh
# Records runs of mixed fate in $ADJUTANT_HOME, so that there is a history to look at: record.sh COUNT [PROGRAM]
# Nothing outside of that home and a temporary folder is touched.
set -eu
count=${1:?how many runs}
adjutant=${2:-adjutant}
: "${ADJUTANT_HOME:?set ADJUTANT_HOME to the home that the runs are recorded in}"
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf -- '- {kind: confirmation, answer: go}\n' > "$work/go.yaml"
printf -- '- {kind: confirmation, answer: go}\n- {kind: destructive, answer: y}\n' > "$work/yes.yaml"
printf -- '- {kind: confirmation, answer: go}\n- {kind: destructive, answer: n}\n' > "$work/no.yaml"
printf -- '- {kind: confirmation, answer: n}\n' > "$work/declined.yaml"

# A run of its own brief: number, script, answers, flags. How it ends is its own business.
record() {
    id=$(printf '2026-03-01-F%03d' "$1"); script=$2; answers=$3; shift 3
    mkdir -p "$work/$id"
    printf 'plums\napples\npears\n' > "$work/$id/orders.txt"
    sed "s/^project: fates/&\nbrief_id: $id/" "$here/brief.md" > "$work/$id.md"
    "$adjutant" run "$work/$id.md" --script "$here/$script.yaml" --workdir "$work/$id" "$@" \
        ${answers:+--answers "$work/$answers.yaml"} < /dev/null > /dev/null 2>&1 || true
}

number=0
while [ "$number" -lt "$count" ]; do
    case $((number % 10)) in
        0 | 5) record "$number" done go ;;
        1) record "$number" busy go ;;
        2) record "$number" blocked go
           "$adjutant" resume "$id" --context "by name" < /dev/null > /dev/null 2>&1 || true ;;
        3) record "$number" destructive yes ;;
        4) record "$number" destructive no ;;
        6) record "$number" endless go --max-turns 4 ;;
        7) record "$number" stubborn go ;;
        8) case $((number / 10 % 3)) in
               0) record "$number" failing go ;;
               1) record "$number" flaky go ;;
               2) record "$number" blocked go ;;
           esac ;;
        9) case $((number / 10 % 2)) in
               0) record "$number" done "" ;;
               1) record "$number" done declined ;;
           esac ;;
    esac
    number=$((number + 1))
done
