"""The theory of top-down growing in use: edges, promised drops, how many splits suffice, and when trees must be large.

Every bound has two forms, ``form="sharp"`` (the default) and ``form="printed"``, as in the paper it comes from.
"""

from boscage.duplication import duplication_bound
from boscage.theory.curves import effective_edge, inverse_entropy, potential_bound, splits_needed
from boscage.theory.drops import (
    entropy_drop,
    gini_drop,
    promised_drop,
    spread_of_children,
    sqrt_drop,
    taylor_drop,
)
from boscage.theory.edges import EDGES, balanced_weights, edge, node_edges
from boscage.theory.lower_bounds import (
    majority_curve,
    majority_rows,
    weak_test_curve,
    weak_test_error,
    weak_test_rows,
)
from boscage.theory.margins import binomial_margin, margin_depth, margin_tree
from boscage.theory.permissible import Permissibility, check_permissible
from boscage.theory.report import BoostingReport, boosting_report
from boscage.theory.separation import (
    SEPARATIONS,
    balance_bounds,
    concavity_drop,
    concavity_modulus,
    node_separations,
    potential_range,
    purity_bound,
    separation,
    separation_drop,
    separation_potential,
    separation_splits_needed,
)

__all__ = [
    "EDGES",
    "SEPARATIONS",
    "BoostingReport",
    "Permissibility",
    "balance_bounds",
    "balanced_weights",
    "binomial_margin",
    "boosting_report",
    "check_permissible",
    "concavity_drop",
    "concavity_modulus",
    "duplication_bound",
    "edge",
    "effective_edge",
    "entropy_drop",
    "gini_drop",
    "inverse_entropy",
    "majority_curve",
    "majority_rows",
    "margin_depth",
    "margin_tree",
    "node_edges",
    "node_separations",
    "potential_bound",
    "potential_range",
    "promised_drop",
    "purity_bound",
    "separation",
    "separation_drop",
    "separation_potential",
    "separation_splits_needed",
    "splits_needed",
    "spread_of_children",
    "sqrt_drop",
    "taylor_drop",
    "weak_test_curve",
    "weak_test_error",
    "weak_test_rows",
]
