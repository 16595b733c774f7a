"""A site's configuration: one TOML file, checked as a whole before anything starts.

`load` (`loading`) reads the file and walks the tree (`reading`) beside the models (`model`, with what values can be:
`values`, `names`, `units` with `validators`, `addresses`, `ranges`, `timetable`) into a draft of what is sound and a
list of `mistakes`. It lets `checks`, with `listener`, `portals` and `rates`, look at the draft for what is wrong
between keys, and `trust` and `listener` into the files that it names. It gives a frozen `SiteConfig`, or raises
`ConfigError` with every mistake at once: key, value, what is wrong, remedy. `schema` and `document` turn the same
models into the JSON Schema and the operator's page.
"""
