"""Compiling loops over states to machine code, once for a machine: a process that finds it runs no compiler.

A loop that Python calls has the decorator :func:`loop`, a function that loops call has :func:`inner` and is
otherwise left as it is. ``__wrapped__`` of a loop is the plain function. A loop is in ``signals`` or
``oracle``, whose sources are what machine code is kept for, and

* says by its annotations what it takes: ``int``, ``float``, ``bool``, arrays with their axes
  (``Annotated[npt.NDArray[np.float64], Axes(2)]``), and named tuples of these,
* writes arrays into those that the caller made for it (``Axes(2, written=True)``); it allocates nothing,
* gives ``None``, an ``int`` or a ``bool``,
* raises nothing.

Arithmetic is IEEE's, in the order it is written in: no reassociation, no contraction. A division by zero
gives what numpy gives. No lock of Python's is held while a loop runs.
"""

from mango_trace.jit.keeping import is_compiled
from mango_trace.jit.loops import inlined, inner, loop
from mango_trace.jit.signature import Axes

__all__ = ["Axes", "inlined", "inner", "is_compiled", "loop"]
