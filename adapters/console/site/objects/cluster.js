import { pathOf } from '../kit/address.js'
import { html } from '../kit/html.js'
import { texts } from '../texts.js'

/** @type {Record<string, string>} */
const kinds = {
  Active: 'good',
  Registered: 'idle',
  NotImported: 'idle',
  Inactive: 'warn',
  NotReady: 'warn',
  NotConnected: 'bad',
  Lost: 'bad',
}

/** The state of a cluster, as a word with a colour. @param {{ phase: string }} props */
export const ClusterPhase = ({ phase }) => html`
  <span class="badge ${kinds[phase] ?? 'idle'}"
    >${texts.clusters.phases[/** @type {keyof typeof texts.clusters.phases} */ (phase)] ?? phase}</span
  >
`

/** The tabs of a cluster. @param {string} owner @param {string} cluster */
export const tabsOf = (owner, cluster) =>
  /** @type {(readonly [string, string])[]} */ ([
    [pathOf('o', owner, 'clusters', cluster), texts.cluster.overview],
    [pathOf('o', owner, 'clusters', cluster, 'workloads'), texts.cluster.workloads],
    [pathOf('o', owner, 'clusters', cluster, 'events'), texts.cluster.events],
    [pathOf('o', owner, 'clusters', cluster, 'releases'), texts.releases.title],
  ])
