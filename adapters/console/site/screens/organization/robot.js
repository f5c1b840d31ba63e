import { useState } from 'preact/hooks'
import { href, navigate, pathOf } from '../../kit/address.js'
import { Choices } from '../../kit/choices.js'
import { call, get } from '../../kit/client.js'
import { DestroyDialog, Dialog } from '../../kit/dialog.js'
import { Conflict, Field, FormActions, FormProblem, useForm } from '../../kit/form.js'
import { Time } from '../../kit/format.js'
import { html } from '../../kit/html.js'
import { Icon } from '../../kit/icons.js'
import { List } from '../../kit/list.js'
import { notify } from '../../kit/notices.js'
import { useAccountRights } from '../../objects/organization.js'
import { Page } from '../../kit/page.js'
import { loaded, reloadAll, useResource } from '../../kit/resource.js'
import { Copyable } from '../../kit/secret.js'
import { fill, texts } from '../../texts.js'

/**
 * @import { ScreenProps, Schemas } from 'api-shapes'
 */

const text = texts.robots

/** What a token can be for. A robot account has the rights of its teams in any case. */
const scopes = /** @type {const} */ ([
  'read:cluster',
  'write:cluster',
  'read:organization',
  'write:organization',
  'read:contract',
  'all',
])

/** @param {string} day such as `2027-01-31` */
const endOf = (day) => (day === '' ? {} : { expires_at: new Date(`${day}T23:59:59`).toISOString() })

/** @param {{ orgname: string, robot: string, onClose: () => void }} props */
const NewToken = ({ orgname, robot, onClose }) => {
  const [made, setMade] = useState('')
  const form = useForm({
    initial: { name: '', expires_at: '', scopes: /** @type {string[]} */ (['read:cluster']) },
    codes: { TokenNameTaken: 'name', TokenLifeTooLong: 'expires_at', ExpiryPast: 'expires_at' },
    submit: async ({ name, expires_at, scopes: chosen }, idempotencyKey) => {
      const body = { name: name.trim(), scopes: chosen, ...endOf(expires_at) }
      const { data } = await call('post', '/orgs/{orgname}/robots/{robot}/tokens', {
        path: { orgname, robot },
        body,
        idempotencyKey,
      })
      setMade(data.sha1)
      reloadAll()
    },
  })
  if (made !== '')
    return html`
      <${Dialog} title=${text.newToken} onClose=${onClose}>
        <div class="panel warn">
          <${Icon} name="warning" />
          <p>${text.shownOnce}</p>
        </div>
        <${Copyable} label=${text.newToken} value=${made} />
        <div class="actions"><button type="button" class="primary" onClick=${onClose}>${text.kept}</button></div>
      <//>
    `
  return html`
    <${Dialog} title=${text.createToken} onClose=${onClose}>
      <form class="form" novalidate onSubmit=${form.onSubmit}>
        <${FormProblem} form=${form} />
        <${Field} form=${form} name="name" label=${text.tokenName} isRequired />
        <${Field} form=${form} name="expires_at" type="date" label=${text.expires} hint=${text.expiresHint} />
        <${Choices}
          form=${form}
          name="scopes"
          label=${text.scopes}
          choices=${scopes.map((scope) => [scope, scope])}
          none=""
        />
        <${FormActions} form=${form} action=${text.createToken} onCancel=${onClose} />
      </form>
    <//>
  `
}

/** @param {{ orgname: string, read: { robot: Schemas['RobotAccount'], etag: string | undefined, teams: Schemas['Team'][] } }} props */
const Edit = ({ orgname, read }) => {
  const [etag, setEtag] = useState(read.etag)
  const path = { orgname, robot: read.robot.name }
  const valuesOf = (/** @type {Schemas['RobotAccount']} */ { description, team_ids, active }) => ({
    description,
    team_ids,
    active,
  })
  const form = useForm({
    initial: valuesOf(read.robot),
    submit: async (body, idempotencyKey) => {
      const { etag: next } = await call('patch', '/orgs/{orgname}/robots/{robot}', {
        path,
        body,
        ifMatch: etag,
        idempotencyKey,
      })
      setEtag(next)
      notify(text.saved)
      reloadAll()
    },
    latest: async () => {
      const now = await get('/orgs/{orgname}/robots/{robot}', { path })
      setEtag(now.etag)
      return valuesOf(now.data)
    },
  })
  return html`
    <form class="form" novalidate onSubmit=${form.onSubmit}>
      <${FormProblem} form=${form} />
      <${Conflict}
        form=${form}
        labels=${{ description: text.description, team_ids: text.teams, active: text.active }}
      />
      <${Field} form=${form} name="description" label=${text.description} />
      <${Choices}
        form=${form}
        name="team_ids"
        label=${text.teams}
        hint=${text.teamsHint}
        choices=${read.teams.map(({ id, name, description }) => [id, name, description])}
        none=${texts.common.none}
      />
      <${Field} form=${form} name="active" type="check" label=${text.isActive} hint=${text.isActiveHint} />
      <${FormActions} form=${form} action=${texts.common.save} />
    </form>
  `
}

