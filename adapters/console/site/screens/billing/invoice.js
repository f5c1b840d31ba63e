import { useState } from 'preact/hooks'
import { api, href, navigate, pathOf } from '../../kit/address.js'
import { call, get } from '../../kit/client.js'
import { ConfirmDialog, DestroyDialog, Dialog } from '../../kit/dialog.js'
import { Field, FormActions, FormProblem, useForm } from '../../kit/form.js'
import { Time } from '../../kit/format.js'
import { html } from '../../kit/html.js'
import { Icon } from '../../kit/icons.js'
import { notify } from '../../kit/notices.js'
import { Page } from '../../kit/page.js'
import { loaded, reloadAll, useResource } from '../../kit/resource.js'
import { InvoiceLines } from '../../objects/money.js'
import { fill, texts } from '../../texts.js'
import { amountOf, InvoiceState, titleOf } from './invoices.js'

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

/** Asks why an invoice is void; its number stays used. @param {Shown & { onClose: () => void }} props */
const Void = ({ owner, invoice, onClose }) => {
  const form = useForm({
    initial: { reason: '' },
    submit: async (body, idempotencyKey) => {
      const path = { invoiceID: invoice.id }
      await call('post', '/rating/invoices/{invoiceID}/void', { path, query: { org: owner }, body, idempotencyKey })
      notify(text.voided)
      reloadAll()
      onClose()
    },
  })
  return html`
    <${Dialog} title=${fill(text.voidTitle, { number: titleOf(invoice) })} onClose=${onClose}>
      <form class="form" novalidate onSubmit=${form.onSubmit}>
        <${FormProblem} form=${form} />
        <p>${text.lossClaim}</p>
        <${Field} form=${form} name="reason" label=${text.reason} hint=${text.reasonHint} isRequired />
        <${FormActions} form=${form} action=${text.void} onCancel=${onClose} />
      </form>
    <//>
  `
}

/** What the vendor may do with an invoice, by its state. @param {Shown} props */
const VendorActions = ({ owner, invoice }) => {
  const [opened, setOpened] = useState(
    /** @type {'pay' | 'void' | 'delete' | 'issue' | 'send' | undefined} */ (undefined),
  )
  const close = () => setOpened(undefined)
  const { id, state } = invoice
  const input = { path: { invoiceID: id }, query: { org: owner } }
  const isOpen = state === 'issued' || state === 'sent'
  return html`
    ${
      state === 'draft' &&
      html`<button type="button" class="danger" onClick=${() => setOpened('delete')}>${texts.common.remove}</button>
        <button type="button" class="primary" onClick=${() => setOpened('issue')}>${text.issue}</button>`
    }
    ${
      isOpen &&
      html`<button type="button" class="danger" onClick=${() => setOpened('void')}>${text.void}</button>
        <button type="button" onClick=${() => setOpened('send')}>${text.send}</button>
        <button type="button" class="primary" onClick=${() => setOpened('pay')}>${text.pay}</button>`
    }
    ${
      opened === 'issue' &&
      html`<${ConfirmDialog}
        title=${fill(text.issueTitle, { number: titleOf(invoice) })}
        action=${text.issue}
        act=${async (/** @type {string} */ idempotencyKey) => {
          await call('post', '/rating/invoices/{invoiceID}/issue', { ...input, idempotencyKey })
          notify(text.issued)
          reloadAll()
        }}
        onClose=${close}
        >${text.issueHint}<//
      >`
    }
    ${
      opened === 'send' &&
      html`<${ConfirmDialog}
        title=${fill(text.sendTitle, { number: titleOf(invoice) })}
        action=${text.send}
        act=${async (/** @type {string} */ idempotencyKey) => {
          await call('post', '/rating/invoices/{invoiceID}/send', { ...input, idempotencyKey })
          notify(text.sent)
          reloadAll()
        }}
        onClose=${close}
        >${text.sendHint}<//
      >`
    }
    ${opened === 'pay' && html`<${Pay} owner=${owner} invoice=${invoice} onClose=${close} />`}
    ${opened === 'void' && html`<${Void} owner=${owner} invoice=${invoice} onClose=${close} />`}
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
      lead=${value?.kind === 'credit-note' && fill(text.creditNote, { number: value.correctsNumber ?? '' })}
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
                <p class="value">${invoice.state === 'draft' ? '–' : amountOf(invoice, 'gross')}</p>
                <p class="label">${texts.invoices.gross}</p>
              </div>
              <div class="figure">
                <p class="value">${amountOf(invoice, 'net')}</p>
                <p class="label">${texts.invoices.beforeTax}</p>
              </div>
              <div class="figure">
                <p class="value">${invoice.state === 'draft' ? '–' : amountOf(invoice, 'tax')}</p>
                <p class="label">
                  ${invoice.state === 'draft' ? text.atIssue : fill(text.tax, { percent: invoice.taxPercent ?? '0' })}
                </p>
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
                  ${
                    invoice.state === 'void' &&
                    html`<dt>${texts.invoices.states.void}</dt>
                      <dd><${Time} value=${invoice.voidedAt} as="day" /> ${invoice.voidReason}</dd>`
                  }
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
