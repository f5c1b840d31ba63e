import { useState } from 'preact/hooks'
import { href, navigate, pathOf } from '../../kit/address.js'
import { call, get, refusalOf, send } from '../../kit/client.js'
import { ClusterPhase, tabsOf } from '../../objects/cluster.js'
import { DestroyDialog, Dialog } from '../../kit/dialog.js'
import { Field, FormActions, FormProblem, useForm } from '../../kit/form.js'
import { number, Time } from '../../kit/format.js'
import { html } from '../../kit/html.js'
import { Icon } from '../../kit/icons.js'
import { notify, notifyFailure } from '../../kit/notices.js'
import { NotAllowed, Page } from '../../kit/page.js'
import { useRightsOn } from '../../kit/permissions.js'
import { loaded, reloadAll, useResource } from '../../kit/resource.js'
import { saveAs } from '../../kit/save.js'
import { fill, texts } from '../../texts.js'

/**
 * @import { ScreenProps, Schemas } from 'api-shapes'
 */

const text = texts.cluster

/** @param {string} owner @param {string} cluster */
const downloadKubeconfig = async (owner, cluster) => {
  try {
    const path = `/clusters/${encodeURIComponent(owner)}/${encodeURIComponent(cluster)}/client-config`
    const reply = await send('GET', path, { headers: { Accept: 'application/yaml' } })
    if (!reply.ok) throw await refusalOf(reply)
    saveAs(`${cluster}.${owner}.kubeconfig`, 'application/yaml', await reply.text())
    notify(text.downloaded)
  } catch (error) {
    notifyFailure(error)
  }
}

/** @param {{ owner: string, cluster: string, onClose: () => void }} props */
const Connect = ({ owner, cluster, onClose }) => {
  const form = useForm({
    initial: { accessConfig: '' },
    codes: {
      AccessConfigInvalid: 'accessConfig',
      AccessConfigRefused: 'accessConfig',
      ClusterUnreachable: 'accessConfig',
    },
    submit: async (body, idempotencyKey) => {
      await call('post', '/clustersv2/{owner}/{cluster}/connect', { path: { owner, cluster }, body, idempotencyKey })
      notify(text.connected)
      reloadAll()
      onClose()
    },
  })
  return html`
    <${Dialog} title=${text.connect} onClose=${onClose}>
      <form class="form" novalidate onSubmit=${form.onSubmit}>
        <${FormProblem} form=${form} />
        <${Field}
          form=${form}
          name="accessConfig"
          type="textarea"
          rows=${10}
          isCode
          label=${texts.importCluster.kubeconfig}
          hint=${text.connectHint}
          isRequired
        />
        <${FormActions} form=${form} action=${text.connect} onCancel=${onClose} />
      </form>
    <//>
  `
}

/** @param {{ found: Schemas['ClusterInfoModel'] }} props */
const Facts = ({ found }) => html`
  <dl class="facts">
    <dt>${text.id}</dt>
    <dd><code>${found.uid}</code></dd>
    <dt>${texts.clusters.endpoint}</dt>
    <dd><code>${found.endpoint || '–'}</code></dd>
    <dt>${texts.clusters.provider}</dt>
    <dd>${found.provider}</dd>
    <dt>${texts.clusters.version}</dt>
    <dd>${found.kubernetesVersion || '–'}</dd>
    <dt>${texts.clusters.nodes}</dt>
    <dd>${number(found.nodeCount)}</dd>
    <dt>${text.place}</dt>
    <dd>${[found.location, found.project].filter(Boolean).join(', ') || '–'}</dd>
    <dt>${texts.clusters.hub}</dt>
    <dd>${found.hubClusterName || '–'}</dd>
    <dt>${text.set}</dt>
    <dd>${found.clusterSetName || '–'}</dd>
    <dt>${texts.clusters.imported}</dt>
    <dd><${Time} value=${found.createdAt} /></dd>
  </dl>
`

/** @param {ScreenProps} props */
export const screen = ({ params: { owner = '', cluster = '' } }) => {
  const [opened, setOpened] = useState(/** @type {'connect' | 'remove' | undefined} */ (undefined))
  const path = { owner, cluster }
  const record = useResource(
    `cluster ${owner}/${cluster}`,
    async (signal) => (await get('/clusters/{owner}/{cluster}', { path, signal })).data,
  )
  const live = useResource(
    `cluster status ${owner}/${cluster}`,
    async (signal) => (await get('/clustersv2/{owner}/{cluster}/status', { path, signal })).data,
  )
  const rights = useRightsOn(owner, 'cluster', record.value?.id)
  const close = () => setOpened(undefined)
  const found = live.value ?? record.value
  return html`
    <${Page}
      title=${record.value?.displayName || cluster}
      up=${[[pathOf('o', owner, 'clusters'), texts.clusters.title]]}
      tabs=${tabsOf(owner, cluster)}
      actions=${
        rights &&
        html`
          ${rights.has('can_remove') && html`<button type="button" class="danger" onClick=${() => setOpened('remove')}>${text.remove}</button>`}
          ${rights.has('can_reconfigure') && html`<button type="button" onClick=${() => setOpened('connect')}>${text.connect}</button>`}
          ${rights.has('can_view_accessconfig') && html`<button type="button" class="primary" onClick=${() => downloadKubeconfig(owner, cluster)}><${Icon} name="download" />${text.kubeconfig}</button>`}
        `
      }
    >
      ${rights && !rights.has('can_view_accessconfig') && html`<${NotAllowed} action=${text.toConnect} />`}
      <div class="cards wide">
        <section class="card" aria-labelledby="facts">
          <div class="card-head"><h2 id="facts">${text.facts}</h2></div>
          ${loaded(record, (value) => html`<${Facts} found=${found ?? value} />`, 8)}
        </section>
        <section class="card" aria-labelledby="state">
          <div class="card-head">
            <h2 id="state">${text.now}</h2>
            <button type="button" class="small" onClick=${live.reload}>${text.ask}</button>
          </div>
          ${loaded(
            live,
            ({ status }) => html`
              <p>
                <${ClusterPhase} phase=${status.phase} />
                ${text.reasons[/** @type {keyof typeof text.reasons} */ (status.reason)] ?? ''}
              </p>
              ${status.message && html`<p class="faint">${status.message}</p>`}
              <h3 class="gap">${text.capabilities}</h3>
              ${
                status.clusterManagers.length === 0
                  ? html`<p class="faint">${text.noCapabilities}</p>`
                  : html`<p class="badges">
                      ${status.clusterManagers.map((each) => html`<span key=${each} class="badge plain">${text.managers[/** @type {keyof typeof text.managers} */ (each)] ?? each}</span>`)}
                    </p>`
              }
            `,
          )}
        </section>
      </div>
    <//>
    ${opened === 'connect' && html`<${Connect} owner=${owner} cluster=${cluster} onClose=${close} />`}
    ${
      opened === 'remove' &&
      html`<${DestroyDialog}
        title=${fill(text.removeTitle, { name: cluster })}
        name=${cluster}
        action=${text.remove}
        losses=${text.losses}
        act=${async (/** @type {string} */ idempotencyKey) => {
          await call('post', '/clustersv2/{owner}/{cluster}/remove', { path, body: { name: cluster }, idempotencyKey })
          notify(fill(text.removed, { name: cluster }))
          navigate(href(pathOf('o', owner, 'clusters')))
        }}
        onClose=${close}
      />`
    }
  `
}
