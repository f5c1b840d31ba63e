/** A party as EN 16931 has it. Empty texts are left out. */
export interface UblParty {
  readonly legalName: string
  readonly street: string
  readonly city: string
  readonly postcode: string
  readonly country: string
  readonly taxId: string
  readonly email: string
}

/** An invoice or a credit note with amounts as decimal texts in the digits of the currency. */
export interface UblInvoice {
  readonly kind: 'invoice' | 'credit-note'
  readonly number: string
  readonly issuedOn: string
  readonly dueOn: string
  readonly currency: string
  /** Both days are included. */
  readonly period: { readonly first: string; readonly last: string }
  readonly corrects: string | undefined
  readonly seller: UblParty
  readonly buyer: UblParty
  readonly notes: readonly string[]
  readonly tax: {
    readonly category: string
    readonly percent: string
    readonly reason: string
    readonly amount: string
  }
  readonly net: string
  readonly gross: string
  readonly lines: readonly {
    readonly name: string
    readonly description: string
    /** Negative for an amount that is taken off; the price is not. */
    readonly quantity: string
    readonly price: string
    readonly net: string
  }[]
}

/** An element of XML. */
type Content = string | readonly (Element | undefined)[]
interface Element {
  readonly name: string
  readonly content: Content
  readonly attributes?: Readonly<Record<string, string>>
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escaped = (text: string): string => text.replace(/[&<>"]/g, (sign) => entities[sign] ?? sign)

const render = ({ name, content, attributes = {} }: Element, indent: string): string => {
  const head = Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(value)}"`)
  const open = `${indent}<${name}${head.join('')}>`
  if (typeof content === 'string') return `${open}${escaped(content)}</${name}>\n`
  const inner = content.map((each) => (each === undefined ? '' : render(each, `${indent}  `)))
  return `${open}\n${inner.join('')}${indent}</${name}>\n`
}

const cbc = (name: string, content: string, attributes?: Element['attributes']): Element => ({
  name: `cbc:${name}`,
  content,
  ...(attributes === undefined ? {} : { attributes }),
})
const given = (name: string, content: string): Element | undefined => (content === '' ? undefined : cbc(name, content))
const cac = (name: string, ...content: readonly (Element | undefined)[]): Element => ({ name: `cac:${name}`, content })

const vat = cac('TaxScheme', cbc('ID', 'VAT'))

/** Outside of the scope of the tax, the number of a party is none of the tax. */
const party = (role: string, of: UblParty, isTaxed: boolean): Element =>
  cac(
    role,
    cac(
      'Party',
      cac(
        'PostalAddress',
        given('StreetName', of.street),
        given('CityName', of.city),
        given('PostalZone', of.postcode),
        cac('Country', cbc('IdentificationCode', of.country)),
      ),
      of.taxId === '' || !isTaxed ? undefined : cac('PartyTaxScheme', cbc('CompanyID', of.taxId), vat),
      cac(
        'PartyLegalEntity',
        cbc('RegistrationName', of.legalName),
        isTaxed ? undefined : given('CompanyID', of.taxId),
      ),
      of.email === '' ? undefined : cac('Contact', cbc('ElectronicMail', of.email)),
    ),
  )

/** Within the union, the country of the delivery decides. */
const deliveryTo = ({ country }: UblParty): Element =>
  cac('Delivery', cac('DeliveryLocation', cac('Address', cac('Country', cbc('IdentificationCode', country)))))

/** Outside of the scope of the tax there is no rate. */
const category = (name: string, { category: id, percent, reason }: UblInvoice['tax'], withReason: boolean): Element =>
  cac(
    name,
    cbc('ID', id),
    id === 'O' ? undefined : cbc('Percent', percent),
    withReason ? given('TaxExemptionReason', reason) : undefined,
    vat,
  )

const root = {
  invoice: ['Invoice', 'InvoiceTypeCode', '380', 'InvoiceLine', 'InvoicedQuantity'],
  'credit-note': ['CreditNote', 'CreditNoteTypeCode', '381', 'CreditNoteLine', 'CreditedQuantity'],
} as const

const oasis = 'urn:oasis:names:specification:ubl:schema:xsd'

/** Returns an invoice in UBL 2.1 (ISO/IEC 19845) with the content of EN 16931. */
export const ublOf = (invoice: UblInvoice): string => {
  const { kind, currency, tax, period, corrects } = invoice
  const [name, typeName, typeCode, lineName, quantityName] = root[kind]
  const amount = (of: string, value: string): Element => cbc(of, value, { currencyID: currency })
  const lines = invoice.lines.map((line, index) =>
    cac(
      lineName,
      cbc('ID', String(index + 1)),
      cbc(quantityName, line.quantity, { unitCode: 'C62' }),
      amount('LineExtensionAmount', line.net),
      cac(
        'Item',
        given('Description', line.description),
        cbc('Name', line.name),
        category('ClassifiedTaxCategory', tax, false),
      ),
      cac('Price', amount('PriceAmount', line.price)),
    ),
  )
  const content: readonly (Element | undefined)[] = [
    cbc('CustomizationID', 'urn:cen.eu:en16931:2017'),
    cbc('ID', invoice.number),
    cbc('IssueDate', invoice.issuedOn),
    kind === 'invoice' ? cbc('DueDate', invoice.dueOn) : undefined,
    cbc(typeName, typeCode),
    ...invoice.notes.map((note) => given('Note', note)),
    cbc('DocumentCurrencyCode', currency),
    cac('InvoicePeriod', cbc('StartDate', period.first), cbc('EndDate', period.last)),
    corrects === undefined ? undefined : cac('BillingReference', cac('InvoiceDocumentReference', cbc('ID', corrects))),
    party('AccountingSupplierParty', invoice.seller, tax.category !== 'O'),
    party('AccountingCustomerParty', invoice.buyer, tax.category !== 'O'),
    tax.category === 'K' ? deliveryTo(invoice.buyer) : undefined,
    cac(
      'TaxTotal',
      amount('TaxAmount', tax.amount),
      cac(
        'TaxSubtotal',
        amount('TaxableAmount', invoice.net),
        amount('TaxAmount', tax.amount),
        category('TaxCategory', tax, true),
      ),
    ),
    cac(
      'LegalMonetaryTotal',
      amount('LineExtensionAmount', invoice.net),
      amount('TaxExclusiveAmount', invoice.net),
      amount('TaxInclusiveAmount', invoice.gross),
      amount('PayableAmount', invoice.gross),
    ),
    ...lines,
  ]
  const attributes = {
    xmlns: `${oasis}:${name}-2`,
    'xmlns:cac': `${oasis}:CommonAggregateComponents-2`,
    'xmlns:cbc': `${oasis}:CommonBasicComponents-2`,
  }
  return `<?xml version="1.0" encoding="UTF-8"?>\n${render({ name, content, attributes }, '')}`
}
