import { api, changeQuery } from '../../kit/address.js'
import { get } from '../../kit/client.js'
import { Time, number } from '../../kit/format.js'
import { html } from '../../kit/html.js'
import { Icon } from '../../kit/icons.js'
import { List } from '../../kit/list.js'
import { Page } from '../../kit/page.js'
import { Plot } from '../../kit/plot.js'
import { loaded, useResource } from '../../kit/resource.js'
import { fill, texts } from '../../texts.js'

/**
 * @import { Schemas, ScreenProps } from 'api-shapes'
 */

const text = texts.usage

const views = '/dashboard/summary/{year}/{month}/usage-report/products/dbProduct/views'

/** The year and month of such as `2026-10`, as the paths of the reports have them. @param {string} month */
const wordsOf = (month) => ({ year: month.slice(0, 4), month: month.slice(5) })

/** @param {string} month @param {number} count */
const daysOf = (month, count) =>
  Array.from({ length: count }, (_, at) => Date.parse(`${month}-01T00:00:00Z`) / 1000 + at * 86_400)

/** @param {{ owner: string, month: string }} props */
const Downloads = ({ owner, month }) => {
  const { year, month: number } = wordsOf(month)
  const root = `${api}/dashboard/summary/${year}/${number}`
  const org = `org=${encodeURIComponent(owner)}`
  return html`
    <a class="button" download href="${root}/download?${org}"><${Icon} name="download" />${text.pdf}</a>
    <a
      class="button"
      download
      href="${root}/usage-report/products/dbProduct/views/objects-usage-view?${org}&view_type=total&format=csv"
      ><${Icon} name="download" />${text.csv}</a
    >
  `
}

/** What is billed to each contract this month, with its limit. @param {{ owner: string }} props */
const Running = ({ owner }) => {
  const running = useResource(
    `running ${owner}`,
    async (signal) => (await get('/dashboard/summary/running-month', { query: { org: owner }, signal })).data,
  )
  return loaded(
    running,
    ({ month, contracts }) =>
      html`<section class="card">
        <div class="card-head">
          <h2>${fill(text.running, { month })}</h2>
          <span class="badge busy">${text.provisional}</span>
        </div>
        ${contracts.length === 0 && html`<p class="faint">${text.noContracts}</p>`}
        <ul class="rows">
          ${contracts.map(({ contractID, name, billed, quota, computedAt }) => {
            const percent = quota?.usedPercent
            return html`<li key=${contractID}>
              <span class="strong">${name || fill(texts.contracts.number, { id: contractID })}</span>
              <span>${fill(text.billed, { cpu: number(billed.cpu), memory: number(billed.memory) })}</span>
              ${
                quota &&
                percent !== undefined &&
                html`<span class="end"
                  ><span class="badge ${percent >= 100 ? 'bad' : percent >= 80 ? 'warn' : 'good'}"
                    >${fill(text.ofLimit, { percent: number(percent), limit: number(quota.limit) })}</span
                  ></span
                >`
              }
              <span class="faint"><${Time} value=${computedAt} as="ago" /></span>
            </li>`
          })}
        </ul>
      </section>`,
    3,
  )
}

