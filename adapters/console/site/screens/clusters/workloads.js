import { useState } from 'preact/hooks'
import { address, changeQuery, pathOf } from '../../kit/address.js'
import { Dialog } from '../../kit/dialog.js'
import { Time } from '../../kit/format.js'
import { html, useValue } from '../../kit/html.js'
import { List } from '../../kit/list.js'
import { inNamespace, NamespaceChoice, useNamespace } from '../../objects/namespaces.js'
import { Page } from '../../kit/page.js'
import { loaded, useResource } from '../../kit/resource.js'
import { tabsOf } from '../../objects/cluster.js'
import { listObjects, readLog } from '../../objects/kubernetes.js'
import { fill, texts } from '../../texts.js'

/**
 * @import { ScreenProps } from 'api-shapes'
 * @import { KubernetesObject } from '../../objects/kubernetes.js'
 */

const text = texts.workloads

/** @param {unknown} value */
const count = (value) => (typeof value === 'number' ? value : 0)

/** Returns `ready/wanted` and whether that is enough. @param {number} ready @param {number} wanted */
const share = (ready, wanted) => ({ text: `${ready}/${wanted}`, kind: ready >= wanted ? 'good' : 'warn' })

/** @typedef {{ path: string, title: string, stateOf: (object: KubernetesObject) => { text: string, kind: string } }} Kind */

/** @type {Record<string, string>} */
const podKinds = { Running: 'good', Succeeded: 'good', Pending: 'warn', Failed: 'bad' }

/** @type {Record<string, Kind>} */
const kinds = {
  deployments: {
    path: '/apis/apps/v1/deployments',
    title: text.kinds.deployments,
    stateOf: ({ spec, status }) => share(count(status?.readyReplicas), count(spec?.replicas)),
  },
  statefulsets: {
    path: '/apis/apps/v1/statefulsets',
    title: text.kinds.statefulsets,
    stateOf: ({ spec, status }) => share(count(status?.readyReplicas), count(spec?.replicas)),
  },
  daemonsets: {
    path: '/apis/apps/v1/daemonsets',
    title: text.kinds.daemonsets,
    stateOf: ({ status }) => share(count(status?.numberReady), count(status?.desiredNumberScheduled)),
  },
  jobs: {
    path: '/apis/batch/v1/jobs',
    title: text.kinds.jobs,
    stateOf: ({ spec, status }) => share(count(status?.succeeded), count(spec?.completions ?? 1)),
  },
  pods: {
    path: '/api/v1/pods',
    title: text.kinds.pods,
    stateOf: ({ status }) => ({ text: String(status?.phase ?? ''), kind: podKinds[status?.phase] ?? 'idle' }),
  },
  services: {
    path: '/api/v1/services',
    title: text.kinds.services,
    stateOf: ({ spec }) => ({ text: String(spec?.type ?? ''), kind: 'idle' }),
  },
}

/** @param {KubernetesObject} object @returns {string[]} */
const imagesOf = ({ spec }) => {
  const containers = spec?.template?.spec?.containers ?? spec?.containers
  return Array.isArray(containers) ? containers.map((each) => String(each?.image ?? '')).filter(Boolean) : []
}

/** @param {{ owner: string, cluster: string, pod: KubernetesObject, onClose: () => void }} props */
const Logs = ({ owner, cluster, pod: { metadata, spec }, onClose }) => {
  /** @type {string[]} */
  const containers = Array.isArray(spec?.containers)
    ? spec.containers.map((/** @type {any} */ each) => String(each?.name ?? ''))
    : []
  const [container, setContainer] = useState(containers[0] ?? '')
  const { namespace, name } = metadata
  const resource = useResource(`log ${owner}/${cluster}/${namespace}/${name}/${container}`, (signal) =>
    readLog({ owner, cluster, namespace, pod: name, container, signal }),
  )
  return html`
    <${Dialog} title=${fill(text.logOf, { name })} onClose=${onClose} isWide>
      <div class="toolbar">
        <div class="filter">
          <label for="container">${text.container}</label>
          <select id="container" onChange=${(/** @type {any} */ event) => setContainer(event.target.value)}>
            ${containers.map((each) => html`<option key=${each} value=${each} selected=${each === container}>${each}</option>`)}
          </select>
        </div>
        <div class="toolbar-actions"><button type="button" onClick=${resource.reload}>${text.refresh}</button></div>
      </div>
      ${loaded(resource, (log) => html`<pre class="code" tabindex="0" role="region" aria-label=${fill(text.logOf, { name })}>${log === '' ? text.noLog : log}</pre>`, 8)}
    <//>
  `
}

