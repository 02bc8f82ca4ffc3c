"""``python -m boscage`` is the same as the command ``boscage``."""

from boscage.cli import main

if __name__ == "__main__":
    main()
