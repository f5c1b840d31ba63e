import { arrowAlong, box, label, picture } from './svg-parts.ts'

const [width, height] = [1080, 660]

const card = (x: number, y: number, w: number, h: number, name: string, lines: readonly string[]): string =>
  [
    box(x, y, w, h, 'card'),
    label(x + 14, y + 23, name, 'name'),
    ...lines.map((text, line) => label(x + 14, y + 42 + line * 16, text, 'small')),
  ].join('\n')

const layer = (x: number, y: number, w: number, h: number, title: string, text: string): string =>
  [box(x, y, w, h, 'layer'), label(x + 20, y + 28, title, 'title'), label(x + 20, y + 48, text, 'small')].join('\n')

const spoke = (x: number, name: string, lines: readonly string[]): string => card(x, 560, 220, 62, name, lines)

/** A hub, its spokes and cluster sets, and which of them sends requests to which. */
export const drawClusters = (): string =>
  picture(width, height, 'Hub, spokes and cluster sets', [
    label(40, 36, 'browsers, curl, kubectl', 'title'),
    arrowAlong('M 150 48 v 44'),
    label(164, 74, 'access token', 'small'),
    layer(40, 96, 230, 374, 'Moorage', 'a record for each cluster'),
    card(56, 162, 198, 76, 'record of the hub', ['its access config']),
    card(56, 262, 198, 92, 'spoke-2 and spoke-3', [
      'no access config; the UID',
      'of the hub, and the name',
      'of the spoke there',
    ]),
    card(56, 378, 198, 76, 'record of spoke-1', ['an access config of its own']),

    layer(420, 40, 620, 430, 'hub', 'a Kubernetes API server with the controllers of Open Cluster Management'),
    card(436, 108, 286, 92, 'ManagedCluster', [
      'one for each spoke: accepted or not,',
      'its cluster set, its claims; available',
      'while the agent renews its lease',
    ]),
    card(738, 108, 286, 92, 'CertificateSigningRequest', [
      'the request of an agent to join;',
      'accept-spoke approves it if it comes',
      'from the agent that it names',
    ]),
    card(436, 216, 286, 92, 'cluster set: spoke-1, spoke-2', [
      'its profile has the features to install;',
      'namespaces that are bound to it',
      'may place workloads on its spokes',
    ]),
    card(738, 216, 286, 92, 'cluster set: spoke-3', [
      'by its label, a spoke is in one set;',
      'sets that select by other labels',
      'have the spokes with these',
    ]),
    card(436, 324, 286, 108, 'cluster gateway', [
      'forwards requests to spokes as the user',
      'ace.user.<id>; sync-accounts writes',
      'the Accounts that it looks up',
    ]),
    card(738, 324, 286, 108, 'a namespace for each spoke', ['its ManifestWorks, add-ons and lease']),

    arrowAlong('M 254 186 H 432'),
    label(282, 160, 'hubs, spokes, sets,', 'small'),
    label(282, 176, 'features: with the', 'small'),
    label(282, 204, 'credential of the hub', 'small'),
    arrowAlong('M 254 308 H 352 V 378 H 432'),
    label(282, 332, 'proxy,', 'small'),
    label(282, 348, 'packages:', 'small'),
    label(282, 402, 'the same credential,', 'small'),
    label(282, 418, 'as the caller', 'small'),
    arrowAlong('M 150 454 V 556'),
    label(164, 500, 'proxy, packages: directly', 'small'),

    arrowAlong('M 500 432 V 556'),
    arrowAlong('M 640 432 V 520 H 800 V 556'),
    label(514, 500, 'as the caller', 'small'),
    arrowAlong('M 920 556 V 436', 'dashed'),
    label(934, 484, 'all agents: ask', 'small'),
    label(934, 500, 'to join, renew', 'small'),
    label(934, 516, 'leases, apply', 'small'),
    label(934, 532, 'ManifestWorks', 'small'),

    spoke(40, 'spoke-1', ['agents: registration, work']),
    spoke(400, 'spoke-2', ['agents: registration, work']),
    spoke(730, 'spoke-3', ['agents: registration, work']),
  ])
