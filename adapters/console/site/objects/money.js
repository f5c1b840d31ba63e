import { html } from '../kit/html.js'
import { texts } from '../texts.js'

/**
 * Returns an amount in the notation of the reader.
 *
 * @param {number} minorUnits
 * @param {{ currency: string, currencyDigits: number }} of
 */
export const money = (minorUnits, { currency, currencyDigits }) => {
  const digits = String(Math.abs(minorUnits)).padStart(currencyDigits + 1, '0')
  const whole = digits.slice(0, digits.length - currencyDigits)
  // As a text: a division would round large amounts.
  const text = `${minorUnits < 0 ? '-' : ''}${whole}.${digits.slice(whole.length) || '0'}`
  return new Intl.NumberFormat(navigator.language, {
    style: 'currency',
    currency,
    minimumFractionDigits: currencyDigits,
    maximumFractionDigits: currencyDigits,
  }).format(/** @type {Intl.StringNumericLiteral} */ (text))
}

/** @typedef {import('api-shapes').Schemas['InvoiceLine']} InvoiceLine */

/** The lines of an invoice. @param {{ lines: readonly InvoiceLine[], of: { currency: string, currencyDigits: number } }} props */
export const InvoiceLines = ({ lines, of }) => html`
  <div class="table" role="region" aria-label=${texts.invoice.lines} tabindex="0">
    <table>
      <thead>
        <tr>
          <th scope="col">${texts.invoice.description}</th>
          <th scope="col" class="number wide">${texts.invoice.quantity}</th>
          <th scope="col" class="number wide">${texts.invoice.price}</th>
          <th scope="col" class="number wide">${texts.invoice.discount}</th>
          <th scope="col" class="number">${texts.invoice.amount}</th>
        </tr>
      </thead>
      <tbody>
        ${lines.map(
          (line, at) =>
            html`<tr key=${at}>
              <th scope="row">
                ${line.description}
                <span class="sub">${[line.contractName, line.reason].filter(Boolean).join(', ')}</span>
              </th>
              <td class="number wide">${line.pricedQuantity} ${line.pricedUnit}</td>
              <td class="number wide">${line.unitPrice}</td>
              <td class="number wide">${line.discountPercent === '0' ? '' : `${line.discountPercent} %`}</td>
              <td class="number">${money(line.net, of)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>
`
