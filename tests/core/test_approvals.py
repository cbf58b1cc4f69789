"""What needs a person's approval: commands, hosts and paths, each refused without it and passing with it."""

from __future__ import annotations

import shlex
from fnmatch import fnmatchcase

import pytest
from tests.core.lives import event, job_in

from interlock.core.contract.around import ApprovalRule, Secret
from interlock.core.contract.policy import Policy
from interlock.core.gate.approval_defaults import DEFAULT_APPROVALS
from interlock.core.gate.approvals import (
    command_needing,
    hosts_allowed,
    hosts_needing,
    names_of,
    paths_needing,
    programs,
    rules_from,
    rules_of,
    rules_to,
    signs,
)
from interlock.core.gate.changes import Change
from interlock.core.job.lifecycle import State, apply
from interlock.core.sandbox import Host

RULES = (
    ApprovalRule(
        name="deploy",
        commands=("terraform apply*", "tool * go", "bare *"),
        hosts=("api.cloudflare.com",),
        paths=("infra/**",),
    ),
    ApprovalRule(name="dns", hosts=("*.dns.example",), paths=("infra/dns/**", "zones/*.zone")),
)


def needs(line: str, rules: tuple[ApprovalRule, ...] = DEFAULT_APPROVALS, *approved: str) -> str | None:
    name = command_needing(rules, approved, shlex.split(line))
    if name is not None:
        # The quick look of the guard's script may never miss what the rule would find.
        words = shlex.split(line)
        assert words[0] in programs(rules)
        quick = signs(rules, words[0])
        assert "*" in quick or any(fnmatchcase(word, sign) for word in words[1:] for sign in quick)
    return name


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("terraform apply", "deploy"),
        ("terraform -chdir=infra apply -auto-approve", "deploy"),
        ("terraform -chdir infra destroy", "deploy"),
        ("kubectl -n prod apply -f x.yaml", "deploy"),
        ("kubectl --context prod delete pod x", "deploy"),
        ("helm upgrade --install web ./chart", "deploy"),
        ("vercel deploy --prebuilt --prod", "deploy"),
        ("gcloud --project x run deploy web", "deploy"),
        ("npm publish --access public", "deploy"),
        ("docker push registry/x", "deploy"),
        ("git push heroku main", "deploy"),
        ("ansible-playbook site.yml", "deploy"),
        ("aws --region x route53 change-resource-record-sets --hosted-zone-id z", "dns"),
        ("gcloud dns record-sets delete x", "dns"),
        ("az network dns record-set a add-record -g x", "dns"),
        ("nsupdate", "dns"),
        ("nsupdate -k key file", "dns"),
        ("stripe charges create --live", "billing"),
        ("gcloud billing budgets create x", "billing"),
        ("psql prod", "production-data"),
        ("psql -h prod-db.internal -U me app", "production-data"),
        ("psql --host=db.prod.internal", "production-data"),
        ("psql postgres://u:p@shop-production/x", "production-data"),
        ("pg_dump -d production_main", "production-data"),
        ("redis-cli -h prod1 FLUSHALL", "production-data"),
        ("dropdb shop_prod", "production-data"),
        ("heroku pg:reset", "production-data"),
        ("kubectl -n x exec web -- sh", "production-data"),
        ("aws s3 rm s3://bucket --recursive", "broad-delete"),
        ("aws s3 sync --delete . s3://bucket", "broad-delete"),
        ("gsutil -m rm -r gs://x", "broad-delete"),
        ("docker system prune -af", "broad-delete"),
        ("gh repo delete x/y", "broad-delete"),
        ("gcloud projects delete x", "broad-delete"),
    ],
)
def test_a_command_of_the_built_in_list_waits_for_its_approval(line: str, name: str) -> None:
    assert needs(line) == name
    assert needs(line, DEFAULT_APPROVALS, name) is None
    others = tuple(rule.name for rule in DEFAULT_APPROVALS if rule.name != name)
    assert needs(line, DEFAULT_APPROVALS, *others) == name


@pytest.mark.parametrize(
    "line",
    [
        "terraform plan",
        "terraform apply --help",
        "terraform validate",
        "terraform plan -out apply",
        "kubectl get pods",
        "kubectl get apply-sets",
        "kubectl apply --dry-run=client -f x",
        "kubectl config set-context x",
        "kubectl logs deploy/web",
        "helm template web",
        "helm list",
        "npm run publish",
        "npm install",
        "npm publish --dry-run",
        "pnpm test publish",
        "docker build -t push .",
        "docker compose up",
        "docker volume ls",
        "git push origin agent/x",
        "git push",
        "git commit -m 'deploy to production'",
        "vercel dev",
        "gcloud config list",
        "aws s3 ls",
        "aws s3 rm s3://bucket/one",
        "aws route53 list-hosted-zones",
        "psql app_test",
        "psql -d products",
        "psql reproduction",
        "psql -h localhost -U test shop",
        "dropdb app_test",
        "redis-cli FLUSHALL",
        "uv sync",
        "cargo test publish",
        "rm -rf build",
        "heroku logs",
        "stripe listen",
        "rclone ls x",
        "twine check dist/*",
    ],
)
def test_a_harmless_command_is_not_caught(line: str) -> None:
    assert needs(line) is None


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("terraform apply", "deploy"),
        ("/opt/bin/terraform apply", "deploy"),
        ("terraform applyall", "deploy"),
        ("terraform plan apply", None),
        ("terraform -a -b c apply", "deploy"),
        ("terraform apply -- --help", "deploy"),
        ("tool a b c go", "deploy"),
        ("tool go", "deploy"),
        ("tool stay", None),
        ("bare", "deploy"),
        ("other apply", None),
    ],
)
def test_a_pattern_is_words_in_their_order(line: str, found: str | None) -> None:
    words = shlex.split(line)
    assert command_needing(RULES, (), words) == found


