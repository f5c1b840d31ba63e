import { useState } from 'preact/hooks'
import { href, navigate, pathOf } from '../../kit/address.js'
import { Choices } from '../../kit/choices.js'
import { call, get } from '../../kit/client.js'
import { Dialog } from '../../kit/dialog.js'
import { Field, FormActions, FormProblem, useForm } from '../../kit/form.js'
import { html } from '../../kit/html.js'
import { Icon } from '../../kit/icons.js'
import { List } from '../../kit/list.js'
import { notify } from '../../kit/notices.js'
import { useAccountRights } from '../../objects/organization.js'
import { NotAllowed, Page } from '../../kit/page.js'
import { useResource } from '../../kit/resource.js'
import { fill, texts } from '../../texts.js'

/**
 * @import { ScreenProps, Schemas } from 'api-shapes'
 */

const text = texts.teams

/** @typedef {'none' | 'read' | 'write' | 'admin' | 'custom'} Level */

/** Owners have a team of their own. */
const levels = /** @type {(readonly [Level, string])[]} */ (
  Object.entries(texts.levels).filter(([level]) => level !== 'owner')
)

/** @param {{ orgname: string, roles: Schemas['RoleResponse'][], onClose: () => void }} props */
const NewTeam = ({ orgname, roles, onClose }) => {
  const form = useForm({
    initial: { name: '', description: '', permission: 'read', assignedRoleIDs: /** @type {number[]} */ ([]) },
    codes: { TeamNameTaken: 'name', TeamNameRefused: 'name' },
    submit: async ({ name, description, permission: chosen, assignedRoleIDs }, idempotencyKey) => {
      const permission = levels.find(([each]) => each === chosen)?.[0] ?? 'read'
      const body = { name: name.trim(), description, permission, is_custom: permission === 'custom', assignedRoleIDs }
      const { data } = await call('post', '/orgs/{orgname}/teams', { path: { orgname }, body, idempotencyKey })
      notify(fill(text.created, { name: data.name }))
      navigate(href(pathOf('o', orgname, 'teams', `${data.id}`)))
    },
  })
  return html`
    <${Dialog} title=${text.create} onClose=${onClose}>
      <form class="form" novalidate onSubmit=${form.onSubmit}>
        <${FormProblem} form=${form} />
        <${Field} form=${form} name="name" label=${text.name} isRequired />
        <${Field} form=${form} name="description" label=${text.description} />
        <${Field}
          form=${form}
          name="permission"
          type="select"
          label=${text.level}
          options=${levels}
          isRequired
          hint=${text.levelHint}
        />
        <${Choices}
          form=${form}
          name="assignedRoleIDs"
          label=${text.roles}
          choices=${roles.map(({ id, name, description }) => [id, name, description])}
          none=${text.noRoles}
        />
        <${FormActions} form=${form} action=${text.create} onCancel=${onClose} />
      </form>
    <//>
  `
}

/** @param {ScreenProps} props */
export const screen = ({ params: { owner: orgname = '' }, session }) => {
  const [isCreating, setCreating] = useState(false)
  const rights = useAccountRights(session, orgname)
  const roles = useResource(
    `roles ${orgname}`,
    async (signal) => (await get('/authz/roles', { query: { org: orgname }, signal })).data,
  )
  const roleName = (/** @type {number} */ id) => roles.value?.find((role) => role.id === id)?.name ?? `${id}`
  const canCreate = rights?.has('can_create_team') === true
  /** @type {import('../../kit/list.js').ListOptions<Schemas['Team']>} */
  const options = {
    name: text.title,
    source: `teams ${orgname}`,
    read: async (_, signal) => {
      const { data, total = data.length } = await get('/orgs/{orgname}/teams', { path: { orgname }, signal })
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
          html`<a class="strong" href=${href(pathOf('o', orgname, 'teams', `${id}`))}>${name}</a
            ><span class="sub">${description}</span>`,
      },
      {
        key: 'level',
        title: text.level,
        sortBy: ({ permission }) => permission,
        cell: ({ permission }) => texts.levels[/** @type {keyof typeof texts.levels} */ (permission)] ?? permission,
      },
      {
        key: 'roles',
        title: text.roles,
        cell: ({ role_ids }) =>
          html`<span class="badges"
            >${role_ids.map((id) => html`<a key=${id} class="badge plain" href=${href(pathOf('o', orgname, 'roles', `${id}`))}>${roleName(id)}</a>`)}</span
          >`,
      },
    ],
    empty: text.empty,
  }
  return html`
    <${Page}
      title=${text.title}
      lead=${text.lead}
      actions=${canCreate && html`<button type="button" class="primary" onClick=${() => setCreating(true)}><${Icon} name="plus" />${text.create}</button>`}
    >
      ${rights && !canCreate && html`<${NotAllowed} action=${text.toCreate} />`}
      <${List} options=${options} />
    <//>
    ${isCreating && html`<${NewTeam} orgname=${orgname} roles=${roles.value ?? []} onClose=${() => setCreating(false)} />`}
  `
}
