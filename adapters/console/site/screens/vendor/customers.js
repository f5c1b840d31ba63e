import { useState } from 'preact/hooks'
import { changeQuery, href, pathOf } from '../../kit/address.js'
import { call, get } from '../../kit/client.js'
import { ConfirmDialog } from '../../kit/dialog.js'
import { Time, number } from '../../kit/format.js'
import { html } from '../../kit/html.js'
import { Icon } from '../../kit/icons.js'
import { notify } from '../../kit/notices.js'
import { Page } from '../../kit/page.js'
import { loaded, reloadAll, useResource } from '../../kit/resource.js'
import { fill, texts } from '../../texts.js'

/**
 * @import { Schemas, ScreenProps } from 'api-shapes'
 */

const text = texts.customers

/** How many months can be chosen, the present one included. */
const offeredMonths = 18

/** The present month and those before it, such as `2026-11`, in UTC. */
const lastMonths = () => {
  const now = new Date()
  return Array.from({ length: offeredMonths }, (_, back) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).toISOString().slice(0, 7),
  )
}

/** @param {{ month: string, customer: Schemas['CustomerMonth'] }} props */
const CloseMonth = ({ month, customer: { account, status } }) => {
  const [isAsking, setAsking] = useState(false)
  const isFinal = status === 'final'
  const [year = '', word = ''] = month.split('-')
  const act = async (/** @type {string} */ idempotencyKey) => {
    const input = { path: { year, month: word }, query: { org: account }, idempotencyKey }
    if (isFinal) await call('post', '/dashboard/summary/{year}/{month}/reopen', input)
    else await call('post', '/dashboard/summary/{year}/{month}/close', input)
    notify(fill(isFinal ? text.reopened : text.computed, { account, month }))
    reloadAll()
  }
  return html`<button type="button" class="small" onClick=${() => setAsking(true)}>
      ${isFinal ? text.computeAgain : text.compute}<span class="unseen"> ${account}</span>
    </button>
    ${
      isAsking &&
      html`<${ConfirmDialog}
        title=${fill(text.computeTitle, { account, month })}
        action=${isFinal ? text.computeAgain : text.compute}
        act=${act}
        onClose=${() => setAsking(false)}
        >${isFinal ? text.reopenHint : text.computeHint}<//
      >`
    }`
}

/** @param {{ month: string, customers: readonly Schemas['CustomerMonth'][] }} props */
const Customers = ({ month, customers }) => html`
  <div class="table" role="region" aria-label=${text.title} tabindex="0">
    <table>
      <thead>
        <tr>
          <th scope="col">${text.customer}</th>
          <th scope="col">${text.status}</th>
          <th scope="col">${texts.contracts.product}</th>
          <th scope="col" class="number">${texts.usage.cpu}</th>
          <th scope="col" class="number">${texts.usage.memory}</th>
          <th scope="col" class="number wide">${texts.usage.objects}</th>
          <th scope="col"><span class="unseen">${texts.common.actions}</span></th>
        </tr>
      </thead>
      <tbody>
        ${customers.flatMap((customer) => {
          const { account, status, revision, generatedAt, products } = customer
          const rows = products.length === 0 ? [undefined] : products
          return rows.map(
            (product, at) =>
              html`<tr key=${`${account}/${product?.product ?? ''}`}>
                <th scope="row">
                  ${at === 0 && html`<a href=${href(pathOf('o', account, 'usage'), { month })}>${account}</a>`}
                </th>
                <td>
                  ${
                    at === 0 &&
                    html`<span class="badge ${status === 'final' ? 'good' : 'busy'}"
                        >${status === 'final' ? texts.usage.final : texts.usage.provisional}</span
                      >
                      <span class="sub"
                        >${fill(texts.usage.revision, { revision })}, <${Time} value=${generatedAt} as="ago"
                      /></span>`
                  }
                </td>
                <td>${product?.product ?? texts.common.none}</td>
                <td class="number">${product === undefined ? '' : number(product.cpu ?? 0)}</td>
                <td class="number">${product === undefined ? '' : number(product.memory ?? 0)}</td>
                <td class="number wide">${product === undefined ? '' : number(product.objectCount ?? 0)}</td>
                <td>
                  <div class="row-actions">
                    ${at === 0 && html`<${CloseMonth} month=${month} customer=${customer} />`}
                  </div>
                </td>
              </tr>`,
          )
        })}
      </tbody>
    </table>
  </div>
`

/** @param {ScreenProps} props */
export const screen = ({ query }) => {
  const months = lastMonths()
  const asked = query.get('month') ?? ''
  const month = months.includes(asked) ? asked : (months[1] ?? '')
  const [year = '', word = ''] = month.split('-')
  const customers = useResource(
    `customers ${month}`,
    async (signal) =>
      (await get('/dashboard/summary/{year}/{month}/customers', { path: { year, month: word }, signal })).data,
  )
  return html`
    <${Page} title=${text.title} lead=${text.lead}>
      <div class="toolbar">
        <div class="filter">
          <label for="month">${texts.usage.month}</label>
          <select id="month" onChange=${(/** @type {any} */ event) => changeQuery({ month: event.target.value })}>
            ${months.map((each) => html`<option key=${each} value=${each} selected=${each === month}>${each}</option>`)}
          </select>
        </div>
      </div>
      ${loaded(customers, ({ customers: found }) =>
        found.length === 0
          ? html`<div class="empty">
              <${Icon} name="usage" />
              <p>${fill(text.empty, { month })}</p>
            </div>`
          : html`<${Customers} month=${month} customers=${found} />`,
      )}
    <//>
  `
}