def test_only_plain_programs_can_be_guarded() -> None:
    rules = (ApprovalRule(name="x", commands=("*deploy*", "a/b c", "make deploy*", "x;y z", "")),)
    assert programs(rules) == ("make",)
    assert signs(RULES, "terraform") == ("apply*",)
    assert signs(RULES, "bare") == ("*",)


def test_rules_reach_the_guards_as_they_are() -> None:
    assert rules_from(rules_to(RULES)) == (ApprovalRule(name="deploy", commands=RULES[0].commands),)


def test_the_policys_own_rules_replace_the_built_in_ones() -> None:
    assert rules_of(Policy()) == DEFAULT_APPROVALS
    assert rules_of(Policy(approvals=RULES)) == RULES
    secrets = (Secret(name="A", variable="A", approval="vault"), Secret(name="B", variable="B", approval="dns"))
    assert names_of(Policy(approvals=RULES, secrets=secrets)) == ("deploy", "dns", "vault")


# ---------------------------------------------------------------- hosts
@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("api.cloudflare.com", "deploy"),
        ("API.Cloudflare.com.", "deploy"),
        ("*.cloudflare.com", "deploy"),
        ("*.com", "deploy"),
        ("x.dns.example", "dns"),
        ("*.dns.example", "dns"),
        ("*.y.dns.example", "dns"),
        ("*.example", "dns"),
        ("cloudflare.com", None),
        ("dns.example", None),
        ("api.cloudflare.com.evil.example", None),
        ("xapi.cloudflare.com", None),
        ("pypi.org", None),
    ],
)
def test_a_host_is_let_in_only_when_its_approval_is_there(host: str, name: str | None) -> None:
    hosts = (Host(name=host, port=8443), Host(name="pypi.org"))
    waiting = hosts_needing(RULES, (), hosts)
    assert waiting == (((name, host),) if name else ())
    assert hosts_allowed(RULES, (), hosts) == (hosts[1:] if name else hosts)
    assert hosts_allowed(RULES, {name: "ana"} if name else (), hosts) == hosts
    assert hosts_allowed(RULES, ("other",), hosts) == (hosts[1:] if name else hosts)


def test_a_host_of_two_rules_needs_both() -> None:
    rules = (*RULES, ApprovalRule(name="both", hosts=("api.cloudflare.com",)))
    hosts = (Host(name="api.cloudflare.com"),)
    assert hosts_allowed(rules, ("deploy",), hosts) == ()
    assert hosts_allowed(rules, ("deploy", "both"), hosts) == hosts


# ---------------------------------------------------------------- paths
def change(path: str) -> Change:
    return Change(path=path, status="M", old_mode=0o100644, new_mode=0o100644)


def test_changed_paths_wait_by_name_until_each_is_approved() -> None:
    changes = tuple(map(change, ("src/a.py", "infra/dns/a.tf", "infra/b.tf", "zones/x.zone", "zones/deep/y.zone")))
    assert paths_needing(RULES, (), changes) == (
        ("deploy", "infra/dns/a.tf"),
        ("deploy", "infra/b.tf"),
        ("dns", "infra/dns/a.tf"),
        ("dns", "zones/x.zone"),
    )
    assert paths_needing(RULES, ("deploy",), changes) == (("dns", "infra/dns/a.tf"), ("dns", "zones/x.zone"))
    assert paths_needing(RULES, {"deploy": "ana", "dns": "bo"}, changes) == ()
    assert paths_needing(RULES, (), changes[:1]) == ()


def test_a_deleted_path_waits_too() -> None:
    gone = Change(path="infra/x.tf", status="D", old_mode=0o100644, new_mode=0)
    assert paths_needing(RULES, (), (gone,)) == (("deploy", "infra/x.tf"),)


# ---------------------------------------------------------------- the job
def test_an_approval_is_the_jobs_own_whatever_its_head_and_names_who_gave_it() -> None:
    job = job_in(State.WAITING)
    assert job.approved == {}
    job = apply(job, event(job.id, "job.note", actor="ana", approved="deploy"))
    job = apply(job, event(job.id, "job.note", actor="bo", approved="dns"))
    assert job.approved == {"deploy": "ana", "dns": "bo"}
    for kind in ("job.retry", "attempt.started", "attempt.worked"):
        job = apply(job, event(job.id, kind, attempt=2))
    assert job.approved == {"deploy": "ana", "dns": "bo"}


def test_nothing_but_a_note_approves() -> None:
    job = job_in(State.RUNNING)
    job = apply(job, event(job.id, "attempt.worked", attempt=1, approved="deploy"))
    assert job.approved == {}
