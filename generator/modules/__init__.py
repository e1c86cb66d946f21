"""The paper's three modules: atomic tasks, atomic oracles, the oracle of an instruction."""
