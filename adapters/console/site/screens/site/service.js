import { get } from '../../kit/client.js'
import { Time, number } from '../../kit/format.js'
import { html } from '../../kit/html.js'
import { List } from '../../kit/list.js'
import { Page } from '../../kit/page.js'
import { loaded, useResource } from '../../kit/resource.js'
import { texts } from '../../texts.js'

const text = texts.service

const counts = /** @type {const} */ ([
  'users',
  'activeUsers',
  'siteAdmins',
  'organizations',
  'teams',
  'clusters',
  'sessions',
  'accessTokens',
])

/** @param {unknown} value */
const shown = (value) =>
  value === null || value === undefined || (Array.isArray(value) && value.length === 0)
    ? texts.common.none
    : Array.isArray(value)
      ? value.join(', ')
      : String(value)

/** What runs, and the settings that are in force. */
export const screen = () => {
  const summary = useResource('service', async (signal) => (await get('/accounts/admin', { signal })).data)
  /** @type {import('../../kit/list.js').ListOptions<readonly [string, unknown]>} */
  const options = {
    name: text.settings,
    source: 'settings',
    read: async (_, signal) => {
      const items = Object.entries((await get('/accounts/admin/config', { signal })).data)
      return { items, total: items.length }
    },
    keyOf: ([name]) => name,
    textOf: ([name, value]) => `${name} ${shown(value)}`,
    canSearch: true,
    columns: [
      {
        key: 'name',
        title: text.setting,
        sortBy: ([name]) => name,
        cell: ([name]) => html`<code>MOORAGE_${name.toUpperCase()}</code>`,
      },
      { key: 'value', title: text.value, cell: ([, value]) => shown(value) },
    ],
    empty: text.noSettings,
  }
  return html`
    <${Page} title=${text.title} lead=${text.lead}>
      ${loaded(
        summary,
        ({ counts: found, version, runtime, startedAt, database, deploymentType, runMode }) => html`
          <div class="stack">
            <div class="figures">
              ${counts.map(
                (name) =>
                  html`<div key=${name} class="figure">
                    <p class="value">${number(found[name])}</p>
                    <p class="label">${text.counts[name]}</p>
                  </div>`,
              )}
            </div>
            <div class="card">
              <dl class="facts">
                <dt>${text.version}</dt>
                <dd>${version} <span class="faint">${runtime}</span></dd>
                <dt>${text.started}</dt>
                <dd>
                  <${Time} value=${startedAt} /> <span class="faint">(<${Time} value=${startedAt} as="ago" />)</span>
                </dd>
                <dt>${text.database}</dt>
                <dd>${database.kind} ${database.version}</dd>
                <dt>${text.deployment}</dt>
                <dd>${deploymentType}, ${runMode}</dd>
              </dl>
            </div>
          </div>
        `,
      )}
      <section>
        <h2 class="section-title">${text.settings}</h2>
        <${List} options=${options} />
      </section>
    <//>
  `
}
