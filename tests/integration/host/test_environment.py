"""The allow-list: what is inherited, what never is."""

from __future__ import annotations

from interlock.host import environment

OUTER = {
    "PATH": "/bin",
    "HOME": "/root",
    "LC_ALL": "C.UTF-8",
    "SSL_CERT_FILE": "/certs",
    "TERM": "xterm-256color",
    "GIT_DIR": "/elsewhere",
    "GIT_CONFIG_COUNT": "1",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "OPENAI_API_KEY": "secret",
    "SSH_AUTH_SOCK": "/agent",
    "VIRTUAL_ENV": "/venv",
    "INTERLOCK_JOB": "another",
    "INTERLOCK_STORE": "postgresql://user:password@host/db",
}


def test_only_the_list_is_inherited() -> None:
    assert environment.exact({}, source=OUTER) == {
        "PATH": "/bin",
        "HOME": "/root",
        "LC_ALL": "C.UTF-8",
        "SSL_CERT_FILE": "/certs",
        "TERM": "dumb",
    }


def test_the_tasks_values_come_last() -> None:
    got = environment.exact({"PATH": "/own", "APP_PORT": "3010", "INTERLOCK_JOB": "j1"}, source=OUTER)
    assert (got["PATH"], got["APP_PORT"], got["INTERLOCK_JOB"]) == ("/own", "3010", "j1")


def test_the_policy_may_name_more_but_nothing_that_redirects_a_repository() -> None:
    values = {environment.PASSED: "OPENAI_API_KEY GIT_DIR INTERLOCK_STORE NOT_SET"}
    got = environment.exact(values, source=OUTER)
    assert got["OPENAI_API_KEY"] == "secret"
    assert not {"GIT_DIR", "INTERLOCK_STORE", "NOT_SET", environment.PASSED} & got.keys()
