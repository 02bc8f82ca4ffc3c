"""Growing trees by passes over the rows: what each family asks, and what it makes of the answers."""
