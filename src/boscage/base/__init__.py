"""What every other package uses: parts and their names, threads, progress, files written whole."""
