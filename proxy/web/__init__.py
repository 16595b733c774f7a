"""HTTP for operators and their tools: health, status, metrics, and the page.

Reads snapshots, and asks the site to drain or reload, nothing else.
"""
