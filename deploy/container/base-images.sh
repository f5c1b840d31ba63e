#!/bin/sh
# Makes the two base images of the Containerfile from Debian packages, for places that reach no container registry:
#
#   sh deploy/container/base-images.sh
#   buildah build --format docker --build-arg BUILD_IMAGE=localhost/moorage-build \
#     --build-arg BASE_IMAGE=localhost/moorage-base -f deploy/container/Containerfile -t moorage .
#
# It needs root, mmdebstrap, buildah, and the Node 24 and npm 11 of this machine. Options of buildah, such as
# --storage-driver=vfs, are taken from BUILDAH_OPTIONS; the release of Debian from SUITE.
set -eu
suite=${SUITE:-bookworm}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

image() { # name, folder, configuration...
  name=$1 folder=$2
  shift 2
  container=$(buildah ${BUILDAH_OPTIONS:-} from scratch)
  buildah ${BUILDAH_OPTIONS:-} copy -q "$container" "$folder" / >/dev/null
  if [ $# -gt 0 ]; then buildah ${BUILDAH_OPTIONS:-} config "$@" "$container"; fi
  buildah ${BUILDAH_OPTIONS:-} commit -q --rm "$container" "$name"
}

# Libraries alone: no package is configured, so there is no shell and no program.
mmdebstrap --quiet --variant=extract --include=libc6,libgcc-s1,libstdc++6,netbase "$suite" "$work/base"
rm -rf "$work/base/usr/share/doc" "$work/base/usr/share/locale" "$work/base/var/lib/apt" "$work/base/var/cache" "$work/base/var/log" \
  "$work/base/etc/apt" "$work/base/etc/cron.daily"
rm -rf "$work/base/dev" && mkdir -p "$work/base/dev" "$work/base/tmp" "$work/base/etc"
echo 'nonroot:x:65532:65532:nonroot:/data:/sbin/nologin' > "$work/base/etc/passwd"
echo 'nonroot:x:65532:' > "$work/base/etc/group"
image moorage-base "$work/base"

mmdebstrap --quiet --variant=apt --include=ca-certificates "$suite" "$work/build"
rm -rf "$work/build/dev" && mkdir -p "$work/build/dev"
mkdir -p "$work/build/usr/local/bin" "$work/build/usr/local/lib/node_modules"
cp "$(readlink -f "$(command -v node)")" "$work/build/usr/local/bin/node"
npm=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
cp -r "$npm" "$work/build/usr/local/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$work/build/usr/local/bin/npm"
ln -s ../lib/node_modules/npm/bin/npx-cli.js "$work/build/usr/local/bin/npx"
image moorage-build "$work/build" --env PATH=/usr/local/bin:/usr/bin:/bin
