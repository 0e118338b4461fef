"""Why the supersteps of a kernel ended: nothing is left to do, the largest number of supersteps was reached, a program
said so, or the run was interrupted."""

FINISHED, LIMITED, STOPPED, CANCELLED = range(4)
