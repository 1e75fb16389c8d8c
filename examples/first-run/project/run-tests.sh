#!/bin/sh
# Runs all tests and says how many failed. Needs a POSIX shell and awk.
cd "$(dirname "$0")" || exit 1
failed=0

check() {
    actual=$(printf '%b' "$2" | awk -f invoice.awk)
    if [ "$actual" = "$3" ]; then
        echo "ok      $1"
    else
        echo "FAILED  $1: expected $3, got $actual"
        failed=$((failed + 1))
    fi
}

check 'an empty order costs nothing' '' '0.00'
check 'pieces are multiplied by their price' 'screw,3,25\n' '0.75'
check 'items are added up' 'screw,3,25\nhinge,2,1050\n' '21.75'
check 'comments are left out' '# March\nscrew,4,25\n' '1.00'
check 'eleven pieces cost a tenth less' 'hinge,11,100\n' '9.90'
check 'ten pieces cost a tenth less' 'hinge,10,100\n' '9.00'

echo "$failed failed"
[ "$failed" -eq 0 ]
