"""`python -m edgewise.cli`: the command `edgewise`."""

from edgewise.cli.app import main
from edgewise.early import all_imported

all_imported()
main()
