"""A report as one HTML page that needs no script and no other file: it contains its plots."""

import base64
from collections.abc import Sequence
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from bench.replay import plots
from bench.replay.document import Report
from bench.replay.markdown import markdown

STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.2; } h2 { margin-top: 3rem; border-bottom: 1px solid #8888; }
table { border-collapse: collapse; display: block; overflow-x: auto; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #8884; white-space: nowrap; }
th { white-space: normal; }
img { max-width: 100%; background: #fff; }
"""


def page(report: Report) -> str:
    """The whole file."""
    pictures = {plot.name: plots.svg(plot) for plot in report.plots}

    def image(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
        picture = base64.b64encode(pictures[str(tokens[index].attrs["src"])]).decode()
        return f'<img alt="{escape(tokens[index].content)}" src="data:image/svg+xml;base64,{picture}">'

    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    reader.add_render_rule("image", image)
    body = reader.render(markdown(report, lambda plot: plot.name))
    head = f'<meta charset="utf-8"><title>{escape(report.title)}</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}</body></html>\n'
