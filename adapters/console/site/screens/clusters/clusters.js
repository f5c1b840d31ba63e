import { href, pathOf } from '../../kit/address.js'
import { get } from '../../kit/client.js'
import { ClusterPhase } from '../../objects/cluster.js'
import { number, Time } from '../../kit/format.js'
import { html } from '../../kit/html.js'
import { Icon } from '../../kit/icons.js'
import { List } from '../../kit/list.js'
import { useAccountRights } from '../../objects/organization.js'
import { Page } from '../../kit/page.js'
import { fill, texts } from '../../texts.js'

/**
 * @import { ScreenProps, Schemas } from 'api-shapes'
 */

const text = texts.clusters

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
    read: async (_, signal) => {
      const { data, total = data.length } = await get('/clustersv2/{owner}', { path: { owner }, signal })
      return { items: data, total }
    },
    keyOf: ({ id }) => `${id}`,
    textOf: ({ name, displayName, provider, kubernetesVersion, hubClusterName, endpoint, uid }) =>
      [name, displayName, provider, kubernetesVersion, hubClusterName, endpoint, uid].join(' '),
    keeps: ({ status }, { phase }) => phase === '' || status.phase === phase,
    canSearch: true,
    filters: [{ name: 'phase', label: text.state, options: [['', text.anyState], ...Object.entries(text.phases)] }],
    columns: [
      {
        key: 'name',
        title: text.name,
        sortBy: ({ displayName, name }) => displayName || name,
        cell: ({ name, displayName }) =>
          html`<a class="strong" href=${href(pathOf('o', owner, 'clusters', name))}>${displayName || name}</a
            >${displayName && displayName !== name && html`<span class="sub">${name}</span>`}`,
      },
      {
        key: 'state',
        title: text.state,
        sortBy: ({ status }) => status.phase,
        cell: ({ status }) => html`<${ClusterPhase} phase=${status.phase} />`,
      },
      {
        key: 'provider',
        title: text.provider,
        kind: 'wide',
        sortBy: ({ provider }) => provider,
        cell: ({ provider }) => provider,
      },
      {
        key: 'version',
        title: text.version,
        sortBy: ({ kubernetesVersion }) => kubernetesVersion,
        cell: ({ kubernetesVersion }) => kubernetesVersion,
      },
      {
        key: 'nodes',
        title: text.nodes,
        kind: 'number',
        sortBy: ({ nodeCount }) => nodeCount,
        cell: ({ nodeCount }) => number(nodeCount),
      },
      {
        key: 'hub',
        title: text.hub,
        kind: 'wide',
        sortBy: ({ hubClusterName }) => hubClusterName,
        cell: ({ hubClusterName }) => hubClusterName || html`<span class="faint">–</span>`,
      },
      {
        key: 'created',
        title: text.imported,
        kind: 'wide',
        sortBy: ({ createdAt }) => createdAt,
        cell: ({ createdAt }) => html`<${Time} value=${createdAt} as="ago" />`,
      },
    ],
    empty: text.empty,
    emptyAction: canImport && importButton,
  }
  return html`
    <${Page} title=${text.title} lead=${text.lead} actions=${canImport && importButton}>
      ${
        rights &&
        !canImport &&
        html`<div class="panel">
          <${Icon} name="info" />
          <p>${fill(texts.common.notAllowed, { action: text.toImport })}</p>
        </div>`
      }
      <${List} options=${options} />
    <//>
  `
}
