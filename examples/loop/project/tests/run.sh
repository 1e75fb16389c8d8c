#!/bin/sh
# Compares what slug.sh makes of some titles with what it should.
failed=0
expect() {
    made=$(sh ./slug.sh "$1")
    if [ "$made" != "$2" ]; then
        echo "FAILED: '$1' became '$made', not '$2'"
        failed=1
    fi
}
expect 'hello world' 'hello-world'
expect 'Hello World' 'hello-world'
expect 'two  spaces' 'two-spaces'
[ "$failed" = 0 ] && echo 'all passed'
exit "$failed"
