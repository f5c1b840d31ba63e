import { call, get } from '../../kit/client.js'
import { Time } from '../../kit/format.js'
import { html } from '../../kit/html.js'
import { List } from '../../kit/list.js'
import { notify, notifyFailure } from '../../kit/notices.js'
import { useAccountRights } from '../../objects/organization.js'
import { Page } from '../../kit/page.js'
import { reloadAll } from '../../kit/resource.js'
import { fill, texts } from '../../texts.js'

/**
 * @import { ScreenProps, Schemas } from 'api-shapes'
 */

const text = texts.invitations

/** @param {ScreenProps} props */
export const screen = ({ params: { owner: orgname = '' }, session }) => {
  const rights = useAccountRights(session, orgname)
  const withdraw = async (/** @type {Schemas['Invitation']} */ { id, display_email }) => {
    try {
      await call('delete', '/orgs/{orgname}/invitations/{id}', { path: { orgname, id } })
      notify(fill(text.withdrawn, { email: display_email }))
    } catch (error) {
      notifyFailure(error)
    }
    reloadAll()
  }
  /** @type {import('../../kit/list.js').ListOptions<Schemas['Invitation']>} */
  const options = {
    name: text.title,
    source: `invitations ${orgname}`,
    read: async (_, signal) => {
      const { data, total = data.length } = await get('/orgs/{orgname}/invitations', { path: { orgname }, signal })
      return { items: data, total }
    },
    keyOf: ({ id }) => `${id}`,
    textOf: ({ display_email, inviter }) => `${display_email} ${inviter}`,
    canSearch: true,
    columns: [
      {
        key: 'email',
        title: text.email,
        sortBy: ({ display_email }) => display_email,
        cell: ({ display_email }) => html`<span class="strong">${display_email}</span>`,
      },
      {
        key: 'role',
        title: texts.members.role,
        cell: ({ role }) => texts.members.roles[/** @type {keyof typeof texts.members.roles} */ (role)] ?? role,
      },
      {
        key: 'inviter',
        title: text.inviter,
        kind: 'wide',
        sortBy: ({ inviter }) => inviter,
        cell: ({ inviter }) => inviter,
      },
      {
        key: 'sent',
        title: text.sent,
        kind: 'wide',
        sortBy: ({ created_at }) => created_at,
        cell: ({ created_at }) => html`<${Time} value=${created_at} as="ago" />`,
      },
      {
        key: 'expires',
        title: text.expires,
        sortBy: ({ expires_at }) => expires_at,
        cell: ({ expires_at }) => html`<${Time} value=${expires_at} />`,
      },
      {
        key: 'actions',
        title: texts.common.actions,
        kind: 'end',
        cell: (invitation) =>
          rights?.has('can_add_member') &&
          html`<div class="row-actions">
            <button
              type="button"
              class="small quiet danger"
              aria-label=${fill(text.withdrawName, { email: invitation.display_email })}
              onClick=${() => withdraw(invitation)}
            >
              ${text.withdraw}
            </button>
          </div>`,
      },
    ],
    empty: text.empty,
  }
  return html`<${Page} title=${text.title} lead=${text.lead}><${List} options=${options} /><//>`
}
