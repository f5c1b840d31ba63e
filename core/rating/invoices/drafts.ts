import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Call } from '../../kernel/principal.ts'
import { defineAudit } from '../../kernel/unit-of-work.ts'
import type { MonthStore } from '../../usage/months/ports.ts'
import type { BilledUse } from '../../usage/overview-ports.ts'
import type { MonthKey, UsageMonth } from '../../usage/types.ts'
import { sumOf } from '../money.ts'
import { monthOf, monthText } from '../months.ts'
import { CustomerMissing } from '../ports.ts'
import type { RatedLine } from '../types.ts'
import type { DraftContent } from './corrections.ts'
import { correctionOf, isTooLarge, tooLarge } from './corrections.ts'
import type { Invoice, InvoiceId, InvoiceStores, InvoiceUnitOfWork, InvoiceWithLines } from './ports.ts'
import { MonthNotFinal } from './ports.ts'
import type { RatedGroup } from './rate-account.ts'
import { rateAccount } from './rate-account.ts'

export interface DraftDeps {
  readonly clock: Clock
  readonly use: Pick<BilledUse, 'closed'>
  readonly unitOfWork: InvoiceUnitOfWork
}

export const auditOfInvoice = defineAudit(
  'invoice',
  [
    'invoice.drafted',
    'invoice.changed',
    'invoice.deleted',
    'invoice.issued',
    'invoice.sent',
    'invoice.paid',
    'invoice.voided',
  ],
  ({ id, ownerId, number }: Pick<Invoice, 'id' | 'ownerId' | 'number'>) => ({
    objectId: id,
    objectName: number ?? `draft ${id}`,
    tenantId: ownerId,
  }),
)

export interface DraftInput {
  readonly ownerId: AccountId
  readonly month: MonthKey
}

export type DraftFailure = Failure<'MonthNotFinal'> | Failure<'CustomerMissing'> | Failure<'InvoiceLineInvalid'>

const isManual = ({ priceId }: RatedLine): boolean => priceId === ''

const inGroup =
  ({ issuerId, currency }: Pick<RatedGroup, 'issuerId' | 'currency'>) =>
  (invoice: Invoice): boolean =>
    invoice.issuerId === issuerId && invoice.currency === currency

/** Makes the draft of a group, or makes it again. Other drafts of the group keep the lines that were added by hand only. */
const writeDraft = async (
  { invoices, audit }: Pick<InvoiceStores, 'invoices' | 'audit'>,
  of: { readonly month: UsageMonth; readonly group: Pick<RatedGroup, 'issuerId' | 'currency'>; readonly at: Date },
  content: DraftContent | undefined,
  existing: readonly InvoiceWithLines[],
): Promise<InvoiceId | undefined> => {
  const { month, group, at } = of
  const { ownerId, revision } = month
  const drafts = existing.filter(({ state, corrects }) => state === 'draft' && corrects === undefined)
  const kept = drafts.find(({ kind }) => kind === content?.kind)
  for (const draft of drafts.filter((each) => each !== kept)) {
    const lines = draft.lines.filter(isManual)
    if (lines.length > 0)
      await invoices.setLines(draft.id, { revision, lines, net: sumOf(lines.map(({ net }) => net)) })
    else {
      await invoices.remove(draft.id)
      await audit.record(auditOfInvoice(draft, 'invoice.deleted'))
    }
  }
  if (content === undefined) return undefined
  const lines = [...content.lines, ...(kept?.lines ?? []).filter(isManual)]
  const net = sumOf(lines.map((line) => line.net))
  if (kept !== undefined) {
    await invoices.setLines(kept.id, { revision, lines, net })
    return kept.id
  }
  const { issuerId, currency } = group
  const draft = { ownerId, issuerId, currency, month: month.month, kind: content.kind, revision, lines, net }
  const id = await invoices.insert({ ...draft, correctsId: undefined }, at)
  await audit.record(
    auditOfInvoice({ id, ownerId, number: undefined }, 'invoice.drafted', { month: monthText(month.month), revision }),
  )
  return id
}

