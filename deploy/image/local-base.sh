#!/usr/bin/env bash
# Makes a base image of Debian's packages, for machines that reach no registry: `deploy/image/local-base.sh [TAG]`.
#
# Release, mirror, proxy and keys are those this machine's apt is set up with. Needs root, debootstrap and Docker.
# What has been downloaded is kept in build/base for the next time.
set -euo pipefail
. "$(dirname "$0")/../../.ci/usage.sh"
cd "$(dirname "$0")/../.."

tag=${1:-omnipoly-base}
. /etc/os-release
made_from="$VERSION_CODENAME $(sha256sum <deploy/image/local-base.sh | cut -c1-16)"
for program in debootstrap docker apt-get; do
  command -v "$program" >/dev/null || { echo "local-base.sh: $program is missing (apt-get install debootstrap docker.io)" >&2; exit 1; }
done
docker info >/dev/null 2>&1 ||
  { echo "local-base.sh: no Docker engine answers; start one, then come again" >&2; exit 1; }
[ "$(id -u)" -eq 0 ] || { echo "local-base.sh: debootstrap needs root" >&2; exit 1; }

if [ "$(docker image inspect --format '{{index .Config.Labels "omnipoly.base"}}' "$tag" 2>/dev/null)" = "$made_from" ]; then
  echo "$tag is there already"
  exit
fi

# Of all that apt knows, the archive that has this very release: neither its updates nor somebody else's packages.
mirror=$(apt-get indextargets --format '$(ORIGIN)|$(CODENAME)|$(COMPONENT)|$(REPO_URI)' 'Created-By: Packages' |
  awk -F'|' -v release="$VERSION_CODENAME" '$1 == "Debian" && $2 == release && $3 == "main" { print $4; exit }')
[ -n "$mirror" ] || { echo "local-base.sh: apt knows no archive of $VERSION_CODENAME (apt-get update)" >&2; exit 1; }
eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
[ -z "${http_proxy:-}" ] || export http_proxy
[ -z "${https_proxy:-}" ] || export https_proxy

kept=$PWD/build/base
mkdir -p "$kept"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

echo "Making $tag of $PRETTY_NAME"
# Without what a container has no use for; ca-certificates for issuers that are asked over TLS.
debootstrap --variant=minbase --include=python3,ca-certificates \
  --exclude=e2fsprogs,logsave,sysvinit-utils,tzdata --cache-dir="$kept" \
  "$VERSION_CODENAME" "$root" "$mirror" >"$kept/log" 2>&1 ||
  { tail -n 20 "$kept/log" >&2; echo "local-base.sh: debootstrap failed; all it said is in $kept/log" >&2; exit 1; }

# Where it came from stays out, and so does all that nobody reads in a container.
rm -rf "$root"/var/cache/apt "$root"/var/lib/apt/lists "$root"/var/log "$root"/etc/apt/sources.list \
  "$root"/etc/resolv.conf "$root"/etc/hostname \
  "$root"/usr/share/{doc,info,locale,man,bash-completion,zoneinfo} "$root/root/.wget-hsts"
mkdir -p "$root"/var/cache/apt/archives/partial "$root"/var/lib/apt/lists/partial "$root"/var/log

tar -C "$root" --numeric-owner -c . |
  docker import --change 'CMD ["python3"]' --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
    --change "LABEL omnipoly.base=\"$made_from\"" - "$tag" >/dev/null
echo "Made $tag: $(($(docker image inspect --format '{{.Size}}' "$tag") / 1000000)) MB"
