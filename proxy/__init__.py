"""Isthmus: a pair of proxies that carries storage replication over a WAN. ARCHITECTURE.md is the map."""

__version__ = "0.1.0"
