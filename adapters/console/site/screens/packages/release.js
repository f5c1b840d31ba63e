import { useState } from 'preact/hooks'
import { address, changeQuery, href, navigate, pathOf } from '../../kit/address.js'
import { call, get } from '../../kit/client.js'
import { DestroyDialog, Dialog } from '../../kit/dialog.js'
import { Time } from '../../kit/format.js'
import { html, useValue } from '../../kit/html.js'
import { notifyFailure } from '../../kit/notices.js'
import { Page } from '../../kit/page.js'
import { loaded, reloadAll, useResource } from '../../kit/resource.js'
import { TaskProgress } from '../../kit/tasks.js'
import { factsOf, ReleaseStatus } from '../../objects/release.js'
import { fill, texts } from '../../texts.js'

/**
 * @import { ScreenProps, Schemas } from 'api-shapes'
 */

const text = texts.releases

/** Asks which repository has the chart of the new version. @param {{ owner: string, cluster: string, namespace: string, name: string, chart: string, onClose: () => void }} props */
const Upgrade = ({ owner, cluster, namespace, name, chart, onClose }) => {
  const repositories = useResource(
    `repositories ${owner}`,
    async (signal) => (await get('/orgs/{orgname}/chartrepositories', { path: { orgname: owner }, signal })).data,
  )
  return html`
    <${Dialog} title=${fill(texts.install.upgradeTitle, { release: name })} onClose=${onClose}>
      <p>${fill(text.whichRepository, { chart })}</p>
      ${loaded(
        repositories,
        (found) =>
          html`<ul class="rows">
            ${found.map(
              (repository) =>
                html`<li key=${repository.name}>
                  <a
                    class="strong"
                    href=${href(pathOf('o', owner, 'packages', repository.name, chart), { cluster, namespace, release: name })}
                    >${repository.name}</a
                  >
                  <span class="faint">${repository.url}</span>
                </li>`,
            )}
            ${found.length === 0 && html`<li class="faint">${texts.repositories.empty}</li>`}
          </ul>`,
        2,
      )}
    <//>
  `
}

/** @param {{ history: Schemas['Release'][], rollback: (version: number) => void }} props */
const History = ({ history, rollback }) => {
  const newest = history[0]?.version
  return html`
    <div class="table" role="region" aria-label=${text.history} tabindex="0">
      <table>
        <caption class="unseen">
          ${text.history}
        </caption>
        <thead>
          <tr>
            <th scope="col" class="number">${text.revision}</th>
            <th scope="col">${text.status}</th>
            <th scope="col">${text.chart}</th>
            <th scope="col" class="wide">${text.description}</th>
            <th scope="col">${text.changed}</th>
            <th scope="col" class="end">${texts.common.actions}</th>
          </tr>
        </thead>
        <tbody>
          ${history.map((revision) => {
            const facts = factsOf(revision)
            return html`<tr key=${revision.version}>
              <td class="number">${revision.version}</td>
              <td><${ReleaseStatus} status=${facts.status} /></td>
              <td>${facts.chart} ${facts.version}</td>
              <td class="wide">${facts.description}</td>
              <td><${Time} value=${facts.at} as="ago" /></td>
              <td class="end">
                ${revision.version !== newest && html`<div class="row-actions"><button type="button" class="small" aria-label=${fill(text.rollbackTo, { version: revision.version })} onClick=${() => rollback(revision.version)}>${text.rollback}</button></div>`}
              </td>
            </tr>`
          })}
        </tbody>
      </table>
    </div>
  `
}

/** @param {ScreenProps} props */
export const screen = ({ params: { owner = '', cluster = '', namespace = '', name = '' } }) => {
  const { query } = useValue(address)
  const [opened, setOpened] = useState(/** @type {'upgrade' | 'uninstall' | undefined} */ (undefined))
  const path = { owner, cluster, name }
  const at = `${owner}/${cluster}/${namespace}/${name}`
  const history = useResource(`history ${at}`, async (signal) => {
    const { data } = await get('/clusters/{owner}/{cluster}/helm/v3/releases/{name}', {
      path,
      query: { namespace, max: 20 },
      signal,
    })
    return data.toSorted((a, b) => b.version - a.version)
  })
  const status = useResource(
    `release ${at}`,
    async (signal) =>
      (await get('/clusters/{owner}/{cluster}/helm/v3/releases/{name}/content', { path, query: { namespace }, signal }))
        .data,
  )
  const task = query.get('task')
  const follow = (/** @type {{ id: string }} */ { id }) => changeQuery({ task: id })
  const rollback = async (/** @type {number} */ version) => {
    try {
      follow(
        (
          await call('post', '/clusters/{owner}/{cluster}/helm/v3/releases/{name}/rollback', {
            path,
            body: { namespace, version, wait: true, timeout: 300 },
          })
        ).data,
      )
    } catch (error) {
      notifyFailure(error)
    }
  }
  const chart = history.value?.[0] && factsOf(history.value[0]).chart
  return html`
    <${Page}
      title=${name}
      lead=${namespace}
      up=${[
        [pathOf('o', owner, 'clusters'), texts.clusters.title],
        [pathOf('o', owner, 'clusters', cluster, 'releases'), cluster],
      ]}
      actions=${
        chart &&
        html`<button type="button" class="danger" onClick=${() => setOpened('uninstall')}>${text.uninstall}</button>
          <button type="button" class="primary" onClick=${() => setOpened('upgrade')}>${texts.install.upgrade}</button>`
      }
    >
      ${task && html`<${TaskProgress} key=${task} id=${task} onEnd=${reloadAll} />`}
      <div class="stack">
        <h2>${text.history}</h2>
        ${loaded(history, (revisions) => html`<${History} history=${revisions} rollback=${rollback} />`)}
        ${loaded(
          status,
          (release) => html`
            <div class="cards wide">
              <div class="card">
                <div class="card-head"><h2>${text.values}</h2></div>
                ${release.config === undefined ? html`<p class="faint">${text.noValues}</p>` : html`<pre class="code" tabindex="0" role="region" aria-label=${text.values}>${JSON.stringify(release.config, null, 2)}</pre>`}
              </div>
              ${
                factsOf(release).notes &&
                html`<div class="card">
                  <div class="card-head"><h2>${text.notes}</h2></div>
                  <pre class="code" tabindex="0">${factsOf(release).notes}</pre>
                </div>`
              }
            </div>
            <details>
              <summary>${text.manifest}</summary>
              <pre class="code" tabindex="0" role="region" aria-label=${text.manifest}>${release.manifest}</pre>
            </details>
          `,
        )}
      </div>
    <//>
    ${opened === 'upgrade' && chart && html`<${Upgrade} owner=${owner} cluster=${cluster} namespace=${namespace} name=${name} chart=${chart} onClose=${() => setOpened(undefined)} />`}
    ${
      opened === 'uninstall' &&
      html`<${DestroyDialog}
        title=${fill(text.uninstallTitle, { name })}
        name=${name}
        action=${text.uninstall}
        losses=${text.losses}
        act=${async (/** @type {string} */ idempotencyKey) => {
          const { data } = await call('delete', '/clusters/{owner}/{cluster}/helm/v3/releases/{name}', {
            path,
            query: { namespace },
            idempotencyKey,
          })
          navigate(href(pathOf('o', owner, 'tasks', data.id)))
        }}
        onClose=${() => setOpened(undefined)}
      />`
    }
  `
}
