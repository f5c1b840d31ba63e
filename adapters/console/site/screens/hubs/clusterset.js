import { useState } from 'preact/hooks'
import { pathOf } from '../../kit/address.js'
import { call, get } from '../../kit/client.js'
import { Dialog } from '../../kit/dialog.js'
import { Field, FormActions, FormProblem, useForm } from '../../kit/form.js'
import { number } from '../../kit/format.js'
import { html } from '../../kit/html.js'
import { Icon } from '../../kit/icons.js'
import { List } from '../../kit/list.js'
import { notify, notifyFailure } from '../../kit/notices.js'
import { Page } from '../../kit/page.js'
import { loaded, reloadAll, useResource } from '../../kit/resource.js'
import { fill, texts } from '../../texts.js'

/**
 * @import { Schemas, ScreenProps } from 'api-shapes'
 */

const text = texts.clusterSet

/** @typedef {{ owner: string, hub: string, set: string }} SetPath */

/** @param {SetPath & { onClose: () => void }} props */
const AddCluster = ({ owner, hub, set, onClose }) => {
  const path = { owner, cluster: hub }
  const choices = useResource(
    `choices ${set}`,
    async (signal) =>
      (
        await get('/clusters/{owner}/{cluster}/clustersets/{clusterset}/clusterlist', {
          path: { ...path, clusterset: set },
          signal,
        })
      ).data,
  )
  const form = useForm({
    initial: { cluster: '' },
    submit: async ({ cluster }, idempotencyKey) => {
      await call('post', '/clusters/{owner}/{cluster}/clustersets/add', {
        path,
        body: { clusterSet: set, clusters: [cluster] },
        idempotencyKey,
      })
      notify(fill(text.added, { name: cluster }))
      reloadAll()
      onClose()
    },
  })
  return html`
    <${Dialog} title=${text.add} onClose=${onClose}>
      ${loaded(choices, (names) =>
        names.length === 0
          ? html`<p>${text.noChoice}</p>`
          : html`<form class="form" novalidate onSubmit=${form.onSubmit}>
              <${FormProblem} form=${form} />
              <${Field}
                form=${form}
                name="cluster"
                type="select"
                isRequired
                label=${text.cluster}
                options=${[['', texts.hub.choose], ...names.map((name) => [name, name])]}
              />
              <${FormActions} form=${form} action=${text.add} onCancel=${onClose} />
            </form>`,
      )}
    <//>
  `
}

/** What is installed of each feature set, and which spokes have it. @param {SetPath} props */
const FeatureSets = ({ owner, hub, set }) => {
  const path = { owner, cluster: hub, clusterset: set }
  const features = useResource(`features ${owner}/${hub}/${set}`, async (signal) => {
    const [{ data: sets }, { data: sync }] = await Promise.all([
      get('/clusters/{owner}/{cluster}/clustersets/{clusterset}/featuresets', { path, signal }),
      get('/clusters/{owner}/{cluster}/clustersets/{clusterset}/sync-status/all-features', { path, signal }),
    ])
    return { sets, sync }
  })
  return html`
    <section class="stack">
      <h2>${text.featureSets}</h2>
      ${loaded(features, ({ sets, sync }) =>
        sets.length === 0
          ? html`<div class="empty"><p>${text.noFeatureSets}</p></div>`
          : html`<div class="cards">
              ${sets.map(
                ({ name, title, description, installed, features: parts }) =>
                  html`<article key=${name} class="card">
                    <header class="card-head">
                      <h3>${title || name}</h3>
                      <span class="badge ${installed ? 'good' : 'idle'}"
                        >${installed ? text.installed : text.notInstalled}</span
                      >
                    </header>
                    <p class="faint">${description}</p>
                    <ul class="rows">
                      ${parts.map((part) => {
                        const status = sync[name]?.[part.name]
                        const late = status?.outOfSyncClusters ?? []
                        return html`<li key=${part.name}>
                          <span>${part.title || part.name}</span>
                          <span class="end">
                            ${
                              !part.installed
                                ? html`<span class="faint">${text.notInstalled}</span>`
                                : late.length === 0
                                  ? html`<span class="badge good"
                                      >${fill(text.inSync, { total: status?.insyncClusters.length ?? 0 })}</span
                                    >`
                                  : html`<span class="badge warn"
                                      >${fill(text.outOfSync, { names: late.join(', ') })}</span
                                    >`
                            }
                          </span>
                          ${late.map((each) => status?.reasons?.[each] && html`<span key=${each} class="sub faint">${each}: ${status.reasons[each]}</span>`)}
                        </li>`
                      })}
                    </ul>
                  </article>`,
              )}
            </div>`,
      )}
    </section>
  `
}

/** @param {ScreenProps} props */
export const screen = ({ params: { owner = '', hub = '', set = '' } }) => {
  const [isAdding, setAdding] = useState(false)
  const path = { owner, cluster: hub }
  const take = async (/** @type {string} */ name) => {
    try {
      await call('post', '/clusters/{owner}/{cluster}/clustersets/remove', {
        path,
        body: { clusterSet: set, clusters: [name] },
      })
      notify(fill(text.removed, { name }))
      reloadAll()
    } catch (error) {
      notifyFailure(error)
    }
  }
  /** @type {import('../../kit/list.js').ListOptions<Schemas['ClustersResp']>} */
  const options = {
    name: text.clusters,
    source: `set ${owner}/${hub}/${set}`,
    read: async (_, signal) => {
      const { data } = await get('/clusters/{owner}/{cluster}/clustersets/{clusterset}/clusters', {
        path: { ...path, clusterset: set },
        signal,
      })
      return { items: data, total: data.length }
    },
    keyOf: ({ name }) => name,
    textOf: ({ name, displayName }) => `${name} ${displayName}`,
    canSearch: true,
    columns: [
      {
        key: 'name',
        title: text.cluster,
        sortBy: ({ displayName, name }) => displayName || name,
        cell: ({ name, displayName }) =>
          html`<span class="strong">${displayName || name}</span><span class="sub">${name}</span>`,
      },
      { key: 'nodes', title: texts.hubs.nodes, kind: 'number', cell: ({ clusterNode }) => number(clusterNode) },
      { key: 'version', title: text.version, kind: 'wide', cell: ({ kubernetesVersion }) => kubernetesVersion },
      { key: 'provider', title: texts.hubs.provider, kind: 'wide', cell: ({ provider }) => provider },
      {
        key: 'actions',
        title: texts.common.actions,
        cell: ({ name }) =>
          html`<div class="row-actions">
            <button type="button" class="small" onClick=${() => take(name)}>
              ${text.take}<span class="unseen"> ${name}</span>
            </button>
          </div>`,
      },
    ],
    empty: text.empty,
  }
  return html`
    <${Page}
      title=${set}
      up=${[
        [pathOf('o', owner, 'hubs'), texts.hubs.title],
        [pathOf('o', owner, 'hubs', hub, 'sets'), hub],
      ]}
      actions=${html`<button type="button" class="primary" onClick=${() => setAdding(true)}><${Icon} name="plus" />${text.add}</button>`}
    >
      <${List} options=${options} />
      <${FeatureSets} owner=${owner} hub=${hub} set=${set} />
    <//>
    ${isAdding && html`<${AddCluster} owner=${owner} hub=${hub} set=${set} onClose=${() => setAdding(false)} />`}
  `
}
