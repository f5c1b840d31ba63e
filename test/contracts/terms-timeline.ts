import fc from 'fast-check'
import type { ContractDraft } from '../../core/contracts/contract-rules.ts'
import { changeTimeline, timelineOf } from '../../core/contracts/terms.ts'
import type { DatedTerms, TermsVersion } from '../../core/contracts/types.ts'
import { unwrap } from '../support/outcome.ts'

/** Terms that are dated, recomputed second by second by rules that know no versions. */

export const date = (seconds: number): Date => new Date(seconds * 1000)
/** The window of the tests begins here, so that each second of it can be asked for. */
export const base = 1_790_000_000
export const length = 400

export const terms: DatedTerms = {
  product: 'database',
  features: ['database-basic'],
  quota: {
    enabled: false,
    metric: 'cpu_core_month',
    limit: 0,
    alertThresholds: [],
    disableLicenseOnLimitReached: false,
  },
  startsAt: date(base - 1000),
  endsAt: date(base + 10_000),
  allowsOffline: false,
  allowsTrials: true,
  maxTrials: 2,
  disablesAnalytics: false,
  enablesClientBilling: false,
  restrictions: '',
}
export const first: TermsVersion = {
  ...terms,
  number: 1,
  from: new Date(0),
  to: undefined,
  recordedAt: date(base),
  recordedBy: '',
  supersededAt: undefined,
}

/** A change of some fields from a second of the window on. The instant is often the same as that of another change. */
export interface Change {
  readonly from: number
  readonly draft: Pick<ContractDraft, 'product' | 'startsAt' | 'endsAt' | 'maxTrials'>
}
export const second = fc.integer({ min: base - 20, max: base + length + 20 })
export const someChange: fc.Arbitrary<Change> = fc.record({
  from: fc.oneof(second, fc.constantFrom(base, base + 100, base + 200)),
  draft: fc.record(
    {
      product: fc.constantFrom('database', 'vault', 'db'),
      startsAt: fc.integer({ min: base - 50, max: base + 150 }).map(date),
      endsAt: fc.integer({ min: base + 160, max: base + 500 }).map(date),
      maxTrials: fc.nat({ max: 3 }),
    },
    { requiredKeys: [] },
  ),
})

/** Applies changes one after the other, as requests do. */
export const timelineAfter = (
  changes: readonly Change[],
): { readonly all: readonly TermsVersion[]; readonly timeline: readonly TermsVersion[] } => {
  let all: readonly TermsVersion[] = [first]
  for (const { from, draft } of changes) {
    const changed = unwrap(
      changeTimeline(all, draft, date(from), { recordedAt: date(base), recordedBy: 'ann@example.com' }),
    )
    if (changed === undefined) continue
    const kept = new Set(changed.versions.map(({ number }) => number))
    all = [
      ...all.filter(({ number }) => !kept.has(number)).map((each) => ({ ...each, supersededAt: date(base) })),
      ...changed.versions,
    ]
  }
  return { all, timeline: timelineOf(all) }
}

/** The values of one field: each with the second from which on it is in force. */
type Steps = readonly { readonly from: number; readonly value: string }[]
export const valueAt = (steps: Steps, second: number): string =>
  steps.findLast(({ from }) => from <= second)?.value ?? ''

/** A change is in force until the next instant at which the field has another value by an earlier plan. */
const changed = (steps: Steps, from: number, value: string): Steps => {
  const next = steps.findIndex((step, index) => step.from > from && step.value !== steps[index - 1]?.value)
  const until = next === -1 ? Number.POSITIVE_INFINITY : (steps[next]?.from ?? 0)
  return [...steps.filter((step) => step.from < from), { from, value }, ...steps.filter((step) => step.from >= until)]
}

export const fields = ['product', 'startsAt', 'endsAt', 'maxTrials'] as const
export const stepsAfter = (changes: readonly Change[]): Record<(typeof fields)[number], Steps> => {
  const textOf = (value: unknown): string => JSON.stringify(value)
  const steps = Object.fromEntries(
    fields.map((field) => [field, [{ from: Number.NEGATIVE_INFINITY, value: textOf(terms[field]) }]]),
  ) as unknown as Record<(typeof fields)[number], Steps>
  for (const { from, draft } of changes)
    for (const field of fields)
      if (draft[field] !== undefined) steps[field] = changed(steps[field], from, textOf(draft[field]))
  return steps
}
