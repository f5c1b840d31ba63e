import { useState } from 'preact/hooks'
import { href, navigate, pathOf } from '../../kit/address.js'
import { Choices } from '../../kit/choices.js'
import { call, get } from '../../kit/client.js'
import { DestroyDialog } from '../../kit/dialog.js'
import { Conflict, Field, FormActions, FormProblem, useForm } from '../../kit/form.js'
import { html } from '../../kit/html.js'
import { List } from '../../kit/list.js'
import { notify } from '../../kit/notices.js'
import { Page } from '../../kit/page.js'
import { useRightsOn } from '../../kit/permissions.js'
import { loaded, reloadAll, useResource } from '../../kit/resource.js'
import { fill, texts } from '../../texts.js'

/**
 * @import { ScreenProps, Schemas } from 'api-shapes'
 */

const text = texts.teams

/** @param {number} teamid @param {AbortSignal} [signal] */
const readTeam = async (teamid, signal) => {
  const { data: team, etag } = await get('/teams/{teamid}', { path: { teamid }, ...(signal && { signal }) })
  return { team, etag }
}

const valuesOf = (/** @type {Schemas['Team']} */ { name, description, role_ids }) => ({
  name,
  description,
  assignedRoleIDs: role_ids,
})

/** @param {{ read: Awaited<ReturnType<typeof readTeam>>, roles: Schemas['RoleResponse'][] }} props */
const Edit = ({ read, roles }) => {
  const [etag, setEtag] = useState(read.etag)
  const teamid = read.team.id
  const form = useForm({
    initial: valuesOf(read.team),
    codes: { TeamNameTaken: 'name', TeamNameRefused: 'name' },
    submit: async (values, idempotencyKey) => {
      const { etag: next } = await call('patch', '/teams/{teamid}', {
        path: { teamid },
        body: values,
        ifMatch: etag,
        idempotencyKey,
      })
      setEtag(next)
      notify(text.saved)
      reloadAll()
    },
    latest: async () => {
      const now = await readTeam(teamid)
      setEtag(now.etag)
      return valuesOf(now.team)
    },
  })
  const labels = { name: text.name, description: text.description, assignedRoleIDs: text.roles }
  return html`
    <form class="form" novalidate onSubmit=${form.onSubmit}>
      <${FormProblem} form=${form} />
      <${Conflict} form=${form} labels=${labels} />
      <${Field} form=${form} name="name" label=${text.name} isRequired />
      <${Field} form=${form} name="description" label=${text.description} />
      <${Choices}
        form=${form}
        name="assignedRoleIDs"
        label=${text.roles}
        choices=${roles.map(({ id, name, description }) => [id, name, description])}
        none=${text.noRoles}
      />
      <${FormActions} form=${form} action=${texts.common.save} />
    </form>
  `
}

/** @param {{ teamid: number }} props */
const AddMember = ({ teamid }) => {
  const form = useForm({
    initial: { username: '' },
    codes: { MemberMissing: 'username', AccountNotEligible: 'username', UserMissing: 'username' },
    submit: async ({ username }, idempotencyKey) => {
      await call('put', '/teams/{teamid}/members/{username}', {
        path: { teamid, username: username.trim() },
        idempotencyKey,
      })
      notify(fill(text.memberAdded, { name: username }))
      form.set({ username: '' })
      reloadAll()
    },
  })
  return html`
    <form class="inline" novalidate onSubmit=${form.onSubmit}>
      <${Field} form=${form} name="username" label=${text.addMember} isRequired />
      <button type="submit">${text.add}</button>
      <${FormProblem} form=${form} />
    </form>
  `
}

/** @param {ScreenProps} props */
export const screen = ({ params: { owner: orgname = '', id = '' } }) => {
  const teamid = Number(id)
  const [isDeleting, setDeleting] = useState(false)
  const resource = useResource(`team ${id}`, async (signal) => {
    const [read, { data: roles }] = await Promise.all([
      readTeam(teamid, signal),
      get('/authz/roles', { query: { org: orgname }, signal }),
    ])
    return { read, roles }
  })
  const rights = useRightsOn(orgname, 'team', teamid)
  const team = resource.value?.read.team
  const canEdit = rights?.has('can_edit') === true && team?.permission !== 'owner'
  /** @type {import('../../kit/list.js').ListOptions<Schemas['User']>} */
  const members = {
    name: texts.members.title,
    source: `team members ${id}`,
    read: async (_, signal) => {
      const { data, total = data.length } = await get('/teams/{teamid}/members', { path: { teamid }, signal })
      return { items: data, total }
    },
    keyOf: ({ login }) => login,
    textOf: ({ login, full_name }) => `${login} ${full_name}`,
    canSearch: true,
    columns: [
      {
        key: 'name',
        title: texts.members.member,
        sortBy: ({ login }) => login,
        cell: ({ login, full_name }) =>
          html`<span class="strong">${full_name || login}</span
            >${full_name && html`<span class="sub">${login}</span>`}`,
      },
      { key: 'email', title: texts.members.email, kind: 'wide', cell: ({ email }) => email },
      {
        key: 'actions',
        title: texts.common.actions,
        kind: 'end',
        cell: ({ login }) =>
          rights?.has('can_remove_member') &&
          html`<div class="row-actions">
            <button
              type="button"
              class="small quiet danger"
              aria-label=${fill(texts.members.removeName, { name: login })}
              onClick=${async () => {
                await call('delete', '/teams/{teamid}/members/{username}', { path: { teamid, username: login } }).then(
                  () => notify(fill(text.memberRemoved, { name: login })),
                  (error) => notify(error.message, 'problem'),
                )
                reloadAll()
              }}
            >
              ${texts.common.remove}
            </button>
          </div>`,
      },
    ],
    empty: text.noMembers,
  }
  return html`
    <${Page}
      title=${team?.name ?? text.team}
      up=${[[pathOf('o', orgname, 'teams'), text.title]]}
      lead=${team && (texts.levels[/** @type {keyof typeof texts.levels} */ (team.permission)] ?? team.permission)}
      actions=${rights?.has('can_delete') && team?.permission !== 'owner' && html`<button type="button" class="danger" onClick=${() => setDeleting(true)}>${text.delete}</button>`}
    >
      ${loaded(
        resource,
        ({ read, roles }) => html`
          <div class="columns">
            <div>
              <h2 class="section-title">${texts.members.title}</h2>
              ${rights?.has('can_add_member') && html`<${AddMember} teamid=${teamid} />`}
              <${List} options=${members} />
            </div>
            ${
              canEdit &&
              html`<section class="card" aria-labelledby="team-edit">
                <div class="card-head"><h2 id="team-edit">${text.settings}</h2></div>
                <${Edit} key=${id} read=${read} roles=${roles} />
              </section>`
            }
          </div>
        `,
      )}
    <//>
    ${
      isDeleting &&
      team &&
      html`<${DestroyDialog}
        title=${fill(text.deleteTitle, { name: team.name })}
        name=${team.name}
        action=${text.delete}
        losses=${[text.lossRights, ...(team.role_ids.length > 0 ? [text.lossRoles] : [])]}
        act=${async (/** @type {string} */ idempotencyKey) => {
          await call('delete', '/teams/{teamid}', { path: { teamid }, idempotencyKey })
          notify(fill(text.deleted, { name: team.name }))
          navigate(href(pathOf('o', orgname, 'teams')))
        }}
        onClose=${() => setDeleting(false)}
      />`
    }
  `
}
