"""The generator's study: the MANGO paper's first, third and fourth research questions.

``python -m generator.study rq1`` asks how good what each configuration writes is, ``rq3`` what is lost
without a module, ``rq4`` how few instructions give the same library of atomic tasks. What a run wrote is kept
and scored again at will; a run that is there is not repeated. See docs/study.md.
"""
