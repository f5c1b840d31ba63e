import type { Failure } from '../../kernel/failure.ts'
import { decimal, decimalText, digitsOf, sumOf } from '../money.ts'
import type { RatedLine } from '../types.ts'
import type { InvoiceKind, InvoiceWithLines } from './ports.ts'
import { InvoiceLineInvalid } from './ports.ts'

/** Names a line over the revisions of a month: the contract and the price. */
const keyOf = ({ contractId, priceId }: RatedLine): string => `${contractId} ${priceId}`

/** What a draft says. */
export interface DraftContent {
  readonly kind: InvoiceKind
  readonly lines: readonly RatedLine[]
}

const signed = ({ kind }: Pick<InvoiceWithLines, 'kind'>, { net }: RatedLine): bigint =>
  kind === 'credit-note' ? -net : net

/** Returns the amount as one charge of its currency. */
export const chargeOf = (net: bigint, currency: string) => ({
  quantity: '1',
  unit: 'charge',
  pricedQuantity: '1',
  pricedUnit: 'charge',
  unitPrice: decimalText(decimal(net).times(decimal(`1e-${digitsOf(currency) ?? 2}`))),
  discountPercent: '0',
  net,
})

/**
 * Returns the draft that brings what was issued for a month to what is rated now: all lines if nothing was issued, else
 * the differences, as a credit note if they are negative. Undefined if there is no difference. Lines and credit notes that
 * were made by hand do not count: what was credited stays credited.
 */
export const correctionOf = (
  rated: readonly RatedLine[],
  issued: readonly InvoiceWithLines[],
  { currency, reason }: { readonly currency: string; readonly reason: string },
): DraftContent | undefined => {
  if (issued.length === 0) return rated.length === 0 ? undefined : { kind: 'invoice', lines: rated }
  const billed = new Map<string, { line: RatedLine; net: bigint }>()
  for (const invoice of issued.filter(({ corrects }) => corrects === undefined))
    for (const line of invoice.lines)
      if (line.priceId !== '') {
        const net = (billed.get(keyOf(line))?.net ?? 0n) + signed(invoice, line)
        billed.set(keyOf(line), { line, net })
      }
  const now = new Map(rated.map((line) => [keyOf(line), line]))
  const keys = [...now.keys(), ...[...billed.keys()].filter((key) => !now.has(key))]
  const changes = keys.flatMap((key): readonly RatedLine[] => {
    const net = (now.get(key)?.net ?? 0n) - (billed.get(key)?.net ?? 0n)
    const line = now.get(key) ?? billed.get(key)?.line
    return net === 0n || line === undefined ? [] : [{ ...line, ...chargeOf(net, currency), reason }]
  })
  if (changes.length === 0) return undefined
  if (sumOf(changes.map(({ net }) => net)) >= 0n) return { kind: 'invoice', lines: changes }
  return { kind: 'credit-note', lines: changes.map((line) => ({ ...line, ...chargeOf(-line.net, currency) })) }
}

/** Clients read amounts as numbers of JSON, which are exact up to here. */
const largest = BigInt(Number.MAX_SAFE_INTEGER)

export const isTooLarge = (net: bigint): boolean => net > largest || net < -largest

export const tooLarge = (): Failure<'InvoiceLineInvalid'> =>
  InvoiceLineInvalid('The sum of the lines is too large: at most 9,007,199,254,740,991 minor units.')
