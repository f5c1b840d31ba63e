import { useState } from 'preact/hooks'
import { href, pathOf } from '../../kit/address.js'
import { call, get } from '../../kit/client.js'
import { DestroyDialog, Dialog } from '../../kit/dialog.js'
import { Field, FormActions, FormProblem, useForm } from '../../kit/form.js'
import { number } from '../../kit/format.js'
import { html } from '../../kit/html.js'
import { Icon } from '../../kit/icons.js'
import { List } from '../../kit/list.js'
import { notify } from '../../kit/notices.js'
import { Page } from '../../kit/page.js'
import { reloadAll } from '../../kit/resource.js'
import { fill, texts } from '../../texts.js'
import { hubTabs } from './hub.js'

/**
 * @import { Schemas, ScreenProps } from 'api-shapes'
 */

const text = texts.clusterSets

/** @param {{ owner: string, hub: string, onClose: () => void }} props */
const CreateSet = ({ owner, hub, onClose }) => {
  const form = useForm({
    initial: { clusterSet: '' },
    submit: async (body, idempotencyKey) => {
      await call('post', '/clusters/{owner}/{cluster}/clustersets/create', {
        path: { owner, cluster: hub },
        body,
        idempotencyKey,
      })
      notify(fill(text.created, { name: body.clusterSet }))
      reloadAll()
      onClose()
    },
  })
  return html`
    <${Dialog} title=${text.create} onClose=${onClose}>
      <form class="form" novalidate onSubmit=${form.onSubmit}>
        <${FormProblem} form=${form} />
        <${Field} form=${form} name="clusterSet" label=${text.name} hint=${text.nameHint} isRequired isCode />
        <${FormActions} form=${form} action=${text.create} onCancel=${onClose} />
      </form>
    <//>
  `
}

/** @param {ScreenProps} props */
export const screen = ({ params: { owner = '', hub = '' } }) => {
  const [isCreating, setCreating] = useState(false)
  const [removed, setRemoved] = useState(/** @type {Schemas['ListClusterSetResp'] | undefined} */ (undefined))
  /** @type {import('../../kit/list.js').ListOptions<Schemas['ListClusterSetResp']>} */
  const options = {
    name: text.title,
    source: `sets ${owner}/${hub}`,
    read: async (_, signal) => {
      const { data } = await get('/clusters/{owner}/{cluster}/clustersets', { path: { owner, cluster: hub }, signal })
      return { items: data, total: data.length }
    },
    keyOf: ({ clusterSetName }) => clusterSetName,
    textOf: ({ clusterSetName, clusterSetTitle }) => `${clusterSetName} ${clusterSetTitle}`,
    canSearch: true,
    columns: [
      {
        key: 'name',
        title: text.set,
        sortBy: ({ clusterSetName }) => clusterSetName,
        cell: ({ clusterSetName, clusterSetTitle }) =>
          html`<a class="strong" href=${href(pathOf('o', owner, 'hubs', hub, 'sets', clusterSetName))}
              >${clusterSetTitle || clusterSetName}</a
            ><span class="sub">${clusterSetName}</span>`,
      },
      {
        key: 'clusters',
        title: text.clusters,
        kind: 'number',
        sortBy: ({ clusters }) => clusters,
        cell: ({ clusters }) => number(clusters),
      },
      {
        key: 'actions',
        title: texts.common.actions,
        cell: (set) =>
          html`<div class="row-actions">
            <button type="button" class="small danger" onClick=${() => setRemoved(set)}>
              ${texts.common.remove}<span class="unseen"> ${set.clusterSetName}</span>
            </button>
          </div>`,
      },
    ],
    empty: text.empty,
  }
  return html`
    <${Page}
      title=${hub}
      up=${[[pathOf('o', owner, 'hubs'), texts.hubs.title]]}
      tabs=${hubTabs(owner, hub)}
      actions=${html`<button type="button" class="primary" onClick=${() => setCreating(true)}><${Icon} name="plus" />${text.create}</button>`}
    >
      <${List} options=${options} />
    <//>
    ${isCreating && html`<${CreateSet} owner=${owner} hub=${hub} onClose=${() => setCreating(false)} />`}
    ${
      removed &&
      html`<${DestroyDialog}
        title=${fill(text.removeTitle, { name: removed.clusterSetName })}
        name=${removed.clusterSetName}
        action=${texts.common.remove}
        losses=${[fill(text.lossClusters, { total: removed.clusters }), text.lossFeatures]}
        act=${async (/** @type {string} */ idempotencyKey) => {
          await call('post', '/clusters/{owner}/{cluster}/clustersets/delete', {
            path: { owner, cluster: hub },
            body: { clusterSet: removed.clusterSetName },
            idempotencyKey,
          })
          notify(fill(text.removed, { name: removed.clusterSetName }))
          reloadAll()
        }}
        onClose=${() => setRemoved(undefined)}
      />`
    }
  `
}
