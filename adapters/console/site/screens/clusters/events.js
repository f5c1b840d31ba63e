import { pathOf } from '../../kit/address.js'
import { Time } from '../../kit/format.js'
import { html } from '../../kit/html.js'
import { List } from '../../kit/list.js'
import { inNamespace, NamespaceChoice, useNamespace } from '../../objects/namespaces.js'
import { Page } from '../../kit/page.js'
import { tabsOf } from '../../objects/cluster.js'
import { listObjects } from '../../objects/kubernetes.js'
import { texts } from '../../texts.js'

/**
 * @import { ScreenProps } from 'api-shapes'
 * @import { KubernetesObject } from '../../objects/kubernetes.js'
 */

const text = texts.events

/** @param {KubernetesObject} event @returns {string} */
const lastOf = ({ lastTimestamp, eventTime, metadata }) => lastTimestamp ?? eventTime ?? metadata.creationTimestamp

/** @param {KubernetesObject} event */
const objectOf = ({ involvedObject }) => `${involvedObject?.kind ?? ''} ${involvedObject?.name ?? ''}`

/** @param {ScreenProps} props */
export const screen = ({ params: { owner = '', cluster = '' } }) => {
  const path = inNamespace('/api/v1/events', useNamespace())
  /** @type {import('../../kit/list.js').ListOptions<KubernetesObject>} */
  const options = {
    name: text.title,
    source: `events ${owner}/${cluster}/${path}`,
    read: async (_, signal) => {
      const items = await listObjects({ owner, cluster, path, signal })
      return { items: items.sort((a, b) => String(lastOf(b)).localeCompare(String(lastOf(a)))), total: items.length }
    },
    keyOf: ({ metadata }) => metadata.uid,
    textOf: (event) => [event['reason'], event['message'], event.metadata.namespace, objectOf(event)].join(' '),
    keeps: ({ type }, { type: wanted }) => wanted === '' || type === wanted,
    canSearch: true,
    filters: [
      {
        name: 'type',
        label: text.type,
        options: [
          ['', text.all],
          ['Warning', text.warnings],
          ['Normal', text.normal],
        ],
      },
    ],
    columns: [
      {
        key: 'last',
        title: text.last,
        sortBy: lastOf,
        cell: (event) => html`<${Time} value=${lastOf(event)} as="ago" />`,
      },
      {
        key: 'type',
        title: text.type,
        cell: ({ type }) =>
          html`<span class="badge ${type === 'Warning' ? 'warn' : 'idle'}">${String(type ?? '')}</span>`,
      },
      {
        key: 'object',
        title: text.object,
        sortBy: objectOf,
        cell: (event) => html`${objectOf(event)}<span class="sub">${event.metadata.namespace}</span>`,
      },
      { key: 'reason', title: text.reason, kind: 'wide', cell: ({ reason }) => String(reason ?? '') },
      { key: 'message', title: text.message, cell: ({ message }) => String(message ?? '') },
      { key: 'count', title: text.count, kind: 'number', cell: ({ count }) => String(count ?? 1) },
    ],
    actions: html`<${NamespaceChoice} owner=${owner} cluster=${cluster} />`,
    empty: text.empty,
  }
  return html`
    <${Page}
      title=${cluster}
      lead=${text.lead}
      up=${[[pathOf('o', owner, 'clusters'), texts.clusters.title]]}
      tabs=${tabsOf(owner, cluster)}
    >
      <${List} options=${options} />
    <//>
  `
}
