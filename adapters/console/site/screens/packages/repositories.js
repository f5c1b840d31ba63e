import { useState } from 'preact/hooks'
import { href, pathOf } from '../../kit/address.js'
import { call, get } from '../../kit/client.js'
import { DestroyDialog, Dialog } from '../../kit/dialog.js'
import { Field, FormActions, FormProblem, useForm } from '../../kit/form.js'
import { html } from '../../kit/html.js'
import { Icon } from '../../kit/icons.js'
import { List } from '../../kit/list.js'
import { notify } from '../../kit/notices.js'
import { NotAllowed, Page } from '../../kit/page.js'
import { reloadAll } from '../../kit/resource.js'
import { useAccountRights } from '../../objects/organization.js'
import { fill, texts } from '../../texts.js'

/**
 * @import { ScreenProps, Schemas } from 'api-shapes'
 */

const text = texts.repositories

/** @param {{ orgname: string, onClose: () => void }} props */
const NewRepository = ({ orgname, onClose }) => {
  const form = useForm({
    initial: { name: '', url: '', description: '', username: '', password: '' },
    codes: { ChartRepositoryNameTaken: 'name', ChartRepositoryRefused: 'url' },
    submit: async ({ name, url, username, password, description }, idempotencyKey) => {
      const credentials = username === '' ? {} : { username, password }
      const body = { name: name.trim(), url: url.trim(), description, ...credentials }
      await call('post', '/orgs/{orgname}/chartrepositories', { path: { orgname }, body, idempotencyKey })
      notify(fill(text.added, { name }))
      reloadAll()
      onClose()
    },
  })
  return html`
    <${Dialog} title=${text.add} onClose=${onClose}>
      <form class="form" novalidate onSubmit=${form.onSubmit}>
        <${FormProblem} form=${form} />
        <${Field} form=${form} name="name" label=${text.name} isRequired />
        <${Field} form=${form} name="url" type="url" label=${text.url} hint=${text.urlHint} isRequired />
        <${Field} form=${form} name="description" label=${text.description} />
        <${Field} form=${form} name="username" label=${text.username} />
        <${Field} form=${form} name="password" type="password" label=${text.password} autocomplete="new-password" />
        <${FormActions} form=${form} action=${text.add} onCancel=${onClose} />
      </form>
    <//>
  `
}

/** @param {ScreenProps} props */
export const screen = ({ params: { owner: orgname = '' }, session }) => {
  const [opened, setOpened] = useState(/** @type {'add' | Schemas['NamedChartRepository'] | undefined} */ (undefined))
  const rights = useAccountRights(session, orgname)
  const canManage = rights?.has('can_manage_chart_repositories') === true
  const close = () => setOpened(undefined)
  /** @type {import('../../kit/list.js').ListOptions<Schemas['NamedChartRepository']>} */
  const options = {
    name: text.title,
    source: `repositories ${orgname}`,
    read: async (_, signal) => {
      const { data, total = data.length } = await get('/orgs/{orgname}/chartrepositories', {
        path: { orgname },
        signal,
      })
      return { items: data, total }
    },
    keyOf: ({ name }) => name,
    textOf: ({ name, url, description }) => `${name} ${url} ${description}`,
    canSearch: true,
    columns: [
      {
        key: 'name',
        title: text.name,
        sortBy: ({ name }) => name,
        cell: ({ name, description }) =>
          html`<a class="strong" href=${href(pathOf('o', orgname, 'packages', name))}>${name}</a
            ><span class="sub">${description}</span>`,
      },
      { key: 'url', title: text.url, sortBy: ({ url }) => url, cell: ({ url }) => html`<code>${url}</code>` },
      {
        key: 'credentials',
        title: text.credentials,
        kind: 'wide',
        cell: ({ credentials }) =>
          credentials.length === 0 ? html`<span class="faint">${texts.common.none}</span>` : credentials.join(', '),
      },
      {
        key: 'actions',
        title: texts.common.actions,
        kind: 'end',
        cell: (repository) =>
          canManage &&
          html`<div class="row-actions">
            <button
              type="button"
              class="small quiet danger"
              aria-label=${fill(text.removeName, { name: repository.name })}
              onClick=${() => setOpened(repository)}
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
      actions=${canManage && html`<button type="button" class="primary" onClick=${() => setOpened('add')}><${Icon} name="plus" />${text.add}</button>`}
    >
      ${rights && !canManage && html`<${NotAllowed} action=${text.toManage} />`}
      <${List} options=${options} />
    <//>
    ${opened === 'add' && html`<${NewRepository} orgname=${orgname} onClose=${close} />`}
    ${
      typeof opened === 'object' &&
      html`<${DestroyDialog}
        title=${fill(text.removeName, { name: opened.name })}
        name=${opened.name}
        action=${texts.common.remove}
        losses=${text.losses}
        act=${async (/** @type {string} */ idempotencyKey) => {
          await call('delete', '/orgs/{orgname}/chartrepositories/{repository}', {
            path: { orgname, repository: opened.name },
            idempotencyKey,
          })
          notify(fill(text.removed, { name: opened.name }))
          reloadAll()
        }}
        onClose=${close}
      />`
    }
  `
}
