import { useState } from 'preact/hooks'
import { api, href, navigate, pathOf } from '../../kit/address.js'
import { asApiError, call, get } from '../../kit/client.js'
import { DestroyDialog, Dialog } from '../../kit/dialog.js'
import { Field, FormActions, FormProblem, useForm } from '../../kit/form.js'
import { Time } from '../../kit/format.js'
import { html } from '../../kit/html.js'
import { Icon } from '../../kit/icons.js'
import { notify } from '../../kit/notices.js'
import { Page } from '../../kit/page.js'
import { loaded, reloadAll, useResource } from '../../kit/resource.js'
import { InvoiceLines, money } from '../../objects/money.js'
import { fill, texts } from '../../texts.js'
import { InvoiceState, titleOf } from './invoices.js'

/**
 * @import { Schemas, ScreenProps } from 'api-shapes'
 */

const text = texts.invoice

/** @typedef {{ owner: string, invoice: Schemas['Invoice'] }} Shown */

/** @param {{ title: string, party: Schemas['InvoiceParty'] | undefined }} props */
const Party = ({ title, party }) => html`
  <section class="card">
    <h2>${title}</h2>
    ${
      party === undefined
        ? html`<p class="faint">${text.atIssue}</p>`
        : html`<address>
            <span class="strong">${party.legalName}</span><br />
            ${party.street && html`${party.street}<br />`} ${party.postcode} ${party.city}, ${party.country}<br />
            ${party.taxID && html`<span class="faint">${fill(text.taxID, { id: party.taxID })}</span>`}
          </address>`
    }
  </section>
`

/** @param {Shown & { onClose: () => void }} props */
const Pay = ({ owner, invoice: { id }, onClose }) => {
  const form = useForm({
    initial: { reference: '' },
    submit: async (body, idempotencyKey) => {
      const path = { invoiceID: id }
      await call('post', '/rating/invoices/{invoiceID}/pay', { path, query: { org: owner }, body, idempotencyKey })
      notify(text.paid)
      reloadAll()
      onClose()
    },
  })
  return html`
    <${Dialog} title=${text.pay} onClose=${onClose}>
      <form class="form" novalidate onSubmit=${form.onSubmit}>
        <${FormProblem} form=${form} />
        <${Field} form=${form} name="reference" label=${text.reference} hint=${text.referenceHint} isRequired />
        <${FormActions} form=${form} action=${text.pay} onCancel=${onClose} />
      </form>
    <//>
  `
}

/** What the vendor may do with an invoice, by its state. @param {Shown} props */
const VendorActions = ({ owner, invoice }) => {
  const [opened, setOpened] = useState(/** @type {'pay' | 'void' | 'delete' | undefined} */ (undefined))
  const close = () => setOpened(undefined)
  const { id, state } = invoice
  const input = { path: { invoiceID: id }, query: { org: owner } }
  const act = async (/** @type {() => Promise<unknown>} */ request, /** @type {string} */ said) => {
    try {
      await request()
      notify(said)
      reloadAll()
    } catch (error) {
      notify(asApiError(error).message, 'problem')
    }
  }
  const isOpen = state === 'issued' || state === 'sent'
  return html`
    ${
      state === 'draft' &&
      html`<button type="button" class="danger" onClick=${() => setOpened('delete')}>${texts.common.remove}</button>
        <button
          type="button"
          class="primary"
          onClick=${() => act(() => call('post', '/rating/invoices/{invoiceID}/issue', input), text.issued)}
        >
          ${text.issue}
        </button>`
    }
    ${
      isOpen &&
      html`<button type="button" class="danger" onClick=${() => setOpened('void')}>${text.void}</button>
        <button
          type="button"
          onClick=${() => act(() => call('post', '/rating/invoices/{invoiceID}/send', input), text.sent)}
        >
          ${text.send}
        </button>
        <button type="button" class="primary" onClick=${() => setOpened('pay')}>${text.pay}</button>`
    }
    ${opened === 'pay' && html`<${Pay} owner=${owner} invoice=${invoice} onClose=${close} />`}
    ${
      opened === 'void' &&
      html`<${DestroyDialog}
        title=${fill(text.voidTitle, { number: titleOf(invoice) })}
        name=${titleOf(invoice)}
        action=${text.void}
        losses=${[text.lossClaim]}
        act=${async (/** @type {string} */ idempotencyKey) => {
          await call('post', '/rating/invoices/{invoiceID}/void', {
            ...input,
            body: { reason: text.void },
            idempotencyKey,
          })
          reloadAll()
        }}
        onClose=${close}
      />`
    }
    ${
      opened === 'delete' &&
      html`<${DestroyDialog}
        title=${fill(text.deleteTitle, { number: titleOf(invoice) })}
        name=${titleOf(invoice)}
        action=${texts.common.remove}
        losses=${[text.lossDraft]}
        act=${async (/** @type {string} */ idempotencyKey) => {
          await call('delete', '/rating/invoices/{invoiceID}', { ...input, idempotencyKey })
          navigate(href(pathOf('o', owner, 'invoices')))
        }}
        onClose=${close}
      />`
    }
  `
}

