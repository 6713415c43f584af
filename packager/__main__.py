"""`python -m packager` is the command `packager`."""

from .cli import main

if __name__ == "__main__":
    raise SystemExit(main())
