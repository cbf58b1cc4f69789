"""The one way out of a sandbox: a proxy with an allow-list and relays, on sockets; the git gate is the folder beside it."""
