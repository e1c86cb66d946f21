"""Speed, size and memory against what people do today, each figure a ratio within one run.

``python -m recorder.bench run FOLDER`` measures on the rollouts in ``FOLDER/libero-10``, ``table`` writes the
table of the README from what was measured, ``compare`` says which ratios fell against the figures that are
committed. Machines differ and are noisy: what is compared runs in turns, in one process where it can, and the
median of the turns counts.
"""
