"""Graphs changed so that a GPU runs faster over them, by a stated number of edges that were not there.

Nothing here happens unasked: a function takes a graph and a knob and gives another graph, with what was added, on which
everything runs as on any graph; `evaluate` measures what that gains and what it costs.

Reference. Singh and Nasre, "Graffix: Efficient Graph Processing with a Tinge of GPU-Specific Approximations", ICPP
2020.
"""

from edgewise.approx.clusters import form_clusters as form_clusters
from edgewise.approx.coalesce import coalesce as coalesce
from edgewise.approx.coefficients import clustering_coefficients as clustering_coefficients
from edgewise.approx.confluence import mean_confluence as mean_confluence
from edgewise.approx.core import Core as Core
from edgewise.approx.core import core_graph as core_graph
from edgewise.approx.degree import normalize_degrees as normalize_degrees
from edgewise.approx.loading import load as load
from edgewise.approx.measure import Evaluation as Evaluation
from edgewise.approx.measure import evaluate as evaluate
from edgewise.approx.refine import Refined as Refined
from edgewise.approx.refine import two_phase as two_phase
from edgewise.approx.suggestions import Suggested as Suggested
from edgewise.approx.suggestions import Suggestion as Suggestion
from edgewise.approx.suggestions import suggest as suggest
from edgewise.approx.sweeping import Sweep as Sweep
from edgewise.approx.sweeping import sweep as sweep
from edgewise.approx.transformed import Approximate as Approximate

__all__ = [
    "Approximate",
    "Core",
    "Evaluation",
    "Refined",
    "Suggested",
    "Suggestion",
    "Sweep",
    "clustering_coefficients",
    "coalesce",
    "core_graph",
    "evaluate",
    "form_clusters",
    "load",
    "mean_confluence",
    "normalize_degrees",
    "suggest",
    "sweep",
    "two_phase",
]
