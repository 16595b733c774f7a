"""A site's configuration: one TOML file, checked as a whole before anything starts.

`load` (`loading`) reads the file. `reading` walks the TOML tree and the models side by side (`model`, with what values
can be: `values`, `names`, `units` with `validators`, `addresses`, `ranges`, `timetable`), and makes a draft of what is
sound and a list of `mistakes`. Then `checks`, with `listener`, `portals` and `rates`, look in the draft for what is
wrong between keys; `trust` and `listener` look into the files that it names. `load` gives a frozen `SiteConfig`, or
raises `ConfigError` with every mistake at once: key, value, what is wrong, remedy. `difference` says what of a file
that was changed a running site takes over. `schema` and `document` turn the same models into the JSON Schema and the
operator's page.
"""
