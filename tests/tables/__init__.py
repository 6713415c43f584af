"""Tables of cases that are one idea, gone through in one test: to collect thousands takes seconds."""

from .one_test import one_test as one_test
