"""mango_trace: judge recorded robot rollouts offline.

Import what you need from the packages: :mod:`mango_trace.store` (datasets), :mod:`mango_trace.oracle`
(oracles), :mod:`mango_trace.evaluation` (judging), :mod:`mango_trace.verdicts` (the database) and
:mod:`mango_trace.queries` (questions in SQL).
"""

from importlib.metadata import version

__version__ = version("mango-trace")
"""Version of the distribution."""
