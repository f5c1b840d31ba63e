import { useState } from 'preact/hooks'
import { changeQuery, pathOf } from '../../kit/address.js'
import { call, get } from '../../kit/client.js'
import { DestroyDialog, Dialog } from '../../kit/dialog.js'
import { Field, FormActions, FormProblem, useForm } from '../../kit/form.js'
import { html } from '../../kit/html.js'
import { Icon } from '../../kit/icons.js'
import { List } from '../../kit/list.js'
import { notify, notifyFailure } from '../../kit/notices.js'
import { Page } from '../../kit/page.js'
import { loaded, reloadAll, useResource } from '../../kit/resource.js'
import { Copyable } from '../../kit/secret.js'
import { startedTask } from '../../kit/started-task.js'
import { TaskProgress } from '../../kit/tasks.js'
import { fill, texts } from '../../texts.js'

/**
 * @import { Schemas, ScreenProps } from 'api-shapes'
 */

const text = texts.hub

/** The sections of a hub, for the tabs of its screens. @param {string} owner @param {string} hub @returns {(readonly [string, string])[]} */
export const hubTabs = (owner, hub) => [
  [pathOf('o', owner, 'hubs', hub), text.spokes],
  [pathOf('o', owner, 'hubs', hub, 'sets'), text.sets],
]

/** The command with which a cluster asks to join. @param {{ owner: string, hub: string, onClose: () => void }} props */
const JoinByCommand = ({ owner, hub, onClose }) => {
  const [command, setCommand] = useState('')
  const form = useForm({
    initial: { clusterName: '' },
    submit: async (body) => {
      const { data } = await call('post', '/clusters/{owner}/{cluster}/spoke-command', {
        path: { owner, cluster: hub },
        query: {},
        body,
      })
      setCommand(data.spoke)
    },
  })
  return html`
    <form class="form" novalidate onSubmit=${form.onSubmit}>
      <${FormProblem} form=${form} />
      <${Field} form=${form} name="clusterName" label=${text.name} hint=${text.commandHint} isRequired isCode />
      ${
        command !== '' &&
        html`<div class="field">
          <p class="strong">${text.runThis}</p>
          <${Copyable} label=${text.runThis} value=${command} />
          <p class="hint">${text.thenAccept}</p>
        </div>`
      }
      <${FormActions} form=${form} action=${text.makeCommand} onCancel=${onClose} />
    </form>
  `
}

/** Makes a cluster of the account a spoke. @param {{ owner: string, hub: string, onClose: () => void }} props */
const JoinImported = ({ owner, hub, onClose }) => {
  const choices = useResource(`clusters ${owner}`, async (signal) =>
    (await get('/clustersv2/{owner}', { path: { owner }, query: {}, signal })).data.filter(
      ({ name, hubClusterUID }) => name !== hub && hubClusterUID === '',
    ),
  )
  const form = useForm({
    initial: { name: '' },
    submit: async ({ name }, idempotencyKey) => {
      await call('post', '/clusters/{owner}/{cluster}/convert/spoke', {
        path: { owner, cluster: hub },
        query: { 'response-id': idempotencyKey },
        body: { basicInfo: { name } },
        idempotencyKey,
      })
      onClose()
      changeQuery({ task: await startedTask(owner, idempotencyKey) })
      reloadAll()
    },
  })
  return loaded(choices, (clusters) =>
    clusters.length === 0
      ? html`<p>${text.noImported}</p>`
      : html`<form class="form" novalidate onSubmit=${form.onSubmit}>
          <${FormProblem} form=${form} />
          <${Field}
            form=${form}
            name="name"
            type="select"
            isRequired
            label=${text.cluster}
            hint=${text.convertHint}
            options=${[['', text.choose], ...clusters.map(({ name, displayName }) => [name, displayName || name])]}
          />
          <${FormActions} form=${form} action=${text.convert} onCancel=${onClose} />
        </form>`,
  )
}

/** @param {{ owner: string, hub: string, onClose: () => void }} props */
const AddSpoke = (props) => {
  const [isByCommand, setByCommand] = useState(false)
  return html`
    <${Dialog} title=${text.add} onClose=${props.onClose} isWide>
      <fieldset class="choice">
        <legend>${text.how}</legend>
        <label
          ><input type="radio" name="how" checked=${!isByCommand} onChange=${() => setByCommand(false)} />
          ${text.byImported}</label
        >
        <label
          ><input type="radio" name="how" checked=${isByCommand} onChange=${() => setByCommand(true)} />
          ${text.byCommand}</label
        >
      </fieldset>
      ${isByCommand ? html`<${JoinByCommand} ...${props} />` : html`<${JoinImported} ...${props} />`}
    <//>
  `
}

