"""First use: what `isthmus init` and `isthmus pair` write.

`wishes` is what an operator says of a new site; `sitefile` makes its file of that, with the words of `proxy.config`
beside each value, and has `proxy.config` check it. `invitation` is the line that one site's operator gives the
other's; `admission` puts the site that such a line tells of into a file, by means of `peertable`. `container` has what
runs a new site in a container. No I/O but in `admission`, and what `container` reads of this package.
"""
