import { href, pathOf } from '../../kit/address.js'
import { get } from '../../kit/client.js'
import { Time, number } from '../../kit/format.js'
import { html } from '../../kit/html.js'
import { List } from '../../kit/list.js'
import { Page } from '../../kit/page.js'
import { texts } from '../../texts.js'

/**
 * @import { Schemas, ScreenProps } from 'api-shapes'
 */

const text = texts.hubs

/** @param {Schemas['HubCluster']} hub @param {'spokeClusters' | 'addOns' | 'clusterNode'} name */
const counted = (hub, name) => (hub.unknownCounts?.includes(name) === true ? text.unknown : number(hub[name]))

/** @param {ScreenProps} props */
export const screen = ({ params: { owner = '' } }) => {
  /** @type {import('../../kit/list.js').ListOptions<Schemas['HubCluster']>} */
  const options = {
    name: text.title,
    source: `hubs ${owner}`,
    read: async (_, signal) => {
      const { data } = await get('/clusters/{owner}/hubs', { path: { owner }, signal })
      return { items: data, total: data.length }
    },
    keyOf: ({ name, ownerName }) => `${ownerName}/${name}`,
    textOf: ({ name, displayName }) => `${name} ${displayName}`,
    canSearch: true,
    columns: [
      {
        key: 'name',
        title: text.hub,
        sortBy: ({ displayName, name }) => displayName || name,
        cell: ({ name, displayName, ownerName }) =>
          html`<a class="strong" href=${href(pathOf('o', ownerName, 'hubs', name))}>${displayName || name}</a
            ><span class="sub">${name}</span>`,
      },
      {
        key: 'spokes',
        title: text.spokes,
        kind: 'number',
        sortBy: ({ spokeClusters }) => spokeClusters,
        cell: (hub) => counted(hub, 'spokeClusters'),
      },
      { key: 'addons', title: text.addOns, kind: 'number', cell: (hub) => counted(hub, 'addOns') },
      { key: 'nodes', title: text.nodes, kind: 'number', cell: (hub) => counted(hub, 'clusterNode') },
      { key: 'provider', title: text.provider, kind: 'wide', cell: ({ provider }) => provider },
      {
        key: 'created',
        title: text.created,
        kind: 'wide',
        sortBy: ({ createdAt }) => createdAt,
        cell: ({ createdAt }) => html`<${Time} value=${createdAt} as="day" />`,
      },
    ],
    empty: text.empty,
    emptyAction: html`<p class="faint">${text.emptyHint}</p>`,
  }
  return html`<${Page} title=${text.title} lead=${text.lead}><${List} options=${options} /><//>`
}