/** @param {{ name: string, items: readonly { key: string, title: string, sub?: string, objectCount: number, cpu: number, memory: number }[] }} props */
const Amounts = ({ name, items }) => html`
  <section>
    <h2 class="section-title">${name}</h2>
    <div class="table" role="region" aria-label=${name} tabindex="0">
      <table>
        <thead>
          <tr>
            <th scope="col">${name}</th>
            <th scope="col" class="number">${text.objects}</th>
            <th scope="col" class="number">${text.cpu}</th>
            <th scope="col" class="number">${text.memory}</th>
          </tr>
        </thead>
        <tbody>
          ${items.map(
            ({ key, title, sub, objectCount, cpu, memory }) =>
              html`<tr key=${key}>
                <th scope="row">${title}${sub && html`<span class="sub">${sub}</span>`}</th>
                <td class="number">${number(objectCount)}</td>
                <td class="number">${number(cpu)}</td>
                <td class="number">${number(memory)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>
`

/** One month of an account, for the vendor. @param {{ owner: string, month: string }} props */
const Month = ({ owner, month }) => {
  const report = useResource(`usage ${owner} ${month}`, async (signal) => {
    const input = { path: wordsOf(month), query: { org: owner }, signal }
    const [{ data: kinds }, { data: clusters }, { data: namespaces }] = await Promise.all([
      get(`${views}/gks-usage-view`, input),
      get(`${views}/clusters-usage-view`, input),
      get(`${views}/namespaces-usage-view`, input),
    ])
    const days = daysOf(month, kinds.items[0]?.matrix.length ?? 0)
    const series = (/** @type {'cpu' | 'memory'} */ name) =>
      kinds.items.map(({ kind, matrix }) => ({ label: kind, values: matrix.map((day) => day[name]) }))
    return { kinds, clusters, namespaces, days, cpu: series('cpu'), memory: series('memory') }
  })
  return loaded(
    report,
    ({ kinds, clusters, namespaces, days, cpu, memory }) => html`
      <div class="stack">
        <div class="figures">
          <div class="figure">
            <p class="value">${number(kinds.totals.cpu ?? 0)}</p>
            <p class="label">${text.cpu}</p>
          </div>
          <div class="figure">
            <p class="value">${number(kinds.totals.memory ?? 0)}</p>
            <p class="label">${text.memory}</p>
          </div>
          <div class="figure">
            <p class="value">${number(kinds.totals.objectCount)}</p>
            <p class="label">${text.objects}</p>
          </div>
          <div class="figure">
            <p class="value">${kinds.status === 'final' ? text.final : text.provisional}</p>
            <p class="label">${fill(text.revision, { revision: kinds.revision })}</p>
          </div>
        </div>
        ${
          days.length > 0 &&
          html`<div class="cards">
            <div class="card"><${Plot} label=${text.cpuByDay} unit=${text.cpu} days=${days} series=${cpu} /></div>
            <div class="card">
              <${Plot} label=${text.memoryByDay} unit=${text.memory} days=${days} series=${memory} />
            </div>
          </div>`
        }
        <${Amounts}
          name=${text.kinds}
          items=${kinds.items.map((each) => ({ ...each, key: `${each.group}/${each.kind}`, title: each.kind, sub: each.group }))}
        />
        <${Amounts}
          name=${texts.contract.clusters}
          items=${clusters.items.map((each) => ({ ...each, key: each.clusterUID, title: each.displayName || each.clusterUID }))}
        />
        <${Amounts}
          name=${text.namespaces}
          items=${namespaces.items.map((each) => ({
            ...each,
            key: `${each.clusterUID}/${each.namespaceUID}`,
            title: each.namespace,
            sub:
              clusters.items.find(({ clusterUID }) => clusterUID === each.clusterUID)?.displayName ?? each.clusterUID,
          }))}
        />
      </div>
    `,
    10,
  )
}

/** Usage of an account as the vendor sees it. @param {{ owner: string, month: string | null }} props */
const VendorUsage = ({ owner, month }) => {
  const months = useResource(`months ${owner}`, async (signal) =>
    (await get('/dashboard/summary/generated-months', { query: { org: owner }, signal })).data.months.toReversed(),
  )
  return html`
    <${Running} owner=${owner} />
    ${loaded(months, (generated) => {
      const shown = generated.find((each) => each.month === month) ?? generated[0]
      if (shown === undefined) return html`<div class="empty"><p>${text.noMonths}</p></div>`
      return html`<div class="stack">
        <div class="toolbar">
          <div class="filter">
            <label for="month">${text.month}</label>
            <select id="month" onChange=${(/** @type {any} */ event) => changeQuery({ month: event.target.value })}>
              ${generated.map((each) => html`<option key=${each.month} value=${each.month} selected=${each === shown}>${each.month}${each.status === 'final' ? '' : ` (${text.provisional})`}</option>`)}
            </select>
          </div>
          <div class="toolbar-actions"><${Downloads} owner=${owner} month=${shown.month} /></div>
        </div>
        <${Month} owner=${owner} month=${shown.month} />
      </div>`
    })}
  `
}

/** The databases that run now, as the account itself sees them. @param {{ owner: string }} props */
const OwnUsage = ({ owner }) => {
  /** @typedef {Schemas['NamespaceUsageReports']['items'][number]} Item */
  /** @type {import('../../kit/list.js').ListOptions<Item>} */
  const options = {
    name: text.namespaces,
    source: `namespaces ${owner}`,
    read: async (_, signal) => {
      const { data } = await get('/dbaas/billing/reports/namespaces', { query: { org: owner }, signal })
      return { items: data.items, total: data.items.length }
    },
    keyOf: ({ clusterInfo, namespaceInfo }) => `${clusterInfo.uid}/${namespaceInfo.uid}`,
    textOf: ({ clusterInfo, namespaceInfo, databases }) =>
      [clusterInfo.name, namespaceInfo.name, ...databases.map(({ databaseInfo }) => databaseInfo.name)].join(' '),
    canSearch: true,
    columns: [
      {
        key: 'namespace',
        title: text.namespace,
        sortBy: ({ namespaceInfo }) => namespaceInfo.name,
        cell: ({ namespaceInfo }) => html`<span class="strong">${namespaceInfo.name}</span>`,
      },
      {
        key: 'cluster',
        title: texts.contract.cluster,
        sortBy: ({ clusterInfo }) => clusterInfo.name,
        cell: ({ clusterInfo }) => clusterInfo.name,
      },
      {
        key: 'count',
        title: text.objects,
        kind: 'number',
        sortBy: ({ databases }) => databases.length,
        cell: ({ databases }) => number(databases.length),
      },
      {
        key: 'databases',
        title: text.databases,
        kind: 'wide',
        cell: ({ databases }) =>
          html`<span class="badges"
            >${databases.map(({ databaseInfo }) => html`<span key=${databaseInfo.uid} class="badge plain">${databaseInfo.name} (${databaseInfo.kind})</span>`)}</span
          >`,
      },
    ],
    empty: text.noDatabases,
  }
  return html`<${List} options=${options} />`
}

/** @param {ScreenProps} props */
export const screen = ({ params: { owner = '' }, query, session }) => html`
  <${Page} title=${text.title} lead=${session.isSiteAdmin ? text.lead : text.ownLead}>
    ${session.isSiteAdmin ? html`<${VendorUsage} owner=${owner} month=${query.get('month')} />` : html`<${OwnUsage} owner=${owner} />`}
  <//>
`
