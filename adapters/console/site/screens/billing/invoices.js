import { useState } from 'preact/hooks'
import { href, pathOf } from '../../kit/address.js'
import { call, get } from '../../kit/client.js'
import { Dialog } from '../../kit/dialog.js'
import { Field, FormActions, FormProblem, useForm } from '../../kit/form.js'
import { Time } from '../../kit/format.js'
import { html } from '../../kit/html.js'
import { Icon } from '../../kit/icons.js'
import { List, pageSize } from '../../kit/list.js'
import { notify } from '../../kit/notices.js'
import { Page } from '../../kit/page.js'
import { loaded, reloadAll, useResource } from '../../kit/resource.js'
import { InvoiceLines, money } from '../../objects/money.js'
import { fill, texts } from '../../texts.js'

/**
 * @import { Schemas, ScreenProps } from 'api-shapes'
 */

const text = texts.invoices

const kinds = { draft: 'idle', issued: 'busy', sent: 'busy', paid: 'good', void: 'bad' }

/** @param {{ state: Schemas['InvoiceSummary']['state'] }} props */
export const InvoiceState = ({ state }) => html`<span class="badge ${kinds[state]}">${text.states[state]}</span>`

/** The number of an invoice, or what a draft is called. @param {Schemas['InvoiceSummary']} invoice */
export const titleOf = ({ number, kind, id }) => number ?? fill(text.drafts[kind], { id })

/** An amount of an invoice; what a credit note gives back is negative. @param {Schemas['InvoiceSummary']} invoice @param {'net' | 'tax' | 'gross'} name */
export const amountOf = (invoice, name) => money((invoice.kind === 'credit-note' ? -1 : 1) * invoice[name], invoice)

/** What the running month costs so far. @param {{ owner: string }} props */
const Preview = ({ owner }) => {
  const preview = useResource(
    `preview ${owner}`,
    async (signal) => (await get('/rating/preview', { query: { org: owner }, signal })).data,
  )
  return loaded(
    preview,
    ({ month, totals, contractsWithoutPrices, computedAt }) => html`
      <section class="card">
        <div class="card-head">
          <h2>${fill(text.running, { month })}</h2>
          <span class="badge busy">${texts.usage.provisional}</span>
          <span class="faint"><${Time} value=${computedAt} as="ago" /></span>
        </div>
        ${totals.length === 0 && html`<p class="faint">${text.noPrices}</p>`}
        ${totals.map(
          (total) => html`
            <details key=${`${total.issuer}/${total.currency}`}>
              <summary>
                <span class="strong">${money(total.net, total)}</span> <span class="faint">${text.beforeTax}</span>
              </summary>
              <${InvoiceLines} lines=${total.lines} of=${total} />
            </details>
          `,
        )}
        ${
          contractsWithoutPrices.length > 0 &&
          html`<p class="faint">${fill(text.without, { names: contractsWithoutPrices.join(', ') })}</p>`
        }
      </section>
    `,
    2,
  )
}

/** Makes drafts of a month, for the vendor. @param {{ owner: string, onClose: () => void }} props */
const MakeDrafts = ({ owner, onClose }) => {
  const form = useForm({
    initial: { month: '' },
    submit: async ({ month }, idempotencyKey) => {
      const { data } = await call('post', '/rating/invoices', {
        query: { org: owner },
        body: { month },
        idempotencyKey,
      })
      notify(fill(text.made, { total: data.invoices.length }))
      reloadAll()
      onClose()
    },
  })
  return html`
    <${Dialog} title=${text.make} onClose=${onClose}>
      <form class="form" novalidate onSubmit=${form.onSubmit}>
        <${FormProblem} form=${form} />
        <${Field} form=${form} name="month" label=${texts.usage.month} hint=${text.monthHint} isRequired isCode />
        <${FormActions} form=${form} action=${text.make} onCancel=${onClose} />
      </form>
    <//>
  `
}

/** @param {ScreenProps} props */
export const screen = ({ params: { owner = '' }, session }) => {
  const [isMaking, setMaking] = useState(false)
  /** @type {import('../../kit/list.js').ListOptions<Schemas['InvoiceSummary']>} */
  const options = {
    name: text.title,
    source: `invoices ${owner}`,
    isPaged: true,
    read: async ({ page }, signal) => {
      const { data, total } = await get('/rating/invoices', { query: { org: owner, page, limit: pageSize }, signal })
      return { items: data, total: total ?? data.length }
    },
    keyOf: ({ id }) => `${id}`,
    columns: [
      {
        key: 'number',
        title: text.invoice,
        cell: (invoice) =>
          html`<a class="strong" href=${href(pathOf('o', owner, 'invoices', `${invoice.id}`))}>${titleOf(invoice)}</a>
            ${invoice.kind === 'credit-note' && html`<span class="sub">${fill(text.corrects, { number: invoice.correctsNumber ?? '' })}</span>`}`,
      },
      { key: 'month', title: texts.usage.month, cell: ({ month }) => month },
      { key: 'state', title: text.state, cell: ({ state }) => html`<${InvoiceState} state=${state} />` },
      {
        key: 'gross',
        title: text.gross,
        kind: 'number',
        cell: (invoice) =>
          invoice.state === 'draft'
            ? html`${amountOf(invoice, 'net')}<span class="sub">${text.beforeTax}</span>`
            : amountOf(invoice, 'gross'),
      },
      {
        key: 'due',
        title: text.due,
        kind: 'wide',
        cell: ({ dueAt }) => html`<${Time} value=${dueAt} as="day" none="" />`,
      },
    ],
    empty: text.empty,
  }
  return html`
    <${Page}
      title=${text.title}
      lead=${text.lead}
      actions=${
        session.isSiteAdmin &&
        html`<button type="button" class="primary" onClick=${() => setMaking(true)}>
          <${Icon} name="plus" />${text.make}
        </button>`
      }
    >
      <${Preview} owner=${owner} />
      <${List} options=${options} />
    <//>
    ${isMaking && html`<${MakeDrafts} owner=${owner} onClose=${() => setMaking(false)} />`}
  `
}
