"""LOMtree: fits, and Vowpal Wabbit beside them."""