/** Clusters that ask to join, of which each is accepted by a click. @param {{ owner: string, hub: string }} props */
const Asking = ({ owner, hub }) => {
  const asking = useResource(
    `asking ${owner}/${hub}`,
    async (signal) =>
      (await get('/clusters/{owner}/{cluster}/not-accepted-clusters', { path: { owner, cluster: hub }, signal })).data,
  )
  const accept = async (/** @type {string} */ name) => {
    try {
      await call('post', '/clusters/{owner}/{cluster}/accept-spoke', {
        path: { owner, cluster: hub },
        body: { clusters: [name] },
      })
      notify(fill(text.accepted, { name }))
      reloadAll()
    } catch (error) {
      notifyFailure(error)
    }
  }
  return loaded(
    asking,
    (clusters) =>
      clusters.length > 0 &&
      html`<section class="card">
        <h2>${text.asking}</h2>
        <p class="faint">${text.askingHint}</p>
        <ul class="rows">
          ${clusters.map(
            ({ name, clusterURL }) =>
              html`<li key=${name}>
                <span class="strong">${name}</span> <span class="faint">${clusterURL}</span>
                <button type="button" class="small primary end" onClick=${() => accept(name)}>
                  ${text.accept}<span class="unseen"> ${name}</span>
                </button>
              </li>`,
          )}
        </ul>
      </section>`,
    1,
  )
}

/** @param {ScreenProps} props */
export const screen = ({ params: { owner = '', hub = '' }, query }) => {
  const [opened, setOpened] = useState(/** @type {'add' | string | undefined} */ (undefined))
  const [removed, setRemoved] = useState(/** @type {string | undefined} */ (undefined))
  const task = query.get('task') ?? ''
  /** @type {import('../../kit/list.js').ListOptions<Schemas['ManagedClusterInfo']>} */
  const options = {
    name: text.spokes,
    source: `spokes ${owner}/${hub}`,
    read: async (_, signal) => {
      const { data } = await get('/clusters/{owner}/{cluster}/accepted-clusters', {
        path: { owner, cluster: hub },
        signal,
      })
      return { items: data, total: data.length }
    },
    keyOf: ({ name }) => name,
    textOf: ({ name, clusterSet = '', clusterURL }) => `${name} ${clusterSet} ${clusterURL}`,
    canSearch: true,
    columns: [
      {
        key: 'name',
        title: text.spoke,
        sortBy: ({ name }) => name,
        cell: ({ name, clusterUID }) =>
          html`<span class="strong">${name}</span><span class="sub"><code>${clusterUID}</code></span>`,
      },
      {
        key: 'set',
        title: text.set,
        sortBy: ({ clusterSet = '' }) => clusterSet,
        cell: ({ clusterSet }) => clusterSet ?? texts.common.none,
      },
      { key: 'url', title: text.address, kind: 'wide', cell: ({ clusterURL }) => clusterURL },
      {
        key: 'actions',
        title: texts.common.actions,
        cell: ({ name }) =>
          html`<div class="row-actions">
            <button type="button" class="small danger" onClick=${() => setRemoved(name)}>
              ${texts.common.remove}<span class="unseen"> ${name}</span>
            </button>
          </div>`,
      },
    ],
    empty: text.empty,
  }
  return html`
    <${Page}
      title=${hub}
      up=${[[pathOf('o', owner, 'hubs'), texts.hubs.title]]}
      tabs=${hubTabs(owner, hub)}
      actions=${html`<button type="button" class="primary" onClick=${() => setOpened('add')}><${Icon} name="plus" />${text.add}</button>`}
    >
      ${task !== '' && html`<${TaskProgress} id=${task} onEnd=${reloadAll} />`}
      <${Asking} owner=${owner} hub=${hub} />
      <${List} options=${options} />
    <//>
    ${opened === 'add' && html`<${AddSpoke} owner=${owner} hub=${hub} onClose=${() => setOpened(undefined)} />`}
    ${
      removed !== undefined &&
      html`<${DestroyDialog}
        title=${fill(text.removeTitle, { name: removed })}
        name=${removed}
        action=${texts.common.remove}
        losses=${[text.lossFeatures, text.lossRights]}
        act=${async (/** @type {string} */ idempotencyKey) => {
          await call('post', '/clusters/{owner}/{cluster}/remove-managed-cluster', {
            path: { owner, cluster: hub },
            query: { 'response-id': idempotencyKey },
            body: { clusterName: removed },
            idempotencyKey,
          })
          changeQuery({ task: await startedTask(owner, idempotencyKey) })
          reloadAll()
        }}
        onClose=${() => setRemoved(undefined)}
      />`
    }
  `
}