/** @param {ScreenProps} props */
export const screen = ({ params: { owner = '', cluster = '' } }) => {
  const { query } = useValue(address)
  const chosen = query.get('kind') ?? 'deployments'
  const kind = kinds[chosen] ?? /** @type {Kind} */ (kinds['deployments'])
  const [pod, setPod] = useState(/** @type {KubernetesObject | undefined} */ (undefined))
  const namespace = useNamespace()
  const path = inNamespace(kind.path, namespace)
  /** @type {import('../../kit/list.js').ListOptions<KubernetesObject>} */
  const options = {
    name: kind.title,
    source: `objects ${owner}/${cluster}/${path}`,
    read: async (_, signal) => {
      const items = await listObjects({ owner, cluster, path, signal })
      return { items, total: items.length }
    },
    keyOf: ({ metadata }) => metadata.uid,
    textOf: (object) => [object.metadata.name, object.metadata.namespace, ...imagesOf(object)].join(' '),
    canSearch: true,
    columns: [
      {
        key: 'name',
        title: text.name,
        sortBy: ({ metadata }) => metadata.name,
        cell: ({ metadata }) => html`<span class="strong">${metadata.name}</span>`,
      },
      {
        key: 'namespace',
        title: text.namespace,
        sortBy: ({ metadata }) => metadata.namespace,
        cell: ({ metadata }) => metadata.namespace,
      },
      {
        key: 'state',
        title: text.state,
        cell: (object) => {
          const state = kind.stateOf(object)
          return html`<span class="badge ${state.kind}">${state.text}</span>`
        },
      },
      {
        key: 'images',
        title: text.images,
        kind: 'wide',
        cell: (object) => imagesOf(object).map((image, at) => html`<code key=${at} class="sub">${image}</code>`),
      },
      {
        key: 'age',
        title: text.age,
        kind: 'wide',
        sortBy: ({ metadata }) => metadata.creationTimestamp,
        cell: ({ metadata }) => html`<${Time} value=${metadata.creationTimestamp} as="ago" />`,
      },
      ...(chosen === 'pods'
        ? [
            {
              key: 'actions',
              title: texts.common.actions,
              kind: /** @type {const} */ ('end'),
              cell: (/** @type {KubernetesObject} */ object) =>
                html`<div class="row-actions">
                  <button
                    type="button"
                    class="small"
                    aria-label=${fill(text.logOf, { name: object.metadata.name })}
                    onClick=${() => setPod(object)}
                  >
                    ${text.log}
                  </button>
                </div>`,
            },
          ]
        : []),
    ],
    actions: html`<${NamespaceChoice} owner=${owner} cluster=${cluster} />
      <div class="filter">
        <label for="kind">${text.kind}</label>
        <select
          id="kind"
          onChange=${(/** @type {any} */ event) => changeQuery({ kind: event.target.value, page: undefined, sort: undefined })}
        >
          ${Object.entries(kinds).map(([each, { title }]) => html`<option key=${each} value=${each} selected=${each === chosen}>${title}</option>`)}
        </select>
      </div>`,
    empty: text.empty,
  }
  return html`
    <${Page}
      title=${cluster}
      lead=${text.lead}
      up=${[[pathOf('o', owner, 'clusters'), texts.clusters.title]]}
      tabs=${tabsOf(owner, cluster)}
    >
      <${List} key=${`${chosen} ${namespace}`} options=${options} />
    <//>
    ${pod && html`<${Logs} owner=${owner} cluster=${cluster} pod=${pod} onClose=${() => setPod(undefined)} />`}
  `
}
