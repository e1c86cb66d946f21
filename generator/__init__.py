"""Writing oracles with language models: modules I to III, agents, models, cost and cache."""
