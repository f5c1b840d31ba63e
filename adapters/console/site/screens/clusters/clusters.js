import { href, pathOf } from '../../kit/address.js'
import { get } from '../../kit/client.js'
import { ClusterPhase } from '../../objects/cluster.js'
import { number, Time } from '../../kit/format.js'
import { html } from '../../kit/html.js'
import { Icon } from '../../kit/icons.js'
import { List, pageSize } from '../../kit/list.js'
import { useAccountRights } from '../../objects/organization.js'
import { NotAllowed, Page } from '../../kit/page.js'
import { texts } from '../../texts.js'

/**
 * @import { ScreenProps, Schemas } from 'api-shapes'
 */

const text = texts.clusters

/** The orders of the API, which are the columns. */
const orders = /** @type {const} */ (['displayName', 'phase', 'provider', 'version', 'nodes', 'created'])
const phases = /** @type {(keyof typeof text.phases)[]} */ (Object.keys(text.phases))

/** @param {ScreenProps} props */
export const screen = ({ params: { owner = '' }, session }) => {
  const rights = useAccountRights(session, owner)
  const canImport = rights?.has('can_import_clusters') === true
  const importButton = html`<a class="button primary" href=${href(pathOf('o', owner, 'import-cluster'))}
    ><${Icon} name="plus" />${text.import}</a
  >`
  /** @type {import('../../kit/list.js').ListOptions<Schemas['ClusterInfo']>} */
  const options = {
    name: text.title,
    source: `clusters ${owner}`,
    isPaged: true,
    read: async ({ page, q, filters, sort, isDescending }, signal) => {
      const order = orders.find((each) => each === sort)
      const { data, total = data.length } = await get('/clustersv2/{owner}', {
        path: { owner },
        query: {
          page,
          limit: pageSize,
          q,
          phase: phases.find((each) => each === filters['phase']),
          sort: order && (isDescending ? /** @type {const} */ (`-${order}`) : order),
        },
        signal,
      })
      return { items: data, total }
    },
    keyOf: ({ id }) => `${id}`,
    canSearch: true,
    filters: [{ name: 'phase', label: text.state, options: [['', text.anyState], ...Object.entries(text.phases)] }],
    columns: [
      {
        key: 'displayName',
        title: text.name,
        isSorted: true,
        cell: ({ name, displayName }) =>
          html`<a class="strong" href=${href(pathOf('o', owner, 'clusters', name))}>${displayName || name}</a
            >${displayName && displayName !== name && html`<span class="sub">${name}</span>`}`,
      },
      {
        key: 'phase',
        title: text.state,
        isSorted: true,
        cell: ({ status }) => html`<${ClusterPhase} phase=${status.phase} />`,
      },
      {
        key: 'provider',
        title: text.provider,
        kind: 'wide',
        isSorted: true,
        cell: ({ provider }) => provider,
      },
      {
        key: 'version',
        title: text.version,
        isSorted: true,
        cell: ({ kubernetesVersion }) => kubernetesVersion,
      },
      {
        key: 'nodes',
        title: text.nodes,
        kind: 'number',
        isSorted: true,
        cell: ({ nodeCount }) => number(nodeCount),
      },
      {
        key: 'hub',
        title: text.hub,
        kind: 'wide',
        cell: ({ hubClusterName }) => hubClusterName || html`<span class="faint">–</span>`,
      },
      {
        key: 'created',
        title: text.imported,
        kind: 'wide',
        isSorted: true,
        cell: ({ createdAt }) => html`<${Time} value=${createdAt} as="ago" />`,
      },
    ],
    empty: text.empty,
    emptyAction: canImport && importButton,
  }
  return html`
    <${Page} title=${text.title} lead=${text.lead} actions=${canImport && importButton}>
      ${rights && !canImport && html`<${NotAllowed} action=${text.toImport} />`}
      <${List} options=${options} />
    <//>
  `
}
