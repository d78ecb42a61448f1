"""The reward service as an environment of others: OpenEnv's protocol, Harbor's task folders, a taskset of verifiers."""
