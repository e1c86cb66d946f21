"""Everything that runs a simulator: adapters, rollout loop, policies.

:class:`Recorder` writes down what happens in any evaluation loop; ``mango-trace record`` runs the
loops that come with the program.
"""

from recorder.recording import RecordedEnv, Recorder

__all__ = ["RecordedEnv", "Recorder"]