/** @param {ScreenProps} props */
export const screen = ({ params: { owner: orgname = '', robot = '' }, session }) => {
  const [opened, setOpened] = useState(
    /** @type {'token' | 'delete' | Schemas['AccessToken'] | undefined} */ (undefined),
  )
  const rights = useAccountRights(session, orgname)
  const canManage = rights?.has('can_create_robot') === true
  const path = { orgname, robot }
  const close = () => setOpened(undefined)
  const resource = useResource(`robot ${orgname} ${robot}`, async (signal) => {
    const [found, { data: teams }] = await Promise.all([
      get('/orgs/{orgname}/robots/{robot}', { path, signal }),
      get('/orgs/{orgname}/teams', { path: { orgname }, signal }),
    ])
    return { robot: found.data, etag: found.etag, teams }
  })
  /** @type {import('../../kit/list.js').ListOptions<Schemas['AccessToken']>} */
  const tokens = {
    name: text.tokens,
    source: `robot tokens ${orgname} ${robot}`,
    read: async (_, signal) => {
      const { data, total = data.length } = await get('/orgs/{orgname}/robots/{robot}/tokens', { path, signal })
      return { items: data, total }
    },
    keyOf: ({ id }) => `${id}`,
    columns: [
      {
        key: 'name',
        title: text.tokenName,
        sortBy: ({ name }) => name,
        cell: ({ name, token_last_eight }) =>
          html`<span class="strong">${name}</span><span class="sub">…${token_last_eight}</span>`,
      },
      { key: 'scopes', title: text.scopes, kind: 'wide', cell: (token) => token.scopes.join(', ') },
      {
        key: 'used',
        title: text.lastUsed,
        cell: ({ last_used_at }) => html`<${Time} value=${last_used_at} as="ago" />`,
      },
      { key: 'expires', title: text.expires, cell: ({ expires_at }) => html`<${Time} value=${expires_at} as="day" />` },
      {
        key: 'actions',
        title: texts.common.actions,
        kind: 'end',
        cell: (token) =>
          canManage &&
          html`<div class="row-actions">
            <button
              type="button"
              class="small quiet danger"
              aria-label=${fill(text.deleteTokenName, { name: token.name })}
              onClick=${() => setOpened(token)}
            >
              ${texts.common.remove}
            </button>
          </div>`,
      },
    ],
    empty: text.noTokens,
  }
  return html`
    <${Page}
      title=${robot}
      up=${[[pathOf('o', orgname, 'robots'), text.title]]}
      lead=${resource.value?.robot.description}
      actions=${
        canManage &&
        html`
          <button type="button" class="danger" onClick=${() => setOpened('delete')}>${text.delete}</button>
          <button type="button" class="primary" onClick=${() => setOpened('token')}>
            <${Icon} name="plus" />${text.createToken}
          </button>
        `
      }
    >
      ${loaded(
        resource,
        (read) => html`
          <div class="columns">
            <div>
              <h2 class="section-title">${text.tokens}</h2>
              <${List} options=${tokens} />
            </div>
            ${
              canManage &&
              html`<section class="card" aria-labelledby="settings">
                <div class="card-head"><h2 id="settings">${text.settings}</h2></div>
                <${Edit} key=${robot} orgname=${orgname} read=${read} />
              </section>`
            }
          </div>
        `,
      )}
    <//>
    ${opened === 'token' && html`<${NewToken} orgname=${orgname} robot=${robot} onClose=${close} />`}
    ${
      opened === 'delete' &&
      html`<${DestroyDialog}
        title=${fill(text.deleteTitle, { name: robot })}
        name=${robot}
        action=${text.delete}
        losses=${[text.lossTokens, text.lossName]}
        act=${async (/** @type {string} */ idempotencyKey) => {
          await call('delete', '/orgs/{orgname}/robots/{robot}', { path, idempotencyKey })
          notify(fill(text.deleted, { name: robot }))
          navigate(href(pathOf('o', orgname, 'robots')))
        }}
        onClose=${close}
      />`
    }
    ${
      typeof opened === 'object' &&
      html`<${DestroyDialog}
        title=${fill(text.deleteTokenName, { name: opened.name })}
        name=${opened.name}
        action=${texts.common.remove}
        losses=${[text.lossToken]}
        act=${async (/** @type {string} */ idempotencyKey) => {
          await call('delete', '/orgs/{orgname}/robots/{robot}/tokens/{id}', {
            path: { ...path, id: opened.id },
            idempotencyKey,
          })
          notify(fill(text.tokenDeleted, { name: opened.name }))
          reloadAll()
        }}
        onClose=${close}
      />`
    }
  `
}
