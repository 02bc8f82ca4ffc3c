"""What users bring: tables, columns, categories, labels and weights, checked and made ready."""
