import { useState } from 'preact/hooks'
import { href, navigate, pathOf } from '../../kit/address.js'
import { Choices } from '../../kit/choices.js'
import { call, get } from '../../kit/client.js'
import { Dialog } from '../../kit/dialog.js'
import { Field, FormActions, FormProblem, useForm } from '../../kit/form.js'
import { Time } from '../../kit/format.js'
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

const text = texts.robots

/** @param {{ orgname: string, teams: Schemas['Team'][], onClose: () => void }} props */
const NewRobot = ({ orgname, teams, onClose }) => {
  const form = useForm({
    initial: { name: '', description: '', team_ids: /** @type {number[]} */ ([]) },
    codes: { RobotNameTaken: 'name', RobotNameRefused: 'name' },
    submit: async ({ name, description, team_ids }, idempotencyKey) => {
      const body = { name: name.trim(), description, team_ids }
      const { data } = await call('post', '/orgs/{orgname}/robots', { path: { orgname }, body, idempotencyKey })
      notify(fill(text.created, { name: data.name }))
      navigate(href(pathOf('o', orgname, 'robots', data.name)))
    },
  })
  return html`
    <${Dialog} title=${text.create} onClose=${onClose}>
      <form class="form" novalidate onSubmit=${form.onSubmit}>
        <${FormProblem} form=${form} />
        <${Field} form=${form} name="name" label=${text.name} isRequired />
        <${Field} form=${form} name="description" label=${text.description} />
        <${Choices}
          form=${form}
          name="team_ids"
          label=${text.teams}
          hint=${text.teamsHint}
          choices=${teams.map(({ id, name, description }) => [id, name, description])}
          none=${texts.common.none}
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
  const teams = useResource(
    `teams ${orgname}`,
    async (signal) => (await get('/orgs/{orgname}/teams', { path: { orgname }, signal })).data,
  )
  const canCreate = rights?.has('can_create_robot') === true
  /** @type {import('../../kit/list.js').ListOptions<Schemas['RobotAccount']>} */
  const options = {
    name: text.title,
    source: `robots ${orgname}`,
    read: async (_, signal) => {
      const { data, total = data.length } = await get('/orgs/{orgname}/robots', { path: { orgname }, signal })
      return { items: data, total }
    },
    keyOf: ({ name }) => name,
    textOf: ({ name, description }) => `${name} ${description}`,
    canSearch: true,
    columns: [
      {
        key: 'name',
        title: text.name,
        sortBy: ({ name }) => name,
        cell: ({ name, description }) =>
          html`<a class="strong" href=${href(pathOf('o', orgname, 'robots', name))}>${name}</a
            ><span class="sub">${description}</span>`,
      },
      {
        key: 'state',
        title: text.state,
        cell: ({ active }) =>
          html`<span class="badge ${active ? 'good' : 'idle'}">${active ? text.active : text.inactive}</span>`,
      },
      { key: 'login', title: text.login, kind: 'wide', cell: ({ login }) => html`<code>${login}</code>` },
      {
        key: 'created',
        title: text.createdAt,
        kind: 'wide',
        sortBy: ({ created_at }) => created_at,
        cell: ({ created_at }) => html`<${Time} value=${created_at} as="day" />`,
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
    ${isCreating && html`<${NewRobot} orgname=${orgname} teams=${teams.value ?? []} onClose=${() => setCreating(false)} />`}
  `
}
