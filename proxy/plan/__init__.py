"""What a line can do, computed: pure arithmetic, which knows neither sockets nor files.

A guided tour. `line` is a line's rate, round trip, loss and MTU, and what follows from them: payload, goodput, the
bandwidth-delay product and the kernel's buffers. `congestion` says what one TCP connection gets of it under loss.
`windows` is what a window allows whatever the line, and the table of it. `replication` puts these together: how long a
volume of changes takes with the arrays alone and with Isthmus. `zones` answers whether a faster line would help.

Rates are bits a second, sizes bytes, times seconds, shares 0 to 1.
"""
