"""Changes the code at random and asks the tests: `make mutants`, or `python -m tests.mutants --help`.

A mutant is the code with one small fault: a comparison turned around, a check left out, another
constant. A test that fails has caught it. What no test catches is printed as a change to the code;
it is either a fault that the tests would not notice, or one that changes nothing that matters, which
only a reader can tell. The judgements stand in `equivalent.toml`, and are not asked for again.

- `faults.py`: which faults there are, found in the syntax tree of a file;
- `nearness.py`: which tests are near to a fault, by the words that they share with its function;
- `asking.py`: a fault put into functions that are loaded, and the tests asked, in a child of a process
  that has collected them all;
- `trying.py`: a fault in a copy of the checkout, for those outside of functions;
- `judged.py`: what a reader has judged;
- `__main__.py`: draws mutants by a seed, tries them side by side, and prints the survivors.
"""
