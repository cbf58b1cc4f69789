"""The small process of one attempt: starts the agent, outlives the control plane, writes exit.json."""
