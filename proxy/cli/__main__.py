"""`python -m proxy.cli` is `isthmus`, for where the script is not on the path."""

from proxy.cli import main

main()
