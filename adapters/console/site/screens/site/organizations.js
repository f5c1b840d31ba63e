import { href, pathOf } from '../../kit/address.js'
import { get } from '../../kit/client.js'
import { Time } from '../../kit/format.js'
import { html } from '../../kit/html.js'
import { List, pageSize } from '../../kit/list.js'
import { Page } from '../../kit/page.js'
import { texts } from '../../texts.js'

/**
 * @import { Schemas } from 'api-shapes'
 */

const text = texts.allOrganizations

/** `OrgType` of a client organization. */
const clientType = 2

export const screen = () => {
  /** @type {import('../../kit/list.js').ListOptions<Schemas['ConsoleOrganization']>} */
  const options = {
    name: text.title,
    source: 'organizations',
    isPaged: true,
    read: async ({ page }, signal) => {
      const { data, total } = await get('/accounts/admin/orgs', { query: { page, limit: pageSize }, signal })
      return { items: data, total: total ?? data.length }
    },
    keyOf: ({ ID }) => `${ID}`,
    columns: [
      {
        key: 'name',
        title: text.name,
        cell: ({ Name, FullName }) =>
          html`<a class="strong" href=${href(pathOf('o', Name, 'members'))}>${FullName || Name}</a
            ><span class="sub">${Name}</span>`,
      },
      { key: 'kind', title: text.kind, cell: ({ OrgType }) => (OrgType === clientType ? text.client : text.ordinary) },
      { key: 'visibility', title: text.visibility, kind: 'wide', cell: ({ Visibility }) => Visibility },
      {
        key: 'created',
        title: texts.users.created,
        kind: 'wide',
        cell: ({ CreatedUnix }) => html`<${Time} value=${CreatedUnix} as="day" />`,
      },
    ],
    empty: text.empty,
  }
  return html`<${Page} title=${text.title} lead=${text.lead}><${List} options=${options} /><//>`
}
