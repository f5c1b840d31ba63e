#!/bin/sh
# Runs a command of Moorage as the user of moorage.service, with its settings and its data folder:
#
#   sh /opt/moorage/node_modules/moorage/deploy/systemd/command.sh doctor
#
# It needs root. Files that are named to the command must be in /var/lib/moorage, which is what that user may write.
exec systemd-run --quiet --wait --collect --pipe \
  --property=EnvironmentFile=-/etc/moorage/moorage.env \
  --property=DynamicUser=yes --property=User=moorage \
  --property=StateDirectory=moorage --property=StateDirectoryMode=0700 --property=UMask=0077 \
  --setenv=MOORAGE_DATA_DIR=/var/lib/moorage --setenv=HOME=/var/lib/moorage \
  /opt/moorage/node_modules/.bin/moorage "$@"
