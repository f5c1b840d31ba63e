import { href, pathOf } from '../../kit/address.js'
import { get } from '../../kit/client.js'
import { Time } from '../../kit/format.js'
import { html } from '../../kit/html.js'
import { Icon } from '../../kit/icons.js'
import { List } from '../../kit/list.js'
import { useAccountRights } from '../../objects/organization.js'
import { NotAllowed, Page } from '../../kit/page.js'
import { texts } from '../../texts.js'

/**
 * @import { ScreenProps, Schemas } from 'api-shapes'
 */

const text = texts.roles

/** @param {ScreenProps} props */
export const screen = ({ params: { owner: orgname = '' }, session }) => {
  const rights = useAccountRights(session, orgname)
  const canCreate = rights?.has('can_create_role') === true
  /** @type {import('../../kit/list.js').ListOptions<Schemas['RoleResponse']>} */
  const options = {
    name: text.title,
    source: `roles ${orgname}`,
    read: async (_, signal) => {
      const { data, total = data.length } = await get('/authz/roles', { query: { org: orgname }, signal })
      return { items: data, total }
    },
    keyOf: ({ id }) => `${id}`,
    textOf: ({ name, description }) => `${name} ${description}`,
    canSearch: true,
    columns: [
      {
        key: 'name',
        title: text.name,
        sortBy: ({ name }) => name,
        cell: ({ id, name, description }) =>
          html`<a class="strong" href=${href(pathOf('o', orgname, 'roles', `${id}`))}>${name}</a
            ><span class="sub">${description}</span>`,
      },
      {
        key: 'permissions',
        title: text.permissions,
        kind: 'number',
        sortBy: ({ permissions }) => permissions.length,
        cell: ({ permissions }) => permissions.length,
      },
      {
        key: 'teams',
        title: text.teams,
        kind: 'number',
        sortBy: ({ team_ids }) => team_ids.length,
        cell: ({ team_ids }) => team_ids.length,
      },
      {
        key: 'changed',
        title: text.changed,
        kind: 'wide',
        sortBy: ({ updated_at }) => updated_at,
        cell: ({ updated_at }) => html`<${Time} value=${updated_at} />`,
      },
    ],
    empty: text.empty,
  }
  return html`
    <${Page}
      title=${text.title}
      lead=${text.lead}
      actions=${canCreate && html`<a class="button primary" href=${href(pathOf('o', orgname, 'roles', 'new'))}><${Icon} name="plus" />${text.create}</a>`}
    >
      ${rights && !canCreate && html`<${NotAllowed} action=${text.toCreate} />`}
      <${List} options=${options} />
    <//>
  `
}
