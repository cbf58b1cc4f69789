"""The approvals that hold where a policy names none: deploy, dns, billing, production data and broad deletes."""

from __future__ import annotations

from typing import Final

from interlock.core.contract.around import ApprovalRule

_CLIENTS: Final = (
    "createdb",
    "dropdb",
    "mongorestore",
    "mongosh",
    "mysql",
    "mysqldump",
    "pg_dump",
    "pg_restore",
    "psql",
    "redis-cli",
)
# A name of which "prod" or "production" is a whole word: db.prod.internal, prod-db, --host=shop_production.
_PRODUCTION: Final = tuple(
    f"{before}{word}{after}"
    for word in ("prod", "production")
    for before in ("", "*[!a-zA-Z]")
    for after in ("", "[!a-zA-Z]*")
)

DEFAULT_APPROVALS: Final = (
    ApprovalRule(
        name="deploy",
        commands=(
            *(f"{tool} {verb}" for tool in ("terraform", "tofu") for verb in ("apply", "destroy", "import")),
            *(f"pulumi {verb}" for verb in ("up", "update", "destroy")),
            *(
                f"kubectl {verb}"
                for verb in ("apply", "create", "delete", "patch", "replace", "rollout", "scale", "set")
            ),
            *(f"helm {verb}" for verb in ("install", "rollback", "uninstall", "upgrade", "push")),
            *(f"cdk {verb}" for verb in ("deploy", "destroy")),
            *(f"{tool} deploy" for tool in ("sam", "serverless", "sls", "fly", "flyctl", "wrangler", "firebase", "eb")),
            *(f"{tool} --prod*" for tool in ("vercel", "netlify")),
            *(f"gcloud {service} deploy" for service in ("app", "functions", "run")),
            *(f"aws cloudformation {verb}-stack" for verb in ("create", "delete", "update")),
            "aws cloudformation deploy",
            "aws ecs update-service",
            "aws lambda update-function-*",
            "ansible-playbook *",
            "argocd app sync",
            "heroku releases:rollback",
            "skaffold run",
            *(f"{tool} publish" for tool in ("npm", "pnpm", "yarn", "cargo", "poetry", "uv")),
            "twine upload",
            "gem push",
            *(f"{tool} push" for tool in ("docker", "podman")),
            *(f"git push {remote}" for remote in ("heroku", "production", "deploy")),
        ),
        hosts=(
            "api.vercel.com",
            "api.netlify.com",
            "api.fly.io",
            "api.heroku.com",
            "app.terraform.io",
            "upload.pypi.org",
        ),
        paths=("infra/**", "terraform/**", "**/*.tf", "**/*.tfvars"),
    ),
    ApprovalRule(
        name="dns",
        commands=(
            "nsupdate *",
            *(f"aws route53 {verb}" for verb in ("change-*", "create-*", "delete-*")),
            *(f"gcloud dns record-sets {verb}" for verb in ("create", "delete", "transaction", "update")),
            "gcloud dns managed-zones delete",
            *(f"az network dns * {verb}" for verb in ("add-record", "create", "delete", "update")),
            *(f"doctl compute domain {verb}" for verb in ("create", "delete", "records")),
            *(f"flarectl dns {verb}" for verb in ("create*", "delete", "update")),
        ),
        hosts=(
            "api.cloudflare.com",
            "api.dnsimple.com",
            "api.godaddy.com",
            "dns.googleapis.com",
            "route53.amazonaws.com",
        ),
        paths=("dns/**", "**/*.zone"),
    ),
    ApprovalRule(
        name="billing",
        commands=(
            "stripe --live",
            *(f"gcloud billing * {verb}" for verb in ("create", "delete", "link", "unlink", "update")),
            *(f"aws budgets {verb}-*" for verb in ("create", "delete", "update")),
        ),
        hosts=("api.stripe.com", "api.paypal.com", "api-m.paypal.com", "api.paddle.com", "cloudbilling.googleapis.com"),
    ),
    ApprovalRule(
        name="production-data",
        commands=(
            *(f"{client} {name}" for client in _CLIENTS for name in _PRODUCTION),
            *(f"heroku {verb}" for verb in ("pg:*", "run*")),
            "kubectl exec",
        ),
    ),
    ApprovalRule(
        name="broad-delete",
        commands=(
            "aws s3 rm --recursive",
            "aws s3 rb --force",
            "aws s3 sync --delete",
            *(f"aws dynamodb delete-{what}" for what in ("table", "backup")),
            "aws rds delete-*",
            "aws ec2 terminate-instances",
            *(f"gsutil * rm {flag}" for flag in ("-r", "-R", "-a")),
            *(f"gcloud storage rm {flag}" for flag in ("-r", "-R", "--recursive")),
            *(f"gcloud {what} delete" for what in ("projects", "sql instances", "compute instances")),
            "az group delete",
            "az storage * delete-batch",
            "bq rm -r*",
            *(f"rclone {verb}" for verb in ("delete", "purge", "sync")),
            *(f"{tool} {what} prune" for tool in ("docker", "podman") for what in ("system", "volume")),
            *(f"gh {what} delete" for what in ("release", "repo", "secret")),
        ),
    ),
)
