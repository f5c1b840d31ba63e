import * as t from 'io-ts'
import { installers } from '../../../core/hubs/spokes/join-command.ts'
import { maxSpokeName } from '../../../core/hubs/spokes/spoke-names.ts'
import { basicInfoProps, ComponentOptions, ProviderOptions } from '../../clusters/codecs.ts'
import {
  answer,
  described,
  DnsLabel,
  freeText,
  Instant,
  listOf,
  oneOf,
  optional,
  patternText,
  request,
  SafeInteger,
} from '../../kit/codecs.ts'

/** A hub with the counts that it states. */
export const HubCluster = answer(
  {
    name: described(t.string, 'The name of the hub in its account.'),
    ownerName: described(t.string, 'The name of the account that owns the hub.'),
    displayName: described(t.string, 'The name of the hub for people.'),
    hubClusterUID: described(t.string, 'The UID of the namespace kube-system of the hub.'),
    spokeClusters: described(
      t.number,
      'The number of clusters that the hub manages; the number of records of its spokes if the hub does not answer.',
    ),
    addOns: described(t.number, 'The number of add-ons that the hub offers; 0 if the hub does not answer.'),
    clusterNode: described(
      t.number,
      'The number of nodes of the hub, 0 for a hub without workloads; the number at the last check if the hub ' +
        'does not answer.',
    ),
    provider: described(t.string, 'The hosting provider of the hub, `Generic` if it is not known.'),
    hubType: described(t.string, '`OCM` for an ordinary hub, `OCM-MC` for a hub without workloads.'),
    locations: described(t.string, 'The region of the hub at its hosting provider; empty if it is not known.'),
    age: described(
      t.string,
      'The time since the import of the hub in its largest whole unit, as `12d`, `43m` or `8s`.',
    ),
    createdAt: described(Instant, 'The time of the import of the hub, RFC 3339.'),
    unknownCounts: described(
      optional(t.readonlyArray(oneOf('spokeClusters', 'addOns', 'clusterNode'))),
      'The counts that the hub did not state in time, which are stored ones; absent if it stated all.',
    ),
  },
  'HubCluster',
)

/** A spoke of a hub, or a cluster that asks to become one. */
export const ManagedClusterInfo = answer(
  {
    name: described(t.string, 'The name of the cluster on the hub.'),
    clusterURL: described(t.string, 'The address that the cluster states for its API server; empty if it states none.'),
    clusterUID: described(t.string, 'The UID that the cluster claims; empty if it claims none.'),
    clusterSet: described(optional(t.string), 'The cluster set of its label; absent if it has none.'),
  },
  'ManagedClusterInfo',
)

/** The name of a cluster that is to become a spoke; agents with a longer one cannot join. */
const SpokeName = patternText(
  /^[a-z0-9](?:[a-z0-9-]{0,55}[a-z0-9])?$/,
  maxSpokeName,
  `a DNS label of at most ${maxSpokeName} characters: agents with a longer name cannot join`,
)

/** A request may name each cluster once; several are dealt with as one. */
const maxClusters = 500

export const AcceptOptions = request(
  {
    clusters: described(
      listOf(DnsLabel, maxClusters, 1),
      'The names of the clusters to accept, 1 to 500; each counts once.',
    ),
    skipApproveCheck: described(
      optional(t.boolean),
      'Whether to approve certificate requests that were not sent with a bootstrap identity of the hub; false by ' +
        'default.',
    ),
    requesters: described(
      optional(listOf(freeText(255, 1), maxClusters)),
      'The common names of the agents to approve, at most 500; needed only for a name with which several agents ask ' +
        'to join, and empty by default.',
    ),
  },
  'AcceptOptions',
)

const Uid = patternText(/^[A-Za-z0-9-]*$/, 64, 'a UID: at most 64 letters, digits and -')
/** Clients send an empty text for a cluster that they do not state. */
const StatedName = patternText(/^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)?$/, 63, 'empty, or a DNS label')

export const ClusterOptions = request(
  {
    clusterName: described(
      SpokeName,
      'The name that the cluster will have on the hub, a DNS label of at most 57 characters.',
    ),
    hostClusterName: described(
      optional(StatedName),
      'The name of the cluster that hosts this virtual cluster; absent or empty if there is none.',
    ),
    hostClusterUID: described(
      optional(Uid),
      'The UID of the cluster that hosts this virtual cluster; absent or empty if there is none.',
    ),
    hostClusterOwnerID: described(
      optional(SafeInteger),
      'The id of the owner of the cluster that hosts this virtual cluster; absent or 0 if there is none.',
    ),
    hubClusterName: described(
      optional(StatedName),
      'The name of the hub in the path; absent or empty if it is not stated, and refused if it is another.',
    ),
    hubClusterUID: described(
      optional(Uid),
      'The UID of the hub in the path; absent or empty if it is not stated, and refused if it is another.',
    ),
    hubClusterOwnerID: described(
      optional(SafeInteger),
      'The id of the owner of the hub in the path; absent or 0 if it is not stated, and refused if it is another.',
    ),
  },
  'ClusterOptions',
)
export const InstallerQuery = request(
  {
    installer: described(
      optional(oneOf(...installers)),
      'The program of the command: `clusteradm` (the default) or `helm`.',
    ),
  },
  'InstallerQuery',
)
export const AccountSync = answer(
  {
    applied: described(t.number, 'How many Accounts were made or changed.'),
    removed: described(t.number, 'How many Accounts of former members were removed.'),
    message: described(t.string, 'What the Accounts do not give.'),
  },
  'AccountSync',
)

export const SpokeCommand = answer(
  {
    spoke: described(t.string, 'The command for a POSIX shell. It contains a token, which is valid for one hour.'),
  },
  'SpokeCommand',
)

export const RemoveClusterOptions = request(
  {
    clusterName: described(DnsLabel, 'The name of the spoke on the hub.'),
    force: described(
      optional(t.boolean),
      'Whether to give up works that the agent of the spoke does not remove, and to remove a spoke that client ' +
        'organizations use; false by default. What the works applied, and what the client organizations have, then ' +
        'stays on the spoke.',
    ),
  },
  'RemoveClusterOptions',
)

const SpokeBasicInfo = described(
  request(
    {
      ...basicInfoProps,
      name: described(
        SpokeName,
        'The name of the cluster in its account and on the hub, a DNS label of at most 57 characters.',
      ),
    },
    'SpokeBasicInfo',
  ),
  'The name of the new spoke, and what else the caller states of it.',
)

/** ImportOptions with a name that is also that of the ManagedCluster. */
export const SpokeImportOptions = request(
  {
    basicInfo: SpokeBasicInfo,
    provider: described(
      optional(ProviderOptions),
      'The hosting provider of the cluster, and its access config; without an access config the import waits ' +
        'until the join command is run.',
    ),
    components: described(
      optional(ComponentOptions),
      'The profile of the spoke and the components that are asked for; none by default.',
    ),
  },
  'SpokeImportOptions',
)
