import { useState } from 'preact/hooks'
import { call, get } from '../../kit/client.js'
import { DestroyDialog, Dialog } from '../../kit/dialog.js'
import { Field, FormActions, FormProblem, useForm } from '../../kit/form.js'
import { Time } from '../../kit/format.js'
import { html } from '../../kit/html.js'
import { Icon } from '../../kit/icons.js'
import { List, pageSize } from '../../kit/list.js'
import { notify } from '../../kit/notices.js'
import { Page } from '../../kit/page.js'
import { reloadAll } from '../../kit/resource.js'
import { fill, texts } from '../../texts.js'

/**
 * @import { Schemas, ScreenProps } from 'api-shapes'
 */

const text = texts.users

/** @param {{ onClose: () => void }} props */
const AddUser = ({ onClose }) => {
  const form = useForm({
    initial: { username: '', email: '', full_name: '', password: '' },
    codes: {
      UsernameTaken: 'username',
      EmailTaken: 'email',
      EmailInvalid: 'email',
      PasswordTooShort: 'password',
      PasswordTooCommon: 'password',
    },
    submit: async (values, idempotencyKey) => {
      await call('post', '/admin/users', { body: { ...values, must_change_password: true }, idempotencyKey })
      notify(fill(text.added, { name: values.username }))
      reloadAll()
      onClose()
    },
  })
  return html`
    <${Dialog} title=${text.add} onClose=${onClose}>
      <form class="form" novalidate onSubmit=${form.onSubmit}>
        <${FormProblem} form=${form} />
        <${Field} form=${form} name="username" label=${text.username} isRequired />
        <${Field} form=${form} name="email" type="email" label=${text.email} isRequired />
        <${Field} form=${form} name="full_name" label=${text.fullName} />
        <${Field}
          form=${form}
          name="password"
          type="password"
          label=${text.password}
          hint=${text.passwordHint}
          isRequired
          autocomplete="new-password"
        />
        <${FormActions} form=${form} action=${text.add} onCancel=${onClose} />
      </form>
    <//>
  `
}

/** @param {{ user: Schemas['ConsoleUser'], onClose: () => void }} props */
const EditUser = ({ user, onClose }) => {
  const form = useForm({
    initial: {
      full_name: user.FullName,
      active: user.IsActive,
      admin: user.IsAdmin,
      prohibit_login: user.ProhibitLogin,
    },
    submit: async (body, idempotencyKey) => {
      await call('patch', '/admin/users/{username}', { path: { username: user.Name }, body, idempotencyKey })
      notify(fill(text.saved, { name: user.Name }))
      reloadAll()
      onClose()
    },
  })
  return html`
    <${Dialog} title=${user.Name} onClose=${onClose}>
      <form class="form" novalidate onSubmit=${form.onSubmit}>
        <${FormProblem} form=${form} />
        <${Field} form=${form} name="full_name" label=${text.fullName} />
        <${Field} form=${form} name="active" type="check" label=${text.isActive} hint=${text.activeHint} />
        <${Field} form=${form} name="prohibit_login" type="check" label=${text.isProhibited} />
        <${Field} form=${form} name="admin" type="check" label=${text.isAdmin} hint=${text.adminHint} />
        <${FormActions} form=${form} action=${texts.common.save} onCancel=${onClose} />
      </form>
    <//>
  `
}

/** @param {ScreenProps} props */
export const screen = ({ session }) => {
  const [opened, setOpened] = useState(
    /** @type {{ kind: 'add' } | { kind: 'edit' | 'remove', user: Schemas['ConsoleUser'] } | undefined} */ (undefined),
  )
  const close = () => setOpened(undefined)
  /** @type {import('../../kit/list.js').ListOptions<Schemas['ConsoleUser']>} */
  const options = {
    name: text.title,
    source: 'users',
    isPaged: true,
    canSearch: true,
    filters: [
      {
        name: 'active',
        label: text.state,
        options: [
          ['', text.anyState],
          ['true', text.active],
          ['false', text.inactive],
        ],
      },
      {
        name: 'admin',
        label: text.rights,
        options: [
          ['', text.anyRights],
          ['true', text.siteAdmin],
        ],
      },
    ],
    read: async ({ page, q, filters }, signal) => {
      const flag = (/** @type {string | undefined} */ word) =>
        word === 'true' ? true : word === 'false' ? false : undefined
      const { data, total } = await get('/accounts/admin/users', {
        query: { page, limit: pageSize, q, is_active: flag(filters['active']), is_admin: flag(filters['admin']) },
        signal,
      })
      return { items: data, total: total ?? data.length }
    },
    keyOf: ({ ID }) => `${ID}`,
    columns: [
      {
        key: 'name',
        title: text.user,
        cell: ({ Name, FullName }) =>
          html`<span class="strong">${FullName || Name}</span><span class="sub">${Name}</span>`,
      },
      {
        key: 'state',
        title: text.state,
        cell: ({ IsActive, IsAdmin, ProhibitLogin }) =>
          html`<span class="badges">
            <span class="badge ${IsActive && !ProhibitLogin ? 'good' : 'idle'}"
              >${!IsActive ? text.inactive : ProhibitLogin ? text.prohibited : text.active}</span
            >
            ${IsAdmin && html`<span class="badge warn">${text.siteAdmin}</span>`}
          </span>`,
      },
      { key: 'email', title: text.email, kind: 'wide', cell: ({ Email }) => Email },
      {
        key: 'created',
        title: text.created,
        kind: 'wide',
        cell: ({ CreatedUnix }) => html`<${Time} value=${CreatedUnix} as="day" />`,
      },
      {
        key: 'seen',
        title: text.lastSignIn,
        kind: 'wide',
        cell: ({ LastLoginUnix }) => html`<${Time} value=${LastLoginUnix} as="ago" />`,
      },
      {
        key: 'actions',
        title: texts.common.actions,
        cell: (user) =>
          html`<div class="row-actions">
            <button type="button" class="small" onClick=${() => setOpened({ kind: 'edit', user })}>
              ${texts.common.edit}<span class="unseen"> ${user.Name}</span>
            </button>
            ${user.ID !== session.user.id && html`<button type="button" class="small danger" onClick=${() => setOpened({ kind: 'remove', user })}>${texts.common.remove}<span class="unseen"> ${user.Name}</span></button>`}
          </div>`,
      },
    ],
    empty: text.empty,
  }
  return html`
    <${Page}
      title=${text.title}
      lead=${text.lead}
      actions=${html`<button type="button" class="primary" onClick=${() => setOpened({ kind: 'add' })}><${Icon} name="plus" />${text.add}</button>`}
    >
      <${List} options=${options} />
    <//>
    ${opened?.kind === 'add' && html`<${AddUser} onClose=${close} />`}
    ${opened?.kind === 'edit' && html`<${EditUser} user=${opened.user} onClose=${close} />`}
    ${
      opened?.kind === 'remove' &&
      html`<${DestroyDialog}
        title=${fill(text.removeTitle, { name: opened.user.Name })}
        name=${opened.user.Name}
        action=${texts.common.remove}
        losses=${[text.lossTokens, text.lossTeams, text.lossName]}
        act=${async (/** @type {string} */ idempotencyKey) => {
          await call('delete', '/admin/users/{username}', {
            path: { username: opened.user.Name },
            query: {},
            idempotencyKey,
          })
          notify(fill(text.removed, { name: opened.user.Name }))
          reloadAll()
        }}
        onClose=${close}
      />`
    }
  `
}
