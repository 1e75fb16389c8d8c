#!/bin/sh
# Makes the name of a page out of its title.
printf '%s\n' "$1" | tr ' ' '-'
