"""`isthmus bench`: the field's own tests, replayed on emulated lines and real iSCSI, beside what was published.

A `Suite` (`suite`) is a list of `Trial`s; each measures one or more cells and yields an `Outcome` of `Figure`s for
each. `suites` names all suites, of which each is a module. `runner` measures one trial after another and keeps each
outcome at once (`records`: a JSON file for each cell and repeat), so that a run goes on where it was interrupted;
`progress` shows it. `results` puts repeats together, a suite's report makes sections of tables, plots and findings from
them (`document`), and `reporting` writes these. `flow` sends volumes over lines, `published_lines` are those of the
arrays' makers, `tunnels` are the alternatives to Isthmus. `arrays` has real iSCSI targets at the ends of lines, `turns`
moves volumes between these, `writers` and `fio` work on them, and `tcp_counters` says how much was sent again.
`command` is what the command line calls.
"""
