#!/usr/bin/env bash
# Sets up Pulumi Deployments for a stack, once: previews of pull requests, updates on pushes to main, each behind the gate.
#
#   deployments.sh <organization>/<project>/<stack> <GitHub organization>/<repository>
set -euo pipefail

stack=${1:?pass the stack: deployments.sh <organization>/<project>/<stack> <GitHub organization>/<repository>}
repository=${2:?pass the repository: <GitHub organization>/<repository>}

# Deployments runs these before each operation, and stops if one fails. Its own installation would run scripts of packages.
# shellcheck disable=SC2016 # The deployment expands the variables.
gate='case $PULUMI_CI_OPERATION in preview | update) PULUMI_STACK=$PULUMI_CI_STACK ci/pipeline.sh preview ;; esac'

"${PULUMI:-pulumi}" deployment settings edit --stack "$stack" \
  --github-repo "$repository" --branch main --preview-prs --push-to-deploy \
  --skip-install-deps \
  --pre-run-command "npm ci --ignore-scripts" \
  --pre-run-command "$gate"
