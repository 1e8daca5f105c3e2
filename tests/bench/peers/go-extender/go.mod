module plimsoll/bench/go-extender

go 1.19
