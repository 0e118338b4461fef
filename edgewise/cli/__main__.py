"""`python -m edgewise.cli`: the command `edgewise`."""

from edgewise.cli.app import main

main()
