"""`python -m packager` is the command `kellet`."""

from ._cli import main

if __name__ == "__main__":
    raise SystemExit(main())
