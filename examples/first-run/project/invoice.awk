# Prints what an order costs. Each line of an order is `item,quantity,price in cents`; lines that begin
# with `#` and empty lines are left out. Ten pieces or more of one item cost a tenth less.
BEGIN { FS = "," }

/^#/ || NF == 0 { next }

{
    cost = $2 * $3
    if ($2 > 10) {
        cost = cost - int(cost / 10)
    }
    total = total + cost
}

END { printf "%d.%02d\n", int(total / 100), total % 100 }
