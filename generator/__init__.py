"""Writing oracles: by rules and with language models; modules I to III, what was asked, cost and cache."""
