import { useState } from 'preact/hooks'
import { href, pathOf } from '../../kit/address.js'
import { call } from '../../kit/client.js'
import { DestroyDialog, Dialog } from '../../kit/dialog.js'
import { Field, FormActions, FormProblem, useForm } from '../../kit/form.js'
import { Time } from '../../kit/format.js'
import { html } from '../../kit/html.js'
import { Icon } from '../../kit/icons.js'
import { List } from '../../kit/list.js'
import { notify } from '../../kit/notices.js'
import { readMembers, useAccountRights } from '../../objects/organization.js'
import { NotAllowed, Page } from '../../kit/page.js'
import { reloadAll } from '../../kit/resource.js'
import { fill, texts } from '../../texts.js'

/**
 * @import { ScreenProps } from 'api-shapes'
 * @import { Membership } from '../../objects/organization.js'
 */

const text = texts.members

/** @type {readonly (readonly ['member' | 'admin' | 'owner', string])[]} */
const roles = [
  ['member', text.roles.member],
  ['admin', text.roles.admin],
  ['owner', text.roles.owner],
]

/** @param {{ orgname: string, onClose: () => void }} props */
const AddMember = ({ orgname, onClose }) => {
  const form = useForm({
    initial: { who: '', role: 'member' },
    codes: { AccountNotEligible: 'who', EmailInvalid: 'who', MemberMissing: 'who' },
    submit: async ({ who, role: chosen }, idempotencyKey) => {
      const role = roles.find(([each]) => each === chosen)?.[0] ?? 'member'
      if (who.includes('@')) {
        await call('post', '/orgs/{orgname}/invitations', {
          path: { orgname },
          body: { email: who.trim(), role },
          idempotencyKey,
        })
        notify(fill(text.invited, { who }))
      } else {
        await call('put', '/orgs/{orgname}/memberships/{username}', {
          path: { orgname, username: who.trim() },
          body: { role },
          idempotencyKey,
        })
        notify(fill(text.added, { who }))
      }
      reloadAll()
      onClose()
    },
  })
  return html`
    <${Dialog} title=${text.add} onClose=${onClose}>
      <form class="form" novalidate onSubmit=${form.onSubmit}>
        <${FormProblem} form=${form} />
        <${Field} form=${form} name="who" label=${text.who} hint=${text.whoHint} isRequired />
        <${Field}
          form=${form}
          name="role"
          type="select"
          label=${text.role}
          options=${roles}
          isRequired
          hint=${text.roleHint}
        />
        <${FormActions} form=${form} action=${text.add} onCancel=${onClose} />
      </form>
    <//>
  `
}

/** @param {ScreenProps} props */
export const screen = ({ params: { owner: orgname = '' }, session }) => {
  const [opened, setOpened] = useState(/** @type {'add' | Membership | undefined} */ (undefined))
  const rights = useAccountRights(session, orgname)
  const close = () => setOpened(undefined)
  const canAdd = rights?.has('can_add_member') === true
  const canRemove = rights?.has('can_remove_member') === true
  /** @type {import('../../kit/list.js').ListOptions<Membership>} */
  const options = {
    name: text.title,
    source: `members ${orgname}`,
    read: (_, signal) => readMembers(orgname, signal),
    keyOf: ({ user }) => user.login,
    textOf: ({ user, teams }) => [user.login, user.full_name, user.email, ...teams.map(({ name }) => name)].join(' '),
    keeps: ({ level }, { level: wanted }) => wanted === '' || level === wanted,
    canSearch: true,
    filters: [{ name: 'level', label: text.level, options: [['', text.anyLevel], ...Object.entries(texts.levels)] }],
    columns: [
      {
        key: 'name',
        title: text.member,
        sortBy: ({ user }) => user.login,
        cell: ({ user }) =>
          html`<span class="strong">${user.full_name || user.login}</span
            >${user.full_name && html`<span class="sub">${user.login}</span>`}`,
      },
      {
        key: 'level',
        title: text.level,
        sortBy: ({ level }) => level,
        cell: ({ level }) => texts.levels[/** @type {keyof typeof texts.levels} */ (level)],
      },
      {
        key: 'teams',
        title: text.teams,
        kind: 'wide',
        cell: ({ teams }) =>
          html`<span class="badges"
            >${teams.map(({ id, name }) => html`<a key=${id} class="badge plain" href=${href(pathOf('o', orgname, 'teams', `${id}`))}>${name}</a>`)}</span
          >`,
      },
      { key: 'email', title: text.email, kind: 'wide', cell: ({ user }) => user.email },
      {
        key: 'created',
        title: text.since,
        kind: 'wide',
        sortBy: ({ user }) => user.created,
        cell: ({ user }) => html`<${Time} value=${user.created} as="day" />`,
      },
      {
        key: 'actions',
        title: texts.common.actions,
        kind: 'end',
        cell: (membership) =>
          canRemove &&
          html`<div class="row-actions">
            <button
              type="button"
              class="small quiet danger"
              aria-label=${fill(text.removeName, { name: membership.user.login })}
              onClick=${() => setOpened(membership)}
            >
              ${texts.common.remove}
            </button>
          </div>`,
      },
    ],
    empty: text.empty,
  }
  return html`
    <${Page}
      title=${text.title}
      lead=${text.lead}
      actions=${canAdd && html`<button type="button" class="primary" onClick=${() => setOpened('add')}><${Icon} name="plus" />${text.add}</button>`}
    >
      ${rights && !canAdd && html`<${NotAllowed} action=${text.toAdd} />`}
      <${List} options=${options} />
    <//>
    ${opened === 'add' && html`<${AddMember} orgname=${orgname} onClose=${close} />`}
    ${
      typeof opened === 'object' &&
      html`<${DestroyDialog}
        title=${fill(text.removeTitle, { name: opened.user.login, org: orgname })}
        name=${opened.user.login}
        action=${texts.common.remove}
        losses=${[...opened.teams.map(({ name }) => fill(text.lossTeam, { team: name })), text.lossTokens]}
        act=${async (/** @type {string} */ idempotencyKey) => {
          await call('delete', '/orgs/{orgname}/members/{username}', {
            path: { orgname, username: opened.user.login },
            idempotencyKey,
          })
          notify(fill(text.removed, { name: opened.user.login }))
          reloadAll()
        }}
        onClose=${close}
      />`
    }
  `
}