/**
 * Makes drafts of what an account has used in a final month, one for each issuer and currency. Drafts that exist are
 * made again, with the lines that were added by hand. After an issue, a draft has the differences: the prices are the
 * same, so they come from a new revision of the usage.
 */
export const makeDraftMonth =
  ({ clock, use, unitOfWork }: DraftDeps) =>
  async (
    call: Call<readonly InvoiceWithLines[]>,
    { ownerId, month }: DraftInput,
  ): Outcome<DraftFailure, readonly InvoiceWithLines[]> => {
    const closed = await use.closed(ownerId, month)
    if (closed?.month.status !== 'final') return left(MonthNotFinal(`The month ${monthText(month)} is not final.`))
    return unitOfWork.run<DraftFailure, readonly InvoiceWithLines[]>(call, async (stores) => {
      const { customers, invoices } = stores
      if ((await customers.lock(ownerId)) === undefined)
        return left(CustomerMissing('The account has no billing details. Set them before it is invoiced.'))
      const at = clock.now()
      const { groups } = await rateAccount(stores, month, closed.uses)
      if (groups.some(({ net }) => isTooLarge(net))) return left(tooLarge())
      const existing = await invoices.listOfMonth(ownerId, month)
      // A group without lines any more has invoices of an earlier revision.
      const former = existing.filter((invoice) => !groups.some((group) => inGroup(group)(invoice)))
      const gone = [...new Map(former.map((each) => [`${each.issuerId} ${each.currency}`, each])).values()]
      const ids: InvoiceId[] = []
      for (const group of [...groups, ...gone.map((each) => ({ ...each, lines: [] }))]) {
        const own = existing.filter(inGroup(group))
        const issued = own.filter(({ state }) => state !== 'draft')
        const reason = `Revision ${closed.month.revision} of the usage of ${monthText(month)}`
        const content = correctionOf(group.lines, issued, { currency: group.currency, reason })
        const id = await writeDraft(stores, { month: closed.month, group, at }, content, own)
        if (id !== undefined) ids.push(id)
      }
      await invoices.setDraftedRevision(ownerId, month, closed.month.revision)
      const drafts: InvoiceWithLines[] = []
      for (const id of ids) {
        const draft = await invoices.find(ownerId, id)
        if (draft !== undefined) drafts.push(draft)
      }
      return right(drafts)
    })
  }

const keyOf = ({ ownerId, month }: DraftInput): string => `${ownerId} ${month}`

/** How many months back the job looks for reports that became final, and for months that were reopened. */
const monthsBack = 12

/** Makes drafts of all months that have become final since the last run, also of those that were reopened. */
export const makeDraftFinalMonths =
  (
    deps: DraftDeps & {
      readonly months: Pick<MonthStore, 'listSince'>
      readonly invoices: Pick<InvoiceStores['invoices'], 'draftedSince'>
      readonly customers: Pick<InvoiceStores['customers'], 'listOwners'>
      readonly onFailure: (month: UsageMonth, error: unknown) => void
    },
  ) =>
  async (call: Call): Promise<void> => {
    const draft = makeDraftMonth(deps)
    const now = deps.clock.now()
    const first = monthOf(new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - monthsBack)))
    const customers = new Set(await deps.customers.listOwners())
    const drafted = new Map((await deps.invoices.draftedSince(first)).map((each) => [keyOf(each), each.revision]))
    for (const month of await deps.months.listSince(first)) {
      call.signal.throwIfAborted()
      const { ownerId, revision, status } = month
      if (status !== 'final' || !customers.has(ownerId) || (drafted.get(keyOf(month)) ?? 0) >= revision) continue
      try {
        const made = await draft(call, { ownerId, month: month.month })
        if (isLeft(made)) deps.onFailure(month, new Error(made.left.message))
      } catch (error) {
        deps.onFailure(month, error)
      }
    }
  }
