import { useState } from 'preact/hooks'
import { href, pathOf } from '../../kit/address.js'
import { call, get } from '../../kit/client.js'
import { DestroyDialog } from '../../kit/dialog.js'
import { html } from '../../kit/html.js'
import { List, pageSize } from '../../kit/list.js'
import { notify } from '../../kit/notices.js'
import { Page } from '../../kit/page.js'
import { Problem, reloadAll, useResource } from '../../kit/resource.js'
import { fill, texts } from '../../texts.js'

/**
 * @import { Schemas } from 'api-shapes'
 */

const text = texts.clientOrgs

const kinds = { Active: 'good', Deleting: 'busy', 'Partially Deleted': 'warn', Deleted: 'idle', NotFound: 'bad' }

/** What a client organization has on its clusters, which are asked. @param {{ orgname: string }} props */
const Status = ({ orgname }) => {
  const { value, error } = useResource(
    `status ${orgname}`,
    async (signal) => (await get('/user/client/{orgname}/status', { path: { orgname }, signal })).data,
  )
  if (error !== undefined) return html`<${Problem} error=${error} />`
  if (value === undefined) return html`<span class="faint">${texts.common.loading}</span>`
  return html`
    <span class="badge ${kinds[value.status]}">${text.states[value.status]}</span>
    ${value.clusters.map(
      ({ cluster, status, remains, message }) =>
        html`<span key=${cluster} class="sub"
          >${cluster}:
          ${text.states[status]}${remains.length > 0 && ` (${fill(text.remains, { names: remains.join(', ') })})`}${message && ` ${message}`}</span
        >`,
    )}
  `
}

export const screen = () => {
  const [removed, setRemoved] = useState(/** @type {Schemas['Organization'] | undefined} */ (undefined))
  /** @type {import('../../kit/list.js').ListOptions<Schemas['Organization']>} */
  const options = {
    name: text.title,
    source: 'client organizations',
    isPaged: true,
    read: async ({ page }, signal) => {
      const { data, total } = await get('/user/clients', { query: { page, limit: pageSize }, signal })
      return { items: data, total: total ?? data.length }
    },
    keyOf: ({ id }) => `${id}`,
    columns: [
      {
        key: 'name',
        title: text.name,
        cell: ({ username, full_name }) =>
          html`<a class="strong" href=${href(pathOf('o', username, 'clusters'))}>${full_name || username}</a
            ><span class="sub">${username}</span>`,
      },
      { key: 'status', title: text.status, cell: ({ username }) => html`<${Status} orgname=${username} />` },
      {
        key: 'actions',
        title: texts.common.actions,
        cell: (org) =>
          html`<div class="row-actions">
            <button type="button" class="small danger" onClick=${() => setRemoved(org)}>
              ${texts.common.remove}<span class="unseen"> ${org.username}</span>
            </button>
          </div>`,
      },
    ],
    empty: text.empty,
  }
  return html`
    <${Page} title=${text.title} lead=${text.lead}><${List} options=${options} /><//>
    ${
      removed &&
      html`<${DestroyDialog}
        title=${fill(text.removeTitle, { name: removed.username })}
        name=${removed.username}
        action=${texts.common.remove}
        losses=${[text.lossNamespaces, text.lossPeople]}
        act=${async (/** @type {string} */ idempotencyKey) => {
          await call('delete', '/user/client/delete/{id}', { path: { id: removed.id }, idempotencyKey })
          notify(fill(text.removing, { name: removed.username }))
          reloadAll()
        }}
        onClose=${() => setRemoved(undefined)}
      />`
    }
  `
}
