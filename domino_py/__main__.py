"""`python -m domino_py`: the command line, where the `domino` script is not on the path."""

from domino_py.cli import main

if __name__ == "__main__":
    main()
