"""From parts and data to a tree: growing, finishing, and the base class of estimators."""
