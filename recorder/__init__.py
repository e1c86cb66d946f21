"""Everything that runs a simulator: adapters, rollout loop, policies."""