/** @param {Shown} props */
const Files = ({ owner, invoice: { id, state } }) =>
  state === 'draft'
    ? null
    : /** @type {const} */ ([
        ['pdf', text.pdf],
        ['xml', text.xml],
        ['csv', text.csv],
      ]).map(
        ([format, label]) =>
          html`<a
            key=${format}
            class="button"
            download
            href="${api}/rating/invoices/${id}/file?org=${encodeURIComponent(owner)}&format=${format}"
            ><${Icon} name="download" />${label}</a
          >`,
      )

/** @param {ScreenProps} props */
export const screen = ({ params: { owner = '', id = '' }, session }) => {
  const resource = useResource(
    `invoice ${owner}/${id}`,
    async (signal) =>
      (await get('/rating/invoices/{invoiceID}', { path: { invoiceID: Number(id) }, query: { org: owner }, signal }))
        .data,
  )
  const { value } = resource
  return html`
    <${Page}
      title=${value === undefined ? text.title : titleOf(value)}
      up=${[[pathOf('o', owner, 'invoices'), texts.invoices.title]]}
      actions=${
        value &&
        html`<${Files} owner=${owner} invoice=${value} />
          ${session.isSiteAdmin && html`<${VendorActions} owner=${owner} invoice=${value} />`}`
      }
    >
      ${loaded(
        resource,
        (invoice) => html`
          <div class="stack">
            <div class="figures">
              <div class="figure">
                <p class="value">${money(invoice.gross, invoice)}</p>
                <p class="label">${texts.invoices.gross}</p>
              </div>
              <div class="figure">
                <p class="value">${money(invoice.net, invoice)}</p>
                <p class="label">${texts.invoices.beforeTax}</p>
              </div>
              <div class="figure">
                <p class="value">${money(invoice.tax, invoice)}</p>
                <p class="label">${fill(text.tax, { percent: invoice.taxPercent ?? '0' })}</p>
              </div>
              <div class="figure">
                <p class="value"><${InvoiceState} state=${invoice.state} /></p>
                <p class="label">${invoice.month}</p>
              </div>
            </div>
            <div class="cards">
              <${Party} title=${text.seller} party=${invoice.seller} />
              <${Party} title=${text.buyer} party=${invoice.buyer} />
              <section class="card">
                <h2>${text.dates}</h2>
                <dl class="facts">
                  <dt>${text.issuedAt}</dt>
                  <dd><${Time} value=${invoice.issuedAt} as="day" none="–" /></dd>
                  <dt>${texts.invoices.due}</dt>
                  <dd><${Time} value=${invoice.dueAt} as="day" none="–" /></dd>
                  <dt>${text.paidAt}</dt>
                  <dd><${Time} value=${invoice.paidAt} as="day" none="–" /> ${invoice.paymentReference}</dd>
                </dl>
              </section>
            </div>
            <${InvoiceLines} lines=${invoice.lines} of=${invoice} />
            <p class="faint">${invoice.rounding}</p>
          </div>
        `,
        8,
      )}
    <//>
  `
}
