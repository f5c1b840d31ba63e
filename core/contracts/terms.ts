import { toWireJson } from '../kernel/json.ts'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../kernel/failure.ts'
import type { ContractDraft } from './contract-rules.ts'
import { datedTermsOf, parseDatedTerms, termsFault } from './contract-rules.ts'
import { ContractRequestInvalid } from './ports.ts'
import type { DatedTerms, TermsVersion } from './types.ts'
import { newTerms } from './types.ts'

/** From when on a change of terms counts, as a request names it. */
export interface Effective {
  /** Undefined: from now on. */
  readonly from: Date | undefined
  /** The caller knows that the time was billed: only then may `from` be in the past. */
  readonly reopens: boolean
}

type Invalid = Failure<'ContractRequestInvalid'>

/** As `end`. */
const latestChange = Date.UTC(9999, 0, 1)

/** Returns the instant from which on a change counts. A second that has begun is now. */
export const effectiveInstant = ({ from, reopens }: Effective, now: Date): Either<Invalid, Date> => {
  if (from === undefined)
    return reopens
      ? left(ContractRequestInvalid('reopen needs effectiveFrom: name the instant from which on the change counts.'))
      : right(now)
  if (Number.isNaN(from.getTime()) || from.getTime() < 0 || from.getTime() > latestChange)
    return left(ContractRequestInvalid('effectiveFrom must be an instant from 1970 to the year 9999.'))
  const isThisSecond = Math.floor(from.getTime() / 1000) === Math.floor(now.getTime() / 1000)
  if (isThisSecond) return right(now)
  return from.getTime() > now.getTime() || reopens
    ? right(from)
    : left(
        ContractRequestInvalid(
          'effectiveFrom is in the past, and a change counts from now on. To change what was billed, send ' +
            'reopen: true, then open the months again.',
        ),
      )
}

/** A contract has no more versions of its terms. */
const maxVersions = 1000

const dated = Object.keys(newTerms) as readonly (keyof DatedTerms)[]

const isEqual = (a: DatedTerms, b: DatedTerms, key: keyof DatedTerms): boolean =>
  toWireJson(a[key]) === toWireJson(b[key])

/** Returns which terms differ. */
export const changedTerms = (a: DatedTerms, b: DatedTerms): readonly (keyof DatedTerms)[] =>
  dated.filter((key) => !isEqual(a, b, key))

/** Reports whether a change names a dated term. */
export const namesTerms = (draft: ContractDraft): boolean => dated.some((key) => draft[key] !== undefined)

export interface ChangedTimeline {
  /** The versions that are in force at some time: ascending, without gaps, the last one without an end. */
  readonly versions: readonly TermsVersion[]
  /** The first version that is new. */
  readonly first: TermsVersion
}

/** Returns the versions that are in force at some time, in the order of time. */
export const timelineOf = (versions: readonly TermsVersion[]): readonly TermsVersion[] =>
  versions
    .filter(({ supersededAt }) => supersededAt === undefined)
    .toSorted((a, b) => a.from.getTime() - b.from.getTime())

/**
 * Changes terms from an instant on. `versions` are all of the contract. In versions that begin later, a term that they
 * do not change follows, and one that they change stays as it was planned. Undefined: nothing changes.
 */
export const changeTimeline = (
  versions: readonly TermsVersion[],
  draft: ContractDraft,
  from: Date,
  recorded: Pick<TermsVersion, 'recordedAt' | 'recordedBy'>,
): Either<Invalid, ChangedTimeline | undefined> => {
  const timeline = timelineOf(versions)
  const index = timeline.findLastIndex((each) => each.from.getTime() <= from.getTime())
  const [before, present] = [timeline.slice(0, index), timeline[index]]
  if (present === undefined) throw new Error('A contract has no terms at its beginning.')
  const changed = parseDatedTerms(draft, present)
  if (isLeft(changed)) return changed
  if (changedTerms(present, changed.right).length === 0) return right(undefined)
  let number = Math.max(...versions.map((each) => each.number))
  const make = (terms: DatedTerms, begin: Date, to: Date | undefined): TermsVersion => ({
    ...terms,
    ...recorded,
    number: (number += 1),
    from: begin,
    to,
    supersededAt: undefined,
  })
  const first = make(changed.right, from, present.to)
  const made = [first]
  for (const [offset, planned] of timeline.slice(index + 1).entries()) {
    const [old, last] = [timeline[index + offset] ?? present, made.at(-1) ?? first]
    const terms = merged(old, last, planned)
    const wrong = termsFault(terms)
    if (wrong !== undefined)
      return left(
        ContractRequestInvalid(
          `The terms that are planned from ${planned.from.toISOString()} on would be wrong: ${wrong}`,
        ),
      )
    made.push(changedTerms(planned, terms).length === 0 ? planned : make(terms, planned.from, planned.to))
  }
  if (number > maxVersions)
    return left(ContractRequestInvalid(`A contract has at most ${maxVersions} versions of its terms.`))
  const kept = present.from.getTime() < from.getTime() ? [{ ...present, to: from }] : []
  return right({ versions: [...before, ...kept, ...made], first })
}

/** Returns planned terms after the version before them has changed from `old` to `now`. */
const merged = (old: DatedTerms, now: DatedTerms, planned: DatedTerms): DatedTerms => {
  const followed = dated.filter((key) => isEqual(old, planned, key))
  return { ...datedTermsOf(planned), ...Object.fromEntries(followed.map((key) => [key, now[key]])) }
}

/** Returns the terms that are in force at an instant. */
export const termsAt = (timeline: readonly TermsVersion[], at: Date): TermsVersion | undefined =>
  timeline.findLast(({ from }) => from.getTime() <= at.getTime())
